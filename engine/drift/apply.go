package drift

import "github.com/org/cdkd-action/engine/value"

// Apply returns what bears the values of from in the places that a comparison
// names, and for the rest is to: what was accepted, or what is to be put back.
// A list goes as a whole. Only the places are changed for which takes, which
// may be nil, is true.
func Apply(to, from *value.Object, c Comparison, takes func(Path) bool) *value.Object {
	out := to.Clone()
	if out == nil {
		out = &value.Object{}
	}
	for _, d := range c.Differences {
		if takes == nil || takes(d.Path) {
			apply(out, from, d.Path)
		}
	}
	return out
}

func apply(to, from *value.Object, path Path) {
	name, _ := path[0].(string)
	v, there := from.Get(name)
	if len(path) > 1 {
		inner, ok1 := to.Value(name).(*value.Object)
		source, ok2 := v.(*value.Object)
		if ok1 && ok2 {
			apply(inner, source, path[1:])
			return
		}
	}
	if there {
		to.Set(name, value.Clone(v))
	} else {
		to.Delete(name)
	}
}

// Revert returns the update that makes a resource again what its baseline says:
// from what was read, to what is declared, and to the baseline in the places of
// which the declaration says nothing.
func Revert(declared, baseline, read *value.Object, c Comparison) (from, to *value.Object) {
	return Apply(declared, read, c, nil), Apply(declared, baseline, c, func(at Path) bool { return !Declares(declared, at) })
}

// Declares tells whether properties say anything at a path, or above it where
// they have a list or a text.
func Declares(properties *value.Object, path Path) bool {
	name, _ := path[0].(string)
	v, there := properties.Get(name)
	if !there || len(path) == 1 {
		return there
	}
	if inner, ok := v.(*value.Object); ok {
		return Declares(inner, path[1:])
	}
	return true
}
