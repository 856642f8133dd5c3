package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// metadata is the resource that the CDK adds for its own statistics; there is
// nothing to make for it.
const metadata = "AWS::CDK::Metadata"

// A computation is one run of Compute.
type computation struct {
	in      *Input
	rows    []*row
	byID    map[string]*row
	readers map[string][]*row // rows that refer to a logical id
}

// A row is a change in the making. want is nil for a resource that goes.
type row struct {
	*Change
	want   *Resource
	shape  *schema.Type
	record *state.Resource

	oldForm, newForm *value.Object // the properties as they are compared
}

// Compute says what a deploy of in would do.
//
// The error, if any, joins everything that was found wrong, one error a row: a
// type that no layer can provision, a logical id given twice.
func Compute(in Input) (*Plan, error) {
	c := &computation{in: &in, byID: map[string]*row{}, readers: map[string][]*row{}}
	var errs []error
	for i := range in.Desired {
		want := &in.Desired[i]
		if want.Type == metadata {
			continue
		}
		if c.byID[want.LogicalID] != nil {
			errs = append(errs, fmt.Errorf("plan %s of stack %s: the logical id is there twice", want.LogicalID, in.Stack))
			continue
		}
		c.add(c.wanted(want))
	}
	for _, id := range in.Current.LogicalIDs() {
		record := in.Current.Row(id)
		if c.byID[id] == nil && record.ResourceType != metadata {
			c.add(gone(id, record))
		}
	}
	c.propagate()
	errs = append(errs, c.route()...)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p := &Plan{Stack: in.Stack, Region: in.Region, Outputs: c.outputs()}
	for _, r := range c.rows {
		p.Changes = append(p.Changes, r.Change)
	}
	return p, nil
}

func (c *computation) add(r *row) {
	c.rows = append(c.rows, r)
	c.byID[r.LogicalID] = r
	if r.want == nil {
		return
	}
	producers := map[string]bool{}
	for _, refs := range r.want.References {
		for _, ref := range refs {
			if !producers[ref.LogicalID] {
				producers[ref.LogicalID] = true
				c.readers[ref.LogicalID] = append(c.readers[ref.LogicalID], r)
			}
		}
	}
}

// wanted makes the row of a resource that the template has.
func (c *computation) wanted(want *Resource) *row {
	record := c.in.Current.Row(want.LogicalID)
	r := &row{
		Change: &Change{
			LogicalID: want.LogicalID, Type: want.Type, Path: want.Path,
			Desired:        withoutAbsent(want.Properties),
			DeletionPolicy: want.DeletionPolicy, UpdateReplacePolicy: want.UpdateReplacePolicy,
		},
		want: want, record: record, shape: c.in.schemaOf(want.Type),
	}
	switch {
	case record == nil:
		r.Action = Create
	case record.ResourceType != want.Type:
		r.PhysicalID = record.PhysicalID
		r.Properties = []PropertyChange{{
			Path: "Type", Old: record.ResourceType, New: want.Type, HasOld: true, HasNew: true, Replaces: true,
		}}
		r.settle()
	default:
		r.PhysicalID = record.PhysicalID
		r.Properties = r.differences()
		r.Attributes = slices.Concat(
			attribute("DeletionPolicy", record.DeletionPolicy, want.DeletionPolicy),
			attribute("UpdateReplacePolicy", record.UpdateReplacePolicy, want.UpdateReplacePolicy),
		)
		r.settle()
	}
	return r
}

// gone makes the row of a resource that only the record has.
func gone(id string, record *state.Resource) *row {
	r := &row{record: record, Change: &Change{
		LogicalID: id, Type: record.ResourceType, Action: Delete, PhysicalID: record.PhysicalID,
		Route:          recorded(record),
		DeletionPolicy: DeletionPolicy(record.ResourceType, record.Properties, record.DeletionPolicy),
	}}
	if Keeps(r.DeletionPolicy) {
		r.Action = Retain
	}
	return r
}

func attribute(name, old, new string) []AttributeChange {
	if old == new {
		return nil
	}
	return []AttributeChange{{Name: name, Old: old, New: new}}
}

// withoutAbsent copies the members that are not AWS::NoValue. The values are
// shared.
func withoutAbsent(o *value.Object) *value.Object {
	c := &value.Object{}
	for k, v := range o.All() {
		if !noValue(v) {
			c.Set(k, v)
		}
	}
	return c
}

// differences compares what is recorded with what is wanted, the recorded
// members first.
func (r *row) differences() []PropertyChange {
	r.oldForm, r.newForm = normal(r.Type, r.record.Properties), normal(r.Type, r.Desired)
	var list []PropertyChange
	names := r.record.Properties.Keys()
	for k := range r.Desired.All() {
		if !r.record.Properties.Has(k) {
			names = append(names, k)
		}
	}
	for _, k := range r.want.Uncertain {
		if !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	for _, name := range names {
		if name == "Timestamp" && custom(r.Type) {
			continue // the CDK stamps every synthesis; the handler must not run for it
		}
		if p, differs := r.difference(name); differs {
			list = append(list, p)
		}
	}
	return list
}

func (r *row) difference(name string) (PropertyChange, bool) {
	old, new := member(r.record.Properties, name), member(r.Desired, name)
	p := PropertyChange{
		Path: name, Old: old.v, HasOld: old.has, New: new.v, HasNew: new.has,
		Unresolved: slices.Contains(r.want.Unresolved, name) || Unresolved(new.v),
		Secret:     slices.Contains(r.want.Secret, name),
	}
	old, new = member(r.oldForm, name), member(r.newForm, name)
	equal := old.has == new.has && Equal(r.propertyShape(name), old.v, new.v)
	if equal {
		p.NoEcho = slices.Contains(r.want.Supplied, name)
		p.Uncertain = slices.Contains(r.want.Uncertain, name)
		if !p.NoEcho && !p.Uncertain {
			return p, false
		}
	}
	v := judge(r.Type, r.shape, name, old, new)
	p.Incomparable = slices.Contains(r.want.Supplied, name) && r.incomparable(name, old, new, equal || v != replaces)
	switch {
	case p.Incomparable:
		p.MayReplace = true
	case v == replaces && (equal || slices.Contains(r.want.Unresolved, name)):
		p.MayReplace = true // it may be what it was
	default:
		p.Replaces, p.MayReplace = v == replaces, v == mayReplace
	}
	return p, true
}

// incomparable tells whether it is a mask that hides whether the resource has to
// be replaced: another value behind it would ask for that, and the mask does
// not. What is a new version with every change is made anew without harm.
func (r *row) incomparable(name string, old, new side, open bool) bool {
	other, masked := behindMasks(new.v)
	return open && masked && rules[r.Type].butFor == nil &&
		judge(r.Type, r.shape, name, old, side{other, new.has}) == replaces
}

// behindMasks copies v with values behind its masks that nothing recorded is
// equal to, and tells whether there are any.
func behindMasks(v any) (other any, masked bool) {
	switch v := v.(type) {
	case string:
		if v == state.Masked {
			return "\x00", true
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var m bool
			list[i], m = behindMasks(v[i])
			masked = masked || m
		}
		return list, masked
	case *value.Object:
		o := &value.Object{}
		for k, member := range v.All() {
			member, m := behindMasks(member)
			o.Set(k, member)
			masked = masked || m
		}
		return o, masked
	}
	return v, false
}

func (r *row) propertyShape(name string) *schema.Property {
	if r.shape == nil {
		return nil
	}
	return r.shape.Properties[name]
}

// settle derives the action of a row that is recorded and wanted.
func (r *row) settle() {
	r.Action = NoChange
	if len(r.Properties)+len(r.Attributes) > 0 || r.want.ChildChanged {
		r.Action, r.ChildChanged = Update, r.want.ChildChanged
	}
	for _, p := range r.Properties {
		switch {
		case p.Replaces:
			r.Action = Replace
		case p.MayReplace && r.Action != Replace:
			r.Action = MayReplace
		}
	}
	if r.want.Recreate == Recreate || r.want.Recreate != "" && r.Action != NoChange {
		r.Action, r.Recreate = Replace, r.want.Recreate
	}
}

// route asks for the layer of every row that will be provisioned.
func (c *computation) route() (errs []error) {
	for _, r := range c.rows {
		switch {
		case r.Gone():
		case r.Action == NoChange || c.in.Route == nil:
			r.Route = recorded(r.record)
		default:
			record := r.record
			if record != nil && record.ResourceType != r.Type {
				record = nil // the old resource does not bind the new one
			}
			route, err := c.in.Route(r.want, r.Desired, record)
			if err != nil {
				errs = append(errs, fmt.Errorf("plan %s (%s) of stack %s: %w", r.LogicalID, r.Type, c.in.Stack, err))
			}
			r.Route = route
		}
	}
	return errs
}

func recorded(r *state.Resource) Route {
	if r == nil || r.ProvisionedBy == "" {
		return Route{ProvisionedBy: state.BySDK}
	}
	return Route{ProvisionedBy: r.ProvisionedBy}
}
