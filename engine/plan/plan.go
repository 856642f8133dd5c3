// Package plan compares what is recorded with what a template wants and says
// what a deploy would do, property by property.
//
// It is pure: values in, values out, and nothing that it is given is changed.
// One Plan is what the log, the comment, the JSON, the digest and the executor
// all work from, so they cannot differ.
//
// What is compared is the record, which has what was last sent to AWS, and the
// template's properties as far as they can be resolved now. AWS itself is not
// asked. So a plan may say more than will happen: a change that only follows
// from another one is looked at again when values are known, and is dropped
// when they turn out equal. It never says less, and where it cannot tell whether
// a change replaces a resource it says so (MayReplace).
//
// Values in a plan hold no secrets: the caller gives both sides as they are
// stored, with expressions in the place of secrets.
package plan

import (
	"slices"

	"github.com/org/cdkd-action/engine/value"
)

// An Action is what is to happen to one resource.
type Action string

// The actions. Retain is the delete of a row whose policy keeps the resource.
const (
	Create     Action = "create"
	Update     Action = "update"
	Replace    Action = "replace"
	MayReplace Action = "may-replace" // decided when values are known
	Delete     Action = "delete"
	Retain     Action = "retain" // gone from the template, kept in AWS by its policy
	NoChange   Action = "none"
)

// A Recreation is a person's wish that a resource be deleted and made again,
// though its properties do not ask for that.
type Recreation string

// The recreations. Those through a layer only concern a resource that changes.
const (
	Recreate                Recreation = "recreate"
	RecreateViaCloudControl Recreation = "recreate via CC API"
	RecreateViaSDK          Recreation = "recreate via SDK provider"
)

// A Plan is what a deploy of one stack would do.
type Plan struct {
	Stack, Region string
	Changes       []*Change // template order, then deletions in record order; NoChange rows included
	Outputs       []OutputChange
	Children      []*Plan // nested stacks, when asked for
	// FromTemplates marks a comparison of two templates as they are written, for
	// which neither the record nor AWS was asked. Nobody can approve it.
	FromTemplates bool
}

// A Change is one resource's row.
type Change struct {
	LogicalID  string
	Type       string
	Path       string // aws:cdk:path, "" when unknown
	Action     Action
	PhysicalID string // of the existing resource
	Properties []PropertyChange
	Attributes []AttributeChange
	Route      Route

	// Desired are the properties as far as they can be told now; intrinsics
	// that cannot are left as written. nil for a resource that goes.
	Desired *value.Object
	// DeletionPolicy is the one that governs a delete: of a row that goes the
	// recorded one, or what counts in its absence.
	DeletionPolicy string
	// UpdateReplacePolicy is the template's; it governs the old resource of a
	// replacement.
	UpdateReplacePolicy string
	// Refused is why a deploy will not replace the resource, or not change what
	// might have to be replaced, as far as that is known now; "" when nothing stands in the way.
	Refused string
	// Recreate is how somebody asked for the resource to be made anew, "" when
	// nobody did.
	Recreate Recreation
	// Pending says what an earlier run left open about the resource, "" for
	// nothing.
	Pending string
	// Untold is set on a nested stack's row when it cannot be told before the deploy
	// what becomes of the stack below.
	Untold bool
	// ChildChanged is set on a nested stack's row when the stack below differs,
	// which makes it an Update without changes of its own.
	ChildChanged bool
}

// A PropertyChange is a difference below one top-level property.
type PropertyChange struct {
	Path         string // the property's name
	Old, New     any    // whole values; absent ones are nil with the flag unset
	HasOld       bool
	HasNew       bool
	Replaces     bool // requires replacement
	MayReplace   bool
	Propagated   bool // only because something it refers to is replaced
	Carried      bool // only because an attribute that it reads changes in place
	Unresolved   bool // New still holds intrinsics
	Secret       bool // a value that must not be shown
	NoEcho       bool // fed by a NoEcho parameter that was given anew, so that nothing can be compared
	Incomparable bool // a mask hides whether the resource has to be replaced, which is refused
	Uncertain    bool // an earlier run asked for the change and never learned the outcome
}

// An AttributeChange is a change of DeletionPolicy or UpdateReplacePolicy;
// it needs no AWS call. "" is unset.
type AttributeChange struct{ Name, Old, New string }

// A Route says which layer provisions a resource, and why not the SDK.
type Route struct {
	// ProvisionedBy is state.BySDK or state.ByCloudControl.
	ProvisionedBy string
	// Unhandled are the properties that the SDK provider does not handle.
	Unhandled []string
	Sticky    bool // recorded on Cloud Control, and stays there
	Returning bool // will move back to the SDK provider
}

// An OutputChange is one row of the outputs.
type OutputChange struct {
	Name           string
	Action         Action // Create, Update or Delete
	Old, New       any
	HasOld, HasNew bool
	Export         bool
	Unresolved     bool // known after deploy
	OldRedacted    bool // Old may be a secret that an old record holds in clear
	Secret         bool
}

// Change returns the row of a logical id, nil when there is none.
func (p *Plan) Change(logicalID string) *Change {
	for _, c := range p.Changes {
		if c.LogicalID == logicalID {
			return c
		}
	}
	return nil
}

// MetadataOnly tells whether a row only rewrites the record.
func (c *Change) MetadataOnly() bool {
	return c.Action == Update && len(c.Properties) == 0 && len(c.Attributes) > 0 && !c.ChildChanged
}

// Gone tells whether the row leaves the record.
func (c *Change) Gone() bool { return c.Action == Delete || c.Action == Retain }

// AddChild puts a nested stack's plan below p, in the place of an earlier one. A
// child that changes makes its row in p an update, whatever the row's own
// properties say: the child is only visited when its row changes.
func (p *Plan) AddChild(logicalID string, child *Plan) {
	if i := slices.IndexFunc(p.Children, func(old *Plan) bool { return old.Stack == child.Stack }); i >= 0 {
		p.Children[i] = child
	} else {
		p.Children = append(p.Children, child)
	}
	c := p.Change(logicalID)
	if c == nil || !child.Changed() {
		return
	}
	c.ChildChanged = true
	if c.Action == NoChange {
		c.Action = Update
	}
}
