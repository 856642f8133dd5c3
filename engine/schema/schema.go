// Package schema knows the CloudFormation resource types: which properties
// they have, which of them force a replacement, what identifies a resource.
//
// The schemas are embedded, compressed one member a service, and decoded when
// a template first has a type of that service. A deploy therefore needs no
// DescribeType permission. See NOTICE for where they come from.
package schema

// A Type is the part of a resource schema that the engine uses. Paths are
// property names joined by "/", "*" for a list's elements: "Code/S3Bucket".
type Type struct {
	Name string

	Properties map[string]*Property // top level, by name
	Required   []string

	PrimaryIdentifier     []string
	CreateOnly            []string
	ConditionalCreateOnly []string // a change may or may not replace
	ReadOnly              []string // attributes
	WriteOnly             []string
	TagProperty           string // "" when the type takes no tags

	// Provisionable is false for a type that Cloud Control cannot manage.
	Provisionable bool
}

// A Property is the shape of one property.
type Property struct {
	Type       string               // string, integer, number, boolean, array, object; "" when it may be several
	Properties map[string]*Property // of an object with known members
	Items      *Property            // of an array
	Values     *Property            // of a map (an object with free names)
	Unordered  bool                 // an array whose order means nothing
}
