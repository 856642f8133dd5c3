package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// separate tells whether tags are changed by calls of their own.
func (t Tags) separate() bool { return t.Property != "" && (t.Add != nil || t.Set != nil) }

// tag sets the tags of a resource that was made without them.
func (d *Driver) tag(ctx context.Context, r *Request) error {
	t := d.res.Tags
	tags := TagMap(r.Properties.Value(t.Property))
	if !t.separate() || len(tags) == 0 {
		return nil
	}
	put := t.Add
	if put == nil {
		put = t.Set
	}
	return d.tagged(r, put(ctx, r, tags))
}

// retag brings tags from those recorded to those wanted.
func (d *Driver) retag(ctx context.Context, r *Request) error {
	t := d.res.Tags
	old, wanted := TagMap(r.Previous.Value(t.Property)), TagMap(r.Properties.Value(t.Property))
	if t.Set != nil {
		return d.tagged(r, t.Set(ctx, r, wanted))
	}
	var gone []string
	for _, k := range slices.Sorted(maps.Keys(old)) {
		if _, ok := wanted[k]; !ok {
			gone = append(gone, k)
		}
	}
	maps.DeleteFunc(wanted, func(k, v string) bool { was, ok := old[k]; return ok && was == v })
	if len(gone) > 0 {
		if err := t.Remove(ctx, r, gone); err != nil {
			return d.tagged(r, err)
		}
	}
	if len(wanted) > 0 {
		return d.tagged(r, t.Add(ctx, r, wanted))
	}
	return nil
}

func (d *Driver) tagged(r *Request, err error) error {
	if err != nil {
		return fmt.Errorf("tag %s (%s): %w", r.LogicalID, r.Type, err)
	}
	return nil
}

// owned returns the request with the tag that proves whose create it is, where
// the create call takes tags.
func (d *Driver) owned(r *Request) *Request {
	t := d.res.Tags
	if r.OwnerTag == "" || t.Property == "" || !t.AtCreate {
		return r
	}
	c := *r
	switch tags := r.Properties.Value(t.Property).(type) {
	case *value.Object:
		c.Properties = with(r.Properties, []string{t.Property}, with(tags, []string{OwnerTagKey}, r.OwnerTag))
	case []any, nil:
		list, _ := tags.([]any)
		// Bindings turn the list into whatever the call takes.
		c.Properties = with(r.Properties, []string{t.Property},
			append(slices.Clone(list), value.NewObject("Key", OwnerTagKey, "Value", r.OwnerTag)))
	}
	return &c
}

// withoutOwner leaves out the tags that are ours, which no template has.
func (d *Driver) withoutOwner(props *value.Object) *value.Object {
	if d.res.Recast == nil {
		return withoutOwn(props, d.res.Tags.Property)
	}
	// They stand in some element of a list.
	out := props.Clone()
	for name, v := range props.All() {
		if list, ok := v.([]any); ok {
			elements := slices.Clone(list)
			for i, e := range elements {
				if o, ok := e.(*value.Object); ok {
					elements[i] = withoutOwn(o, d.res.Tags.Property)
				}
			}
			out.Set(name, elements)
		}
	}
	return out
}

// withoutOwn leaves our own tags out of a property.
func withoutOwn(props *value.Object, name string) *value.Object {
	ours := func(key string) bool { return strings.HasPrefix(key, "cdkd-action:") }
	switch tags := props.Value(name).(type) {
	case *value.Object:
		kept := value.NewObject()
		for k, v := range tags.All() {
			if !ours(k) {
				kept.Set(k, v)
			}
		}
		return withTags(props, name, kept, kept.Len(), tags.Len())
	case []any:
		kept := slices.DeleteFunc(slices.Clone(tags), func(tag any) bool {
			o, _ := tag.(*value.Object)
			k, _, _ := tagOf(o)
			return ours(k)
		})
		return withTags(props, name, kept, len(kept), len(tags))
	}
	return props
}

// withTags drops the property when nothing but our own tags was in it.
func withTags(props *value.Object, name string, kept any, n, before int) *value.Object {
	if n == before {
		return props
	}
	props = with(props, []string{name}, kept)
	if n == 0 {
		props.Delete(name)
	}
	return props
}

// TagMap returns tags in any of their spellings by key.
func TagMap(v any) map[string]string {
	tags := map[string]string{}
	switch v := v.(type) {
	case *value.Object:
		for k, text := range v.All() {
			tags[k], _ = value.Text(text)
		}
	case []any:
		for _, tag := range v {
			o, _ := tag.(*value.Object)
			if k, text, ok := tagOf(o); ok {
				tags[k], _ = value.Text(text)
			}
		}
	}
	return tags
}

func tagOf(o *value.Object) (key string, text any, ok bool) {
	text = ""
	for k, v := range o.All() {
		switch norm(k) {
		case "key", "tagkey":
			key, ok = value.Text(v)
		case "value", "tagvalue":
			text = v
		}
	}
	return key, text, ok
}
