package provider

import (
	"context"
	"time"

	"github.com/org/cdkd-action/engine/value"
)

// A Resource describes how one type is made, changed, deleted and read by
// calls of its service. Driver turns it into a Provider.
//
// The functions are called with a Request whose Properties hold the physical
// name under the Name property, generated or not, and whose Session is in the
// stack's region. They make their calls and return; they do not retry, set
// tags (unless the create call takes them), or wait for the resource to settle.
type Resource struct {
	Type string // AWS::SQS::Queue

	// Name is the property that names the resource, "" when AWS names it.
	Name string

	// Inputs are the bindings that Create uses. What they map is covered.
	Inputs []Input
	// Updates are the bindings that Update uses. A change of a property that
	// none of them maps, and that is no satellite, tag or Handled, is refused.
	// nil with an Update: it takes every change.
	Updates []Input
	// Handled are properties, or dotted paths below one, that Create and Update
	// handle by code that no binding shows.
	Handled []string

	// Recast is set for a type whose functions here take its properties in the
	// arrangement of another type.
	Recast *Recast

	// Exclusive are groups of properties of which a resource may have one.
	Exclusive [][]string

	Satellites []Satellite
	Tags       Tags

	// Create makes the resource. It returns as soon as the id is known; an error
	// after that point carries it: return it together with the Created.
	Create func(ctx context.Context, r *Request) (Created, error)
	// Update changes in place what satellites and tags do not; it is called only
	// when there is such a change. nil: there is no such change, as every one
	// replaces.
	Update func(ctx context.Context, r *Request, d Diff) (Updated, error)
	// Delete deletes it. An error whose code is in Gone counts as success.
	Delete func(ctx context.Context, r *Request) error
	// Read returns the properties in CloudFormation's shape, or ErrNotFound. nil:
	// read through Cloud Control.
	Read func(ctx context.Context, r *Request) (*value.Object, error)

	// Gone are the error codes that say that this resource does not exist.
	Gone []string

	// Known gives the attributes that follow from name, region and account
	// alone. It is asked before the create too (PhysicalID is "" then).
	Known func(r *Request) *value.Object
	// Attributes reads those that have to be read, after a create or update.
	Attributes func(ctx context.Context, r *Request) (*value.Object, error)

	// Wait lets a create or update settle. DeleteWait lets a delete.
	Wait, DeleteWait *Waiter

	// Lookup reads who holds r.Name, nil for nobody. What is being deleted holds
	// nothing.
	Lookup func(ctx context.Context, r *Request) (*Holder, error)
	// Lookups does it for up to Batch names at once, in their order, where the
	// service takes several. Lookup is then [One] of it.
	Lookups func(ctx context.Context, rs []*Request) ([]*Holder, error)
	Batch   int
	// Find looks for what an unanswered create of this request may have made, by
	// an exact key: natural key, token or ownership tag. "" for nothing; who is
	// found by the tag alone is ErrUntagged for a request without one.
	Find func(ctx context.Context, r *Request) (physicalID string, err error)

	// PutOn, when not nil, tells that Create is answered with what is there
	// already, or overwrites it, and that nothing tells that afterwards; it names
	// the properties that say what the resource is put on. Types with a Lookup do
	// so too, and are told by that.
	PutOn []string
	// GoesWith names the properties that say with what AWS deletes the resource, and
	// with which it has to be put again; nil: those of PutOn. Outlives tells that
	// only the attachment goes.
	GoesWith []string
	Outlives bool
	// Leads names the properties of a type with PutOn that say what it leads to: leading
	// to what the stack made itself, it cannot have been there before either.
	Leads []string

	// Adopt gives the id under which an existing resource is recorded, of the
	// request's properties and its PhysicalID, which is what CloudFormation calls
	// it. nil: the same.
	Adopt func(ctx context.Context, r *Request) (physicalID string, err error)

	// FinalSnapshot tells that Delete takes Request.FinalSnapshot.
	FinalSnapshot bool

	// Unprotect switches deletion protection off, for a destroy that was asked to.
	Unprotect func(ctx context.Context, r *Request) error

	// Identifier converts the recorded physical id to Cloud Control's primary
	// identifier, for types where they differ.
	Identifier func(r *Request) string

	// SDKOnly, when not "", says why Cloud Control must not manage the type even
	// where a property is not covered.
	SDKOnly string
	// Replaces are codes with which a service refuses an in-place update that
	// only a replacement can make.
	Replaces []string
}

// A Recast arranges properties anew before any function of the description, and
// anything that compares them, sees them.
type Recast struct {
	To func(props *value.Object) *value.Object // must not change its argument
	// Lost are the paths that To leaves out. Whoever uses one goes to Cloud Control.
	Lost []string
	// Beyond lists the properties whose values, which may still hold intrinsic
	// functions, are for Cloud Control.
	Beyond func(props *value.Object) []string
}

// A Holder is who has a name.
type Holder struct {
	PhysicalID string
	Created    time.Time // zero: the service does not tell
	Tags       map[string]string
	Unread     error // why the tags could not be read; nil: they were, or tell nothing
}

// A Satellite is a property, or a few that belong together, that a call of its
// own puts after the create and whenever it changes.
type Satellite struct {
	Properties []string
	// Input is the binding that Put uses; nil: Put covers the properties whole.
	Input Input
	// Put writes the properties' value. On an update r.Previous is set.
	Put func(ctx context.Context, r *Request) error
	// Reset undoes it when the last of the properties was removed. nil: Put is
	// called for that too, and finds them absent.
	Reset func(ctx context.Context, r *Request) error
	// After names properties whose satellites must be done first. Satellites
	// without an order between them are put side by side.
	After []string
	// Settled is set when the resource must have settled before (Resource.Wait).
	Settled bool
	// Serial keeps the satellite from running beside other serial ones, for
	// services that take one change at a time.
	Serial bool
}

// Tags say how the type is tagged.
type Tags struct {
	Property string // "": the type takes no tags
	// AtCreate is set when the create call takes them, through an Input.
	AtCreate bool
	// Add and Remove change single tags; Set puts the whole set instead (nil
	// tags: none are left).
	Add    func(ctx context.Context, r *Request, tags map[string]string) error
	Remove func(ctx context.Context, r *Request, keys []string) error
	Set    func(ctx context.Context, r *Request, tags map[string]string) error
}
