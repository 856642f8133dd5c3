package provider

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/value"
)

// puts writes satellites, side by side as far as their order allows. Those in
// flight are let finish when one fails; the first failure in the description's
// order is returned.
func puts(ctx context.Context, r *Request, satellites []Satellite) error {
	for len(satellites) > 0 {
		ready, later := split(satellites, func(s Satellite) bool {
			return !slices.ContainsFunc(satellites, func(o Satellite) bool { return s.follows(o) })
		})
		if len(ready) == 0 {
			return fmt.Errorf("%s (%s): its satellites wait for each other: %v", r.LogicalID, r.Type, satellites[0].Properties)
		}
		errs := make([]error, len(ready))
		var wg routine.Group
		var serial sync.Mutex
		for i, s := range ready {
			wg.Go(func() {
				if s.Serial {
					serial.Lock()
					defer serial.Unlock()
				}
				errs[i] = s.apply(ctx, r)
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		satellites = later
	}
	return nil
}

func split(all []Satellite, is func(Satellite) bool) (yes, no []Satellite) {
	for _, s := range all {
		if is(s) {
			yes = append(yes, s)
		} else {
			no = append(no, s)
		}
	}
	return yes, no
}

// follows tells whether s must come after o.
func (s Satellite) follows(o Satellite) bool {
	return slices.ContainsFunc(o.Properties, func(p string) bool {
		return slices.Contains(s.After, p) && !slices.Contains(s.Properties, p)
	})
}

// apply puts a satellite, or resets it when nothing of it is wanted any more.
func (s Satellite) apply(ctx context.Context, r *Request) error {
	names := strings.Join(s.Properties, ", ")
	if s.Reset != nil && !slices.ContainsFunc(s.Properties, r.Properties.Has) {
		if err := s.Reset(ctx, r); err != nil {
			return fmt.Errorf("reset %s of %s (%s): %w", names, r.LogicalID, r.Type, err)
		}
		return nil
	}
	if err := s.Put(ctx, r); err != nil {
		return fmt.Errorf("set %s of %s (%s): %w", names, r.LogicalID, r.Type, err)
	}
	return nil
}

// A Member is one call for one element of a member list.
type Member func(ctx context.Context, r *Request, element any) error

// Members is the satellite of a list whose elements are added and removed one
// by one: a role's policies, a group's rules. Elements are told apart by key;
// one with a known key and another value is added again.
//
// A list that was removed from the template is emptied.
func Members(property string, key func(element any) string, add, remove Member) Satellite {
	return Satellite{
		Properties: []string{property},
		Put: func(ctx context.Context, r *Request) error {
			old, wanted := keyed(r.Previous.List(property), key), keyed(r.Properties.List(property), key)
			// First remove: a key may be all that two elements may not share.
			for k, e := range old.All() {
				if !wanted.Has(k) {
					if err := remove(ctx, r, e); err != nil {
						return err
					}
				}
			}
			for k, e := range wanted.All() {
				if was, ok := old.Get(k); ok && value.Equal(was, e) {
					continue
				}
				if err := add(ctx, r, e); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// Itself is the key of elements that are their own: ARNs, names.
func Itself(element any) string {
	if s, ok := element.(string); ok {
		return s
	}
	return value.JSON(element)
}

// Key is the key of elements that one of their members tells apart.
func Key(member string) func(any) string {
	return func(element any) string {
		o, _ := element.(*value.Object)
		text, _ := value.Text(o.Value(member))
		return text
	}
}

func keyed(list []any, key func(any) string) *value.Object {
	o := value.NewObject()
	for _, e := range list {
		o.Set(key(e), e)
	}
	return o
}
