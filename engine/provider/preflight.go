package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// An Unroutable is a resource that no layer can provision.
type Unroutable struct {
	LogicalID, Type string
	Properties      []string // that the SDK provider does not handle; nil: it has none
	Reason          string
}

func (e *Unroutable) Error() string {
	if len(e.Properties) == 0 {
		return fmt.Sprintf("%s: type %s is not supported: %s", e.LogicalID, e.Type, e.Reason)
	}
	return fmt.Sprintf("%s (%s): %s not supported, and Cloud Control is no way out: %s",
		e.LogicalID, e.Type, strings.Join(e.Properties, ", "), e.Reason)
}

// A PreflightError lists everything that stands in the way of a deploy. It
// comes before anything is touched.
type PreflightError struct{ Faults []error }

func (e *PreflightError) Error() string {
	var b strings.Builder
	b.WriteString("resources that cannot be provisioned; nothing was changed:")
	for _, f := range e.Faults {
		b.WriteString("\n  " + f.Error())
	}
	return b.String()
}

func (e *PreflightError) Unwrap() []error { return e.Faults }

// Remedy says what to do about it.
func (e *PreflightError) Remedy() string {
	const types, others = "take the resources out or correct their types, or set allow-unsupported-types to try a type with Cloud Control all the same, allow-unsupported-properties to leave properties out", "correct the properties named"
	var ways []string
	newer := ""
	for _, f := range e.Faults {
		way := others
		if is[*Unroutable](f) {
			way = types
		} else if unknown, ok := errors.AsType[*UnknownPropertyError](f); ok {
			newer = cmp.Or(newer, "correct or remove unknown properties; one that is newer than this release is left out with allow-unsupported-properties "+unknown.Type+":"+unknown.Properties[0])
			way = newer
		}
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	return strings.Join(ways, "; ")
}

func is[T error](err error) bool { _, ok := errors.AsType[T](err); return ok }

// An UnknownPropertyError is a resource with properties that its type does not
// have, so that nothing could be done with them.
type UnknownPropertyError struct {
	LogicalID, Type string
	Properties      []string
}

func (e *UnknownPropertyError) Error() string {
	what := "property"
	if len(e.Properties) > 1 {
		what = "properties"
	}
	return fmt.Sprintf("%s: %s has no %s %s that a template can set", e.LogicalID, e.Type, what, strings.Join(e.Properties, ", "))
}

// An ExclusiveError is a resource with properties that exclude each other.
type ExclusiveError struct {
	LogicalID, Type string
	Properties      []string
}

func (e *ExclusiveError) Error() string {
	return fmt.Sprintf("%s (%s) may have only one of %s", e.LogicalID, e.Type, strings.Join(e.Properties, ", "))
}

// Preflight routes all resources, in order, and reports all faults at once as
// a *PreflightError.
func (r *Router) Preflight(wants []Want) ([]Decision, error) {
	var faults []error
	decisions := make([]Decision, len(wants))
	for i, w := range wants {
		var err error
		if decisions[i], err = r.Route(w); err != nil {
			faults = append(faults, err)
		}
		if driver := r.types[w.Type]; driver != nil {
			faults = append(faults, exclusive(w, driver.res.Exclusive)...)
		}
	}
	if faults != nil {
		return nil, &PreflightError{faults}
	}
	return decisions, nil
}

func exclusive(w Want, groups [][]string) (faults []error) {
	for _, g := range groups {
		used := slices.DeleteFunc(slices.Clone(g), func(p string) bool { return absent(w.Properties.Value(p)) })
		if len(used) > 1 {
			faults = append(faults, &ExclusiveError{w.LogicalID, w.Type, used})
		}
	}
	return faults
}

// returning updates, by the SDK, a resource that Cloud Control made. It goes
// by what is in AWS instead of by the record, which describes what the other
// layer was told.
type returning struct {
	*Driver
	cloud Provider
}

func (p *returning) Update(ctx context.Context, r *Request) (Updated, error) {
	live, err := p.cloud.Read(ctx, r)
	if err != nil {
		return Updated{}, fmt.Errorf("read %s (%s) before it returns to the SDK: %w", r.LogicalID, r.Type, err)
	}
	c := *r
	c.Previous = value.NewObject()
	for name, v := range live.All() { // but not what AWS added by itself
		if r.Properties.Has(name) || r.Previous.Has(name) {
			c.Previous.Set(name, v)
		}
	}
	return p.Driver.Update(ctx, &c)
}
