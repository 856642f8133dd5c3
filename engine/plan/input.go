package plan

import (
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// An Input is what Compute works from.
type Input struct {
	Stack, Region string
	Current       *state.Record // nil: nothing is deployed
	Desired       []Resource    // of the condition-filtered template, in its order
	Outputs       []Output

	// SecretBearing says that the template has references to secrets, which
	// makes output values of an old record suspect.
	SecretBearing bool

	// Route chooses the layer of a resource that is to be created, updated or
	// replaced; row is nil for one that is new. Errors of all rows are collected.
	// nil: every row goes to the SDK.
	Route func(want *Resource, properties *value.Object, row *state.Resource) (Route, error)
	// Schema finds a type's schema; nil: those that are embedded.
	Schema func(typ string) (*schema.Type, bool)
}

// A Resource is one resource that the template wants.
type Resource struct {
	LogicalID, Type, Path string

	// Properties are resolved as far as can be told now, secrets as their
	// expressions and NoEcho values masked, as a record has them. What cannot be
	// told is left as an object of one member, {"Ref": …} or {"Fn::…": …}.
	Properties *value.Object
	// Written are the properties as the template has them. They stand in for a
	// value that will change because what it refers to changes. nil: Properties.
	Written *value.Object
	// References are what each top-level property refers to.
	References map[string][]Reference

	DeletionPolicy, UpdateReplacePolicy string // "": none

	Recreate Recreation // "": as its properties ask for
	// ChildChanged is set for a nested stack that differs, whether or not its row
	// does.
	ChildChanged bool

	// The following name top-level properties.
	Unresolved []string // cannot be told, although no intrinsic shows it
	Secret     []string // are not to be shown
	Supplied   []string // hold the value of a NoEcho parameter that this run was given
	Uncertain  []string // were sent by an operation whose outcome was never learned
}

// A Reference is one mention of another resource: by Ref when Attribute is "",
// else by Fn::GetAtt. A placeholder of Fn::Sub is one or the other.
type Reference struct{ LogicalID, Attribute string }

// An Output is one output that the template wants.
type Output struct {
	Name       string
	Value      any  // as written where Unresolved
	Unresolved bool // cannot be told before the deploy
	Secret     bool // the value holds a secret
	References []Reference

	Exported         bool
	ExportName       string // "" where ExportUnresolved
	ExportUnresolved bool
	ExportSecret     bool // the name holds a secret; it is not published
}

func (in *Input) schemaOf(typ string) *schema.Type {
	find := in.Schema
	if find == nil {
		find = schema.Lookup
	}
	t, ok := find(typ)
	if !ok {
		return nil
	}
	return t
}
