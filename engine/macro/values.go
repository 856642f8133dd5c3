package macro

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// placeholders are values that CloudFormation accepts for parameters of a type,
// where nobody gave one. None of them reaches a resource: the change set is not
// executed, and the expanded template refers to its parameters as before.
var placeholders = map[string]string{
	"Number":                             "0",
	"List<Number>":                       "0",
	"AWS::EC2::AvailabilityZone::Name":   "us-east-1a",
	"AWS::EC2::Image::Id":                "ami-00000000",
	"AWS::EC2::Instance::Id":             "i-00000000",
	"AWS::EC2::KeyPair::KeyName":         "placeholder",
	"AWS::EC2::SecurityGroup::GroupName": "placeholder",
	"AWS::EC2::SecurityGroup::Id":        "sg-00000000",
	"AWS::EC2::Subnet::Id":               "subnet-00000000",
	"AWS::EC2::VPC::Id":                  "vpc-00000000",
	"AWS::EC2::Volume::Id":               "vol-00000000",
	"AWS::Route53::HostedZone::Id":       "Z00000000",
	"AWS::SSM::Parameter::Name":          "placeholder",
	"CommaDelimitedList":                 "",
	"String":                             "placeholder",
}

// values gives every parameter one. What is NoEcho stays here.
func values(t *template.Template, given map[string]string, warn func(string)) []types.Parameter {
	var all []types.Parameter
	for _, p := range t.Parameters {
		v, ok := given[p.Name]
		if !ok || p.NoEcho {
			v, ok = byDefault(p)
		}
		if !ok {
			if v, ok = placeholder(p.Type); !ok {
				warn(fmt.Sprintf("parameter %s of template %s has a type of its own, %s; a macro sees a text in its place", p.Name, t.Name, p.Type))
			}
		}
		all = append(all, types.Parameter{ParameterKey: &p.Name, ParameterValue: &v})
	}
	return all
}

func byDefault(p *template.Parameter) (string, bool) {
	list, isList := p.Default.([]any)
	if !isList {
		return value.Text(p.Default)
	}
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i], _ = value.Text(v)
	}
	return strings.Join(parts, ","), true
}

// placeholder has a text for every type; known is false for a type that it was
// only guessed for.
func placeholder(typ string) (v string, known bool) {
	if v, ok := placeholders[typ]; ok {
		return v, true
	}
	inner, stored := strings.CutPrefix(typ, "AWS::SSM::Parameter::Value<")
	list := strings.HasPrefix(inner, "List<") || strings.HasPrefix(inner, "CommaDelimitedList")
	switch {
	case stored && list:
		return "placeholder,placeholder", true
	case stored:
		return "placeholder", true
	case list: // of something that has a value of its own
		return placeholder(strings.TrimSuffix(strings.TrimPrefix(typ, "List<"), ">"))
	}
	return "placeholder", false
}
