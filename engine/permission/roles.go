package permission

import (
	"regexp"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A Place is where a stack's resources go.
type Place struct{ Stack, Partition, Region, AccountID string }

// ARN makes one of a resource of the place's account, in its region.
func (p Place) ARN(service, resource string) string {
	return "arn:" + p.Partition + ":" + service + ":" + p.Region + ":" + p.AccountID + ":" + resource
}

func (p Place) role(path, name string) string {
	return "arn:" + p.Partition + ":iam::" + p.AccountID + ":role" + "/" + strings.TrimPrefix(path, "/") + name
}

// passes are properties that hand a role to a service, by their names.
var passes = regexp.MustCompile(`(?i)role(s|_?arns?)?$`)

// Roles returns the ARNs of the roles that a template's resources are given, and
// the places of those that the template does not tell.
func Roles(t *template.Template, place Place) (arns, untold []string) {
	f := finder{t: t, place: place}
	for _, r := range t.Resources {
		switch r.Type {
		// They name roles that they change; none is handed to a service.
		case "AWS::IAM::Role", "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy", "AWS::CloudFormation::Stack":
			continue
		}
		for name, v := range r.Properties.All() {
			f.walk(r.LogicalID+"."+name, name, v)
		}
	}
	slices.Sort(f.arns)
	return slices.Compact(f.arns), f.untold
}

type finder struct {
	t            *template.Template
	place        Place
	arns, untold []string
}

// walk looks for what is told to be a role by its name, and for the stack's own
// roles wherever they stand.
func (f *finder) walk(at, name string, v any) {
	if passes.MatchString(name) {
		switch v := v.(type) {
		case string, *value.Object:
			if arn, ok := f.arn(v); ok {
				f.arns = append(f.arns, arn)
				return
			}
			if _, function := function(v); !function {
				break // a text that is no role, or an object of a role's settings
			}
			f.untold = append(f.untold, at)
			return
		case []any:
			for _, m := range v {
				f.walk(at, name, m)
			}
			return
		}
	}
	if arn, ok := f.arn(v); ok {
		f.arns = append(f.arns, arn)
		return
	}
	switch v := v.(type) {
	case []any:
		for _, m := range v {
			f.walk(at, name, m)
		}
	case *value.Object:
		for key, m := range v.All() {
			under := key
			if _, isFunction := function(v); isFunction {
				under = "" // the name of a function says nothing
			}
			f.walk(at+"."+key, under, m)
		}
	}
}

// function tells whether a value is computed.
func function(v any) (string, bool) {
	o, ok := v.(*value.Object)
	if !ok {
		return "", false
	}
	name, _, ok := o.Sole()
	return name, ok && (name == "Ref" || strings.HasPrefix(name, "Fn::"))
}

// arn returns the ARN of a role that a value stands for.
func (f *finder) arn(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, strings.HasPrefix(v, "arn:") && strings.Contains(v, ":iam::") && strings.Contains(v, ":role/")
	case *value.Object:
		name, arg, ok := v.Sole()
		switch {
		case !ok:
		case name == "Ref":
			id, _ := arg.(string)
			return f.own(id)
		case name == "Fn::GetAtt":
			id := ""
			if list, ok := arg.([]any); ok && len(list) == 2 && list[1] == "Arn" {
				id, _ = list[0].(string)
			} else if text, ok := arg.(string); ok {
				id, _ = strings.CutSuffix(text, ".Arn")
			}
			return f.own(id)
		case name == "Fn::Sub":
			if text, ok := arg.(string); ok {
				return f.filled(text)
			}
		case name == "Fn::Join":
			list, _ := arg.([]any)
			if len(list) != 2 || list[0] != "" {
				return "", false
			}
			parts, _ := list[1].([]any)
			var b strings.Builder
			for _, p := range parts {
				switch p := p.(type) {
				case string:
					b.WriteString(p)
				case *value.Object:
					_, ref, _ := p.Sole()
					text, _ := ref.(string)
					b.WriteString("${" + text + "}")
				}
			}
			return f.filled(b.String())
		}
	}
	return "", false
}

var placeholder = regexp.MustCompile(`\$\{[^}]*\}`)

// filled puts what is known in the place of what a text leaves open.
func (f *finder) filled(text string) (string, bool) {
	text = strings.NewReplacer("${AWS::Partition}", f.place.Partition, "${AWS::AccountId}", f.place.AccountID,
		"${AWS::Region}", f.place.Region, "${AWS::StackName}", f.place.Stack).Replace(text)
	return f.arn(placeholder.ReplaceAllString(text, Anything))
}

// own is the ARN that a role of the stack has, or will have.
func (f *finder) own(id string) (string, bool) {
	r := f.t.Resource(id)
	if r == nil || r.Type != "AWS::IAM::Role" {
		return "", false
	}
	name := plan.PhysicalName(f.place.Stack, id, r.Type, r.Properties).Value
	path := r.Properties.String("Path")
	if name == "" {
		name = Anything
	}
	if path == "" && r.Properties.Has("Path") && r.Properties.Value("Path") != "" {
		path = Anything + "/"
	}
	if path == "/" {
		path = ""
	}
	return f.place.role(path, name), true
}
