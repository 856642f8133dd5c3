package provider

import (
	"slices"

	"github.com/org/cdkd-action/engine/value"
)

// A Diff is what an update changes, by top-level property.
type Diff struct {
	Old, New *value.Object
	changed  []string
}

// Compare returns the difference between two sets of properties.
func Compare(old, new *value.Object) Diff {
	d := Diff{Old: old, New: new}
	for name, v := range new.All() {
		if was, ok := old.Get(name); !ok || !value.Equal(was, v) {
			d.changed = append(d.changed, name)
		}
	}
	for name := range old.All() {
		if !new.Has(name) {
			d.changed = append(d.changed, name)
		}
	}
	return d
}

// Properties returns the names that differ: added, changed, removed.
func (d Diff) Properties() []string { return slices.Clone(d.changed) }

// Changed tells whether one of the properties differs.
func (d Diff) Changed(properties ...string) bool {
	return slices.ContainsFunc(properties, func(p string) bool { return slices.Contains(d.changed, p) })
}

// Removed tells whether the property was there and is not any more.
func (d Diff) Removed(property string) bool { return d.Old.Has(property) && !d.New.Has(property) }

// without returns the difference less some properties.
func (d Diff) without(properties ...string) Diff {
	d.changed = slices.DeleteFunc(slices.Clone(d.changed), func(p string) bool { return slices.Contains(properties, p) })
	return d
}

// where returns the names for which is holds.
func (d Diff) where(is func(property string) bool) []string {
	return slices.DeleteFunc(d.Properties(), func(p string) bool { return !is(p) })
}
