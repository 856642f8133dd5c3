// Package schema knows the CloudFormation resource types: which properties
// they have, which of them force a replacement, what identifies a resource.
//
// The schemas are embedded, compressed one member a service, and decoded when
// a template first has a type of that service. A deploy therefore needs no
// DescribeType permission. See NOTICE for where they come from.
//
// They are AWS's schemas as they were when the archive was made: a property
// that is younger is not in them, and a type that is younger is not found.
// Callers take what they do not find for unknown, never for wrong.
package schema

import "strings"

// A Type is the part of a resource schema that the engine uses. Paths are
// property names joined by "/", "*" for a list's elements: "Code/S3Bucket".
//
// Types are shared by everything in the process and must not be changed.
type Type struct {
	Name string

	Properties map[string]*Property // top level, by name; read-only ones included
	Required   []string

	PrimaryIdentifier     []string // in the order in which a composite identifier has them
	RefIdentifier         []string // what Ref gives: PrimaryIdentifier, but for some types
	CreateOnly            []string
	ConditionalCreateOnly []string // a change may or may not replace
	ReadOnly              []string // properties that AWS sets
	WriteOnly             []string // properties that cannot be read back
	Attributes            []string // what Fn::GetAtt accepts, dotted and sorted
	TagProperty           string   // "" when the type takes no tags

	// DeleteFirst is true for a type whose replacement cannot exist beside the
	// old resource.
	DeleteFirst bool
	// Provisionable is false for a type that Cloud Control cannot manage, as far
	// as that can be told without asking AWS, and for the few that it could and
	// that the engine never leaves to it.
	Provisionable bool
}

// A Property is the shape of one value. Shapes may be recursive: walk them
// beside a value, never alone.
type Property struct {
	Type       string               // string, integer, number, boolean, array, object; "" when it may be several
	Properties map[string]*Property // of an object with known members
	Items      *Property            // of an array
	Values     *Property            // of a map (an object with free names)
	Unordered  bool                 // an array whose order means nothing
	JSON       bool                 // an object that may be given as its JSON text
}

// Lookup returns a type by its full name. It is cheap after the first type of
// a service, and may be called concurrently.
func Lookup(typeName string) (*Type, bool) { return embedded().lookup(typeName) }

// Names returns the names of all types, sorted. It inflates the whole archive,
// which takes longer than a deploy should: it is for tests and documentation.
func Names() []string { return embedded().names() }

// Replacement tells what a change of a property means for its resource.
type Replacement int

// The verdicts, from mild to severe.
const (
	InPlace      Replacement = iota // as far as the schema knows
	MayReplace                      // only AWS knows
	ReplaceBelow                    // when a create-only path below it differs
	Replaces
)

// Replaces tells what a change of a top-level property does. For ReplaceBelow
// the paths are those returned by CreateOnlyBelow.
func (t *Type) Replaces(property string) Replacement {
	verdict := InPlace
	for _, p := range t.CreateOnly {
		switch top, _, nested := strings.Cut(p, "/"); {
		case top != property:
		case !nested:
			return Replaces
		default:
			verdict = ReplaceBelow
		}
	}
	if verdict == InPlace {
		for _, p := range t.ConditionalCreateOnly {
			if top, _, _ := strings.Cut(p, "/"); top == property {
				return MayReplace
			}
		}
	}
	return verdict
}

// CreateOnlyBelow returns the create-only paths strictly below a top-level
// property, without its name.
func (t *Type) CreateOnlyBelow(property string) []string { return below(t.CreateOnly, property) }

// ConditionalBelow is CreateOnlyBelow for the paths whose change may replace.
// A path "" stands for the property itself.
func (t *Type) ConditionalBelow(property string) []string {
	list := below(t.ConditionalCreateOnly, property)
	for _, p := range t.ConditionalCreateOnly {
		if p == property {
			list = append(list, "")
		}
	}
	return list
}

func below(paths []string, property string) []string {
	var list []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, property+"/"); ok {
			list = append(list, rest)
		}
	}
	return list
}

// Settable tells whether a template can set a top-level property: the type has
// it, and AWS does not set it itself.
func (t *Type) Settable(property string) bool {
	if t.Properties[property] == nil {
		return false
	}
	for _, p := range t.ReadOnly {
		if p == property {
			return false
		}
	}
	return true
}

// At returns the shape at a path, nil when the type has none there. "*" steps
// into the elements of a list or map.
func (t *Type) At(path string) *Property {
	p := &Property{Properties: t.Properties}
	for _, name := range strings.Split(path, "/") {
		if p = p.Member(name); p == nil {
			return nil
		}
	}
	return p
}

// Member returns the shape of a member: a property of an object, a value of a
// map, and for "*" an element of a list or map. It is nil when that is unknown,
// and p may be nil.
func (p *Property) Member(name string) *Property {
	switch {
	case p == nil:
		return nil
	case p.Properties[name] != nil:
		return p.Properties[name]
	case name == "*" && p.Items != nil:
		return p.Items
	}
	return p.Values
}
