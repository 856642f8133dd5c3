package awssdk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// costs are the operations that a resource takes when all goes well.
type costs struct {
	create, remove []string
	update         map[string][]string // by the property that changes
}

// most is the property whose change takes the most requests.
func (c costs) most() (property string) {
	for _, p := range slices.Sorted(maps.Keys(c.update)) {
		if len(c.update[p]) > len(c.update[property]) {
			property = p
		}
	}
	return property
}

// requestCount says how many requests there are, and how many of them change
// something, when that is fewer: AWS has no call that does two of those.
func requestCount(operations []string) string {
	changing := 0
	for _, o := range operations {
		if !reads.MatchString(o) {
			changing++
		}
	}
	if changing == len(operations) {
		return fmt.Sprint(changing)
	}
	return fmt.Sprintf("%d (%d)", len(operations), changing)
}

func operations(sent []sentRequest) []string {
	var out []string
	for _, s := range sent {
		out = append(out, lastSegment(s.operation, " "))
	}
	return out
}

// measure counts the requests of a resource that has only what it must have:
// its create, its delete, and the change of each property that can be changed.
func measure(t *testing.T, rec *recorder, r provider.Resource, typ *schema.Type) costs {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	special := peculiarities[r.Type]
	least := func(n int, and string) *value.Object {
		s := samples(r, typ, special)[0]
		s.n = n
		for name := range typ.Properties {
			if !slices.Contains(typ.Required, name) && !slices.Contains(special.needs, name) && name != and {
				s.leave[name] = true
			}
		}
		delete(s.leave, and)
		return s.sample().props
	}
	rec.take()
	rec.gone = r.Gone[0]
	d := provider.Drive(r, nil)
	request := func(props, previous *value.Object) *provider.Request {
		return &provider.Request{
			Session: rec.session(), Stack: stack, LogicalID: "Res", Type: r.Type, Name: "made", NameProperty: r.Name,
			Token: "token", Properties: props, Previous: previous,
		}
	}
	c := costs{update: map[string][]string{}}
	req := request(least(0, ""), nil)
	made, err := d.Create(ctx, req)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	c.create = operations(rec.take())
	for name := range typ.Properties {
		if !typ.Settable(name) || typ.Replaces(name) != schema.InPlace && typ.Replaces(name) != schema.ReplaceBelow {
			continue
		}
		if _, left := leftOut[r.Type+" "+name]; left {
			continue
		}
		before, after := least(0, ""), least(1000, name)
		for k := range after.All() {
			if k != name {
				after.Set(k, before.Value(k))
			}
		}
		up := request(after, before)
		up.PhysicalID, up.Attributes = made.PhysicalID, made.Attributes
		_, err := d.Update(ctx, up)
		_, refused := errors.AsType[*provider.UnsupportedUpdateError](err)
		switch stays := slices.Contains(special.stays, name); {
		case stays != refused:
			t.Errorf("update of %s: %v, want a refusal: %t", name, err, stays)
		case err != nil && !refused:
			t.Errorf("update of %s: %v", name, err)
		}
		c.update[name] = operations(rec.take())
	}
	req.PhysicalID, req.Attributes = made.PhysicalID, made.Attributes
	if _, err := d.Delete(ctx, req); err != nil {
		t.Errorf("delete: %v", err)
	}
	c.remove = operations(rec.take())
	return c
}
