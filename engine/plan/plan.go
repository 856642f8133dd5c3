// Package plan compares what is recorded with what a template wants and says
// what a deploy would do, property by property.
//
// It is pure: values in, values out. One Plan is what the log, the comment,
// the JSON, the digest and the executor all work from, so they cannot differ.
package plan

import (
	"github.com/org/cdkd-action/engine/value"
)

// An Action is what is to happen to one resource.
type Action string

const (
	Create     Action = "create"
	Update     Action = "update"
	Replace    Action = "replace"
	MayReplace Action = "may-replace" // decided when values are known
	Delete     Action = "delete"
	Retain     Action = "retain" // gone from the template, kept in AWS by its policy
	NoChange   Action = "none"
)

// A Plan is what a deploy of one stack would do.
type Plan struct {
	Stack, Region string
	Changes       []*Change // template order, then deletions in record order; NoChange rows included
	Outputs       []OutputChange
	Children      []*Plan // nested stacks, when asked for
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
	// that cannot are left as written.
	Desired *value.Object
	// DeletionPolicy is the one that governs a delete.
	DeletionPolicy string
}

// A PropertyChange is a difference below one top-level property.
type PropertyChange struct {
	Path       string // the property's name
	Old, New   any    // whole values; absent ones are nil with the flag unset
	HasOld     bool
	HasNew     bool
	Replaces   bool // requires replacement
	MayReplace bool
	Propagated bool // only because something it refers to is replaced
	Unresolved bool // New still holds intrinsics
	Secret     bool // a value that must not be shown
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
	OldRedacted    bool
	Secret         bool
}
