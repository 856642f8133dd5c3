package cloudcontrol

import (
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// A difference is a JSON patch in the making.
type difference struct {
	typ     *schema.Type
	ops     []any
	removed []string // write-only properties that a patch cannot take away
}

// compare returns the patch from old to want, both of the schema's types.
//
// Write-only properties are not in the model that the patch applies to: those
// in use are added anew each time. Create-only and read-only members are never
// named, not even unchanged below a container that is replaced.
func compare(typ *schema.Type, old, want *value.Object) *difference {
	d := &difference{typ: typ}
	writeOnly := d.tops(func(t *schema.Type) []string { return t.WriteOnly })
	known := value.NewObject()
	for name, v := range old.All() {
		switch {
		case !slices.Contains(writeOnly, name):
			known.Set(name, v)
		case !want.Has(name):
			d.removed = append(d.removed, name)
		}
	}
	d.object(nil, known, want)
	return d
}

func (d *difference) tops(paths func(*schema.Type) []string) []string {
	if d.typ == nil {
		return nil
	}
	var tops []string
	for _, p := range paths(d.typ) {
		top, _, _ := strings.Cut(p, "/")
		tops = append(tops, top)
	}
	return tops
}

func (d *difference) object(path []string, old, want *value.Object) {
	for name, v := range want.All() {
		p := append(slices.Clip(path), name)
		was, ok := old.Get(name)
		switch {
		case ok && value.Equal(was, v), d.fixed(p):
		case ok && d.fixedBelow(p) && objects(was, v):
			d.object(p, was.(*value.Object), v.(*value.Object))
		case ok:
			d.ops = append(d.ops, operation("replace", pointer(p), v))
		default:
			d.ops = append(d.ops, operation("add", pointer(p), v))
		}
	}
	for name := range old.All() {
		if p := append(slices.Clip(path), name); !want.Has(name) && !d.fixed(p) {
			op := value.NewObject("op", "remove", "path", pointer(p))
			d.ops = append(d.ops, op)
		}
	}
}

func objects(a, b any) bool {
	_, ok := a.(*value.Object)
	_, too := b.(*value.Object)
	return ok && too
}

// fixed tells whether a patch may not name a path.
func (d *difference) fixed(path []string) bool {
	return d.typ != nil && (slices.Contains(d.typ.CreateOnly, strings.Join(path, "/")) || slices.Contains(d.typ.ReadOnly, strings.Join(path, "/")))
}

func (d *difference) fixedBelow(path []string) bool {
	if d.typ == nil {
		return false
	}
	prefix := strings.Join(path, "/") + "/"
	below := func(p string) bool { return strings.HasPrefix(p, prefix) }
	return slices.ContainsFunc(d.typ.CreateOnly, below) || slices.ContainsFunc(d.typ.ReadOnly, below)
}

// properties are the top-level names that the patch touches.
func (d *difference) properties() []string {
	var names []string
	for _, op := range d.ops {
		name, _, _ := strings.Cut(strings.TrimPrefix(op.(*value.Object).String("path"), "/"), "/")
		if name = unescape.Replace(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (d *difference) partial() string {
	if len(d.removed) == 0 {
		return ""
	}
	return strings.Join(d.removed, ", ") + " cannot be taken away through Cloud Control, which cannot read it"
}

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

func pointer(path []string) string {
	var b strings.Builder
	for _, p := range path {
		b.WriteString("/" + escape.Replace(p))
	}
	return b.String()
}

func operation(op, path string, v any) *value.Object {
	return value.NewObject("op", op, "path", path, "value", v)
}

// limit returns of the live model what the record or the template speaks of:
// what AWS added by itself is not ours to take away.
func limit(live, recorded, want *value.Object) *value.Object {
	o := value.NewObject()
	for name, v := range live.All() {
		if recorded.Has(name) || want.Has(name) {
			o.Set(name, v)
		}
	}
	return o
}
