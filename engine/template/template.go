// Package template holds a CloudFormation template as Go values and evaluates
// it: parameters, conditions, and every intrinsic function.
//
// Parse checks a template and reports all its faults together. Bind puts it
// into an environment: parameters get values, loops are unrolled, conditions
// are decided. A Scope then gives properties and outputs, either strictly or,
// as Preview, as far as they can be told before a deployment.
//
// It is pure but for the World it is given, through which it asks what the
// template cannot know by itself. Evaluation never changes a template or a
// value it was given. Where CloudFormation would refuse, so does this package,
// with the path in the template; it never puts a guess in a value's place.
//
// Strings that hold a secret are carried in two forms through all functions:
// as AWS must get them, and as they may be stored. Resolved has both.
package template

import (
	"context"

	"github.com/org/cdkd-action/engine/value"
)

// A Template is a parsed and validated template.
type Template struct {
	Name       string // the file or stack, for messages
	Transform  []string
	Parameters []*Parameter // these and the following in template order
	Resources  []*Resource
	Outputs    []*Output
	Mappings   *value.Object
	Conditions *value.Object
	Body       *value.Object // everything, as written

	unwritten bool // has Fn::ForEach or computed names, which Bind writes out
	resources map[string]*Resource
	outputs   map[string]*Output
}

// Loops tells whether resources or outputs are made by loops or have computed
// names, so that the lists do not have them all.
func (t *Template) Loops() bool { return t.unwritten }

// A Parameter is one declared parameter.
type Parameter struct {
	Name, Type  string
	Default     any // nil: none
	NoEcho      bool
	Declaration *value.Object // constraints and all
}

// A Resource is one declared resource, its properties as written.
type Resource struct {
	LogicalID, Type string
	Properties      *value.Object // nil: none
	DependsOn       []string
	Condition       string // "": unconditional

	DeletionPolicy, UpdateReplacePolicy string // "": none

	Metadata                     *value.Object
	CreationPolicy, UpdatePolicy any

	// The two policies when they are written as functions, which the language
	// extensions allow; Scope.Resources has them as text.
	deletionPolicy, updateReplacePolicy any
}

// An Output is one declared output.
type Output struct {
	Name, Condition string
	Description     string
	Value           any
	ExportName      any // nil: not exported
}

// Resource returns the declared resource, nil when there is none.
func (t *Template) Resource(logicalID string) *Resource { return t.resources[logicalID] }

// An Environment is where a stack is evaluated.
type Environment struct {
	AccountID, Region  string
	StackName, StackID string
}

// A World answers what a template cannot know by itself. A method that cannot
// answer yet, because the resource is still to be made, returns ErrUnknown (or
// wraps it); every other error means that it never will.
//
// An answer may hold {{resolve:…}} expressions, which are then resolved, and
// NoEcho values.
type World interface {
	// Ref answers Ref of a resource.
	Ref(ctx context.Context, logicalID string) (any, error)
	// Attribute answers Fn::GetAtt.
	Attribute(ctx context.Context, logicalID, name string) (any, error)
	// AvailabilityZones lists the region's zones by name, sorted: those that
	// need no opt-in, without local and wavelength zones.
	AvailabilityZones(ctx context.Context, region string) ([]string, error)
	// SSMParameters reads the values behind AWS::SSM::Parameter::Value<…>. A
	// SecureString is an error.
	SSMParameters(ctx context.Context, names []string) (map[string]string, error)
	// Import answers Fn::ImportValue.
	Import(ctx context.Context, exportName string) (any, error)
	// StackOutput answers Fn::GetStackOutput.
	StackOutput(ctx context.Context, ref StackOutput) (any, error)
	// Dynamic resolves one {{resolve:service:reference}}; secret tells whether
	// the text must never be shown or stored. A Preview only asks for ssm.
	Dynamic(ctx context.Context, service, reference string) (text string, secret bool, err error)
}

// A StackOutput names an output of another stack, for Fn::GetStackOutput.
type StackOutput struct{ StackName, OutputName, Region, RoleARN string }

// NoEcho wraps a World's answer that must be masked wherever it goes: an
// attribute of a custom resource that asked for it.
type NoEcho struct{ Value any }
