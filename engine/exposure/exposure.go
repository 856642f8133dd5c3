// Package exposure finds in a plan who could do more, or less, and who could
// reach what, when it is carried out.
//
// It knows policy documents wherever they stand, how policies are attached, and
// the rules of security groups; it compares both sides statement by statement,
// so that a statement which only moved is no change. It does not evaluate
// policies: a statement that is granted may have been granted by another one
// before. It is pure, and what it does not understand it shows rather than
// leaves out.
package exposure

import (
	"cmp"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/value"
)

// A Kind tells permissions from reachability.
type Kind string

// The kinds.
const (
	Permission Kind = "permission"
	Network    Kind = "network"
)

// A Rule is one thing that somebody may do or reach, and that appears or goes.
type Rule struct {
	Change *plan.Change
	Kind   Kind
	Added  bool // else it goes
	Deny   bool // it forbids rather than allows

	Who        string // principals, identities or peers
	What       string // actions, or protocol and ports
	On         string // resources; "" for the one that the rule belongs to
	Conditions string // operators and keys, without their values
}

// Broadens tells whether somebody can do or reach more by it.
func (r Rule) Broadens() bool { return r.Added != r.Deny }

// Public tells whether a rule lets in everybody.
func (r Rule) Public() bool {
	if r.Deny || r.Conditions != "" || strings.HasPrefix(r.What, outgoing) {
		return false
	}
	return slices.ContainsFunc(strings.Split(r.Who, ", "), func(who string) bool {
		switch who {
		case "*", "AWS:*", "0.0.0.0/0", "::/0":
			return true
		}
		return false
	})
}

// Of lists what a plan, without its nested stacks, changes. What broadens comes
// first.
func Of(p *plan.Plan) []Rule {
	var out []Rule
	for _, c := range p.Changes {
		if c.Action == plan.NoChange || c.Gone() || c.Desired == nil {
			continue
		}
		out = append(out, difference(c)...)
	}
	slices.SortStableFunc(out, func(a, b Rule) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

func rank(r Rule) int {
	switch {
	case r.Broadens() && r.Public():
		return 0
	case r.Broadens():
		return 1
	}
	return 2
}

// Broadens tells whether a plan, or one of its nested stacks', lets somebody do
// or reach more.
func Broadens(p *plan.Plan) bool {
	return slices.ContainsFunc(Of(p), Rule.Broadens) || slices.ContainsFunc(p.Children, Broadens)
}

func difference(c *plan.Change) []Rule {
	before, after := &value.Object{}, c.Desired.Clone()
	if c.Action != plan.Create {
		before = c.Desired.Clone()
	}
	for _, p := range c.Properties {
		if p.Secret || p.NoEcho || p.Path == "Type" && p.Replaces {
			before.Delete(p.Path)
			after.Delete(p.Path)
			continue
		}
		if p.HasOld {
			before.Set(p.Path, p.Old)
		} else {
			before.Delete(p.Path)
		}
	}
	is := rules(c, after)
	if c.Action == plan.Create && c.Type == "AWS::S3::Bucket" { // what it keeps from everybody, nobody had before
		is = slices.DeleteFunc(is, func(r Rule) bool { return r.Deny })
	}
	var was []Rule
	if c.Action != plan.Create {
		was = rules(c, before)
	}
	var out []Rule
	add := func(rules, others []Rule, added bool) {
		for _, r := range rules {
			if !slices.Contains(others, r) {
				r.Change, r.Added = c, added
				out = append(out, r)
			}
		}
	}
	add(is, was, true)
	add(was, is, false)
	return out
}

// rules lists what the properties of a resource allow and forbid.
func rules(c *plan.Change, properties *value.Object) []Rule {
	var out []Rule
	resourceType, identity := c.Type, attached(c, properties)
	for name, v := range properties.All() {
		switch {
		case name == "ManagedPolicyArns":
			for _, arn := range list(v) {
				out = append(out, Rule{Kind: Permission, Who: identity, What: "everything that " + plan.Readable(arn) + " allows"})
			}
		case name == "PermissionsBoundary":
			out = append(out, Rule{Kind: Permission, Deny: true, Who: identity, What: "everything that " + plan.Readable(v) + " does not allow"})
		case name == "Policies" && strings.HasPrefix(resourceType, "AWS::IAM::"):
			for _, p := range list(v) {
				out = append(out, statements(identity, object(p).Value("PolicyDocument"))...)
			}
		default:
			out = append(out, statements(identity, v)...)
		}
	}
	out = append(out, lambdaPermission(resourceType, properties)...)
	out = append(out, network(resourceType, properties)...)
	return out
}

// statements reads a policy document, which may be JSON text. Where it names
// nobody it is about the identity that it is attached to.
func statements(identity string, document any) []Rule {
	if text, ok := document.(string); ok && strings.Contains(text, `"Statement"`) {
		if parsed, err := value.Parse([]byte(text)); err == nil {
			document = parsed
		}
	}
	var out []Rule
	for _, s := range list(object(document).Value("Statement")) {
		o := object(s)
		if !o.Has("Effect") {
			continue
		}
		r := Rule{Kind: Permission, Deny: o.String("Effect") == "Deny", Conditions: conditions(o.Object("Condition"))}
		r.Who = principals(o, "Principal", "")
		if not := principals(o, "NotPrincipal", "all but "); not != "" {
			r.Who = not
		}
		if r.Who == "" {
			r.Who = identity
		}
		r.What = texts(o.Value("Action"))
		if o.Has("NotAction") {
			r.What = "all but " + texts(o.Value("NotAction"))
		}
		r.On = texts(o.Value("Resource"))
		if o.Has("NotResource") {
			r.On = "all but " + texts(o.Value("NotResource"))
		}
		out = append(out, r)
	}
	return out
}

func principals(statement *value.Object, name, prefix string) string {
	v := statement.Value(name)
	if o, ok := v.(*value.Object); ok && !plan.Intrinsic(v) {
		var all []string
		for kind, who := range o.All() {
			for _, w := range list(who) {
				text := plan.Readable(w)
				if kind == "AWS" && text == "*" {
					text = "*"
				}
				all = append(all, text)
			}
		}
		return prefix + strings.Join(all, ", ")
	}
	if v == nil {
		return ""
	}
	return prefix + texts(v)
}

// attached is the identity that a policy of the resource is about, "" for one
// that belongs to what it protects.
func attached(c *plan.Change, properties *value.Object) string {
	switch c.Type {
	case "AWS::IAM::Role", "AWS::IAM::User", "AWS::IAM::Group", "AWS::SSO::PermissionSet":
		return "${" + c.LogicalID + "}"
	}
	var all []string
	for _, name := range []string{"Roles", "Users", "Groups", "RoleName", "UserName", "GroupName"} {
		for _, v := range list(properties.Value(name)) {
			all = append(all, plan.Readable(v))
		}
	}
	return strings.Join(all, ", ")
}

func lambdaPermission(resourceType string, p *value.Object) []Rule {
	if resourceType != "AWS::Lambda::Permission" {
		return nil
	}
	var keys []string
	for _, k := range []string{"SourceArn", "SourceAccount", "PrincipalOrgID", "EventSourceToken", "FunctionUrlAuthType"} {
		if p.Has(k) {
			keys = append(keys, k)
		}
	}
	return []Rule{{Kind: Permission, Who: texts(p.Value("Principal")), What: texts(p.Value("Action")), On: texts(p.Value("FunctionName")),
		Conditions: strings.Join(keys, ", ")}}
}

// conditions names operators and keys; their values may be long, and are in the
// property's own difference.
func conditions(o *value.Object) string {
	var all []string
	for operator, keys := range o.All() {
		for _, k := range object(keys).Keys() {
			all = append(all, operator+" "+k)
		}
	}
	return strings.Join(all, ", ")
}

func object(v any) *value.Object {
	o, _ := v.(*value.Object)
	return o
}

// list is a value that may be one or several.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

func texts(v any) string {
	var all []string
	for _, m := range list(v) {
		all = append(all, plan.Readable(m))
	}
	return strings.Join(all, ", ")
}
