package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"slices"

	"github.com/org/cdkd-action/engine/value"
)

// Digest names what a plan would do: SHA-256, in hexadecimal, over the stack
// and its region, the rows that change with their physical ids, properties,
// policies and layers, the outputs, and the same of the children.
//
// It is what a reviewer approves. A deploy that was approved computes its plan
// anew under the lock and goes on only if the digest is the same, so everything
// that could change what happens to a resource is in it, and nothing that could
// not: neither the order of rows and members, nor time, nor rows without
// changes. Values go in only as hashes of their own and never come out; whoever
// publishes a digest where values could be guessed salts it.
func (p *Plan) Digest() string {
	d := digest{sha256.New()}
	d.plan(p)
	return hex.EncodeToString(d.Sum(nil))
}

type digest struct{ hash.Hash }

// text writes fields so that no two lists of fields read alike.
func (d digest) text(fields ...string) {
	for _, f := range fields {
		fmt.Fprintf(d, "%d:%s", len(f), f)
	}
	fmt.Fprint(d, "\n")
}

func (d digest) plan(p *Plan) {
	d.text("plan", "1", p.Stack, p.Region)
	for _, c := range sortedBy(p.Changes, func(c *Change) string { return c.LogicalID }) {
		if c.Action != NoChange {
			d.change(c)
		}
	}
	outputs := sortedBy(p.Outputs, func(o OutputChange) string { return o.Name })
	for _, o := range outputs {
		d.text("output", o.Name, string(o.Action), fmt.Sprint(o.Export, o.Unresolved, o.OldRedacted),
			sum(o.Old, o.HasOld), sum(o.New, o.HasNew && !o.Unresolved))
	}
	for _, child := range sortedBy(p.Children, func(p *Plan) string { return p.Stack }) {
		if child.Changed() {
			d.plan(child)
		}
	}
	d.text("end")
}

func (d digest) change(c *Change) {
	d.text("change", c.LogicalID, c.Type, string(c.Action), c.PhysicalID, c.DeletionPolicy, c.UpdateReplacePolicy,
		c.Route.ProvisionedBy, fmt.Sprint(c.Route.Returning, c.ChildChanged))
	if c.Untold {
		d.text("untold")
	}
	if c.Recreate != "" {
		d.text("recreate", string(c.Recreate))
	}
	if c.Action == Create {
		d.text("create", sum(c.Desired, true))
	}
	for _, p := range sortedBy(c.Properties, func(p PropertyChange) string { return p.Path }) {
		d.text("property", p.Path, fmt.Sprint(p.Replaces, p.MayReplace, p.Propagated, p.Carried, p.Unresolved, p.NoEcho, p.Uncertain),
			sum(p.Old, p.HasOld), sum(p.New, p.HasNew))
	}
	for _, a := range sortedBy(c.Attributes, func(a AttributeChange) string { return a.Name }) {
		d.text("attribute", a.Name, a.Old, a.New)
	}
}

func sortedBy[E any](list []E, key func(E) string) []E {
	return slices.SortedStableFunc(slices.Values(list), func(a, b E) int { return cmp.Compare(key(a), key(b)) })
}

// sum hashes a value, "" for one that is absent.
func sum(v any, has bool) string {
	if !has {
		return ""
	}
	h := sha256.Sum256(canonical(nil, v))
	return hex.EncodeToString(h[:])
}

// canonical writes a value with members sorted by name.
func canonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case *value.Object:
		members := maps.Collect(v.All())
		b = append(b, '{')
		for _, k := range slices.Sorted(maps.Keys(members)) {
			b = canonical(append(canonical(b, k), ':'), members[k])
			b = append(b, ',')
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for _, m := range v {
			b = append(canonical(b, m), ',')
		}
		return append(b, ']')
	case json.Number:
		return append(b, v...)
	}
	return append(b, value.JSON(v)...)
}
