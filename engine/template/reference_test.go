package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// What AWS's documentation of the functions says of expressions and values. Each
// case has what it needs beside the expression, so that it reads like the page:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference.html
func TestReferenceTable(t *testing.T) {
	w := &world{
		refs:       map[string]any{"MyInstance": "i-1234567890abcdef0", "ExampleVpc": "vpc-1"},
		attributes: map[string]any{"MyELB.DNSName": "myelb.example", "ExampleVpc.CidrBlock": "10.0.0.0/16", "ExampleVpc.Ipv6CidrBlocks": json(t, `["2001:db8:1234:1a00::/56"]`)},
		exports:    map[string]any{"NetworkStack-SecurityGroupID": "sg-1"},
	}
	const resources = `"MyInstance": {"Type": "T::T::T"}, "MyELB": {"Type": "T::T::T"}, "ExampleVpc": {"Type": "T::T::T"}`
	for _, c := range []struct{ page, around, expression, want string }{
		// Fn::Base64, Fn::Cidr
		{"Fn::Base64", ``, `{"Fn::Base64": "AWS CloudFormation"}`, `"QVdTIENsb3VkRm9ybWF0aW9u"`},
		{"Fn::Cidr: 6 blocks of /27", ``, `{"Fn::Cidr": ["192.168.0.0/24", "6", "5"]}`,
			`["192.168.0.0/27","192.168.0.32/27","192.168.0.64/27","192.168.0.96/27","192.168.0.128/27","192.168.0.160/27"]`},
		{"Fn::Cidr: first of a VPC", ``, `{"Fn::Select": [0, {"Fn::Cidr": [{"Fn::GetAtt": "ExampleVpc.CidrBlock"}, 1, 8]}]}`, `"10.0.0.0/24"`},
		{"Fn::Cidr: IPv6 of a VPC", ``, `{"Fn::Select": [0, {"Fn::Cidr": [{"Fn::Select": [0, {"Fn::GetAtt": "ExampleVpc.Ipv6CidrBlocks"}]}, 1, 64]}]}`, `"2001:db8:1234:1a00::/64"`},

		// Fn::FindInMap
		{"Fn::FindInMap: by region and kind", `"Mappings": {"RegionMap": {"eu-west-1": {"HVM64": "ami-1", "HVMG2": "ami-2"}}},`,
			`{"Fn::FindInMap": ["RegionMap", {"Ref": "AWS::Region"}, "HVMG2"]}`, `"ami-2"`},
		{"Fn::FindInMap: default when the top-level key is missing", `"Mappings": {"RegionMap": {"us-east-1": {"BucketName": "b"}}},`,
			`{"Fn::FindInMap": ["RegionMap", {"Ref": "AWS::Region"}, "BucketName", {"DefaultValue": "bucket-from-default"}]}`, `"bucket-from-default"`},
		{"Fn::FindInMap: default is a list", `"Mappings": {"M": {"k": {"Groups": ["a"]}}},`, `{"Fn::FindInMap": ["M", "none", "Groups", {"DefaultValue": ["sg-1", "sg-2"]}]}`, `["sg-1","sg-2"]`},
		{"Fn::FindInMap: the name of the map is computed", `"Mappings": {"TestMap": {"k": {"x": "y"}}},`, `{"Fn::FindInMap": [{"Fn::Sub": "${Env}Map"}, "k", "x"]}`, `"y"`},

		// Fn::GetAtt, Fn::GetAZs, Fn::ImportValue
		{"Fn::GetAtt: list and text", ``, `[{"Fn::GetAtt": ["MyELB", "DNSName"]}, {"Fn::GetAtt": "MyELB.DNSName"}]`, `["myelb.example","myelb.example"]`},
		{"Fn::GetAZs: the stack's region, in three ways", ``, `[{"Fn::Select": ["0", {"Fn::GetAZs": ""}]}, {"Fn::Select": ["0", {"Fn::GetAZs": {"Ref": "AWS::Region"}}]}, {"Fn::Select": ["0", {"Fn::GetAZs": "eu-west-1"}]}]`, `["eu-west-1a","eu-west-1a","eu-west-1a"]`},
		{"Fn::ImportValue", ``, `[{"Fn::ImportValue": {"Fn::Sub": "${Stack}-SecurityGroupID"}}]`, `["sg-1"]`},

		// Fn::Join
		{"Fn::Join", ``, `{"Fn::Join": [":", ["a", "b", "c"]]}`, `"a:b:c"`},
		{"Fn::Join: an ARN", ``, `{"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":s3:::elasticbeanstalk-*-", {"Ref": "AWS::AccountId"}]]}`, `"arn:aws:s3:::elasticbeanstalk-*-123456789012"`},
		{"Fn::Join: over a list parameter", ``, `{"Fn::Join": ["-", {"Ref": "AZs"}]}`, `"eu-west-1a-eu-west-1b"`},

		// Fn::Length, Fn::ToJsonString
		{"Fn::Length", ``, `{"Fn::Length": ["1", "2", "3"]}`, `3`},
		{"Fn::Length: of a split", ``, `{"Fn::Length": {"Fn::Split": ["|", "a|b|c"]}}`, `3`},
		{"Fn::Length: of a list parameter", ``, `{"Fn::Length": {"Ref": "AZs"}}`, `2`},
		{"Fn::ToJsonString: object", ``, `{"Fn::ToJsonString": {"key1": "value1", "key2": {"Ref": "Env"}}}`, `"{\"key1\":\"value1\",\"key2\":\"Test\"}"`},
		{"Fn::ToJsonString: list", ``, `{"Fn::ToJsonString": [{"key1": "value1"}, {"key2": "value2"}]}`, `"[{\"key1\":\"value1\"},{\"key2\":\"value2\"}]"`},
		{"Fn::ToJsonString: conditional member", ``, `{"Fn::ToJsonString": {"a": "1", "b": {"Fn::If": ["IsProd", "2", {"Ref": "AWS::NoValue"}]}}}`, `"{\"a\":\"1\"}"`},

		// Fn::Select, Fn::Split
		{"Fn::Select", ``, `{"Fn::Select": ["1", ["apples", "grapes", "oranges", "mangoes"]]}`, `"grapes"`},
		{"Fn::Select: of a list parameter", ``, `{"Fn::Select": ["0", {"Ref": "AZs"}]}`, `"eu-west-1a"`},
		{"Fn::Split", ``, `{"Fn::Split": ["|", "a|b|c"]}`, `["a","b","c"]`},
		{"Fn::Split: nothing at an end is an empty text", ``, `{"Fn::Split": ["|", "a||c|"]}`, `["a","","c",""]`},

		// Fn::Sub
		{"Fn::Sub: with a map", ``, `{"Fn::Sub": ["www.${Domain}", {"Domain": {"Ref": "Env"}}]}`, `"www.Test"`},
		{"Fn::Sub: pseudo parameters and a resource", ``, `{"Fn::Sub": "arn:aws:ec2:${AWS::Region}:${AWS::AccountId}:instance/${MyInstance}"}`, `"arn:aws:ec2:eu-west-1:123456789012:instance/i-1234567890abcdef0"`},
		{"Fn::Sub: literal", ``, `{"Fn::Sub": "${!Literal} ${Env}"}`, `"${Literal} Test"`},
		{"Fn::Sub: attribute", ``, `{"Fn::Sub": "http://${MyELB.DNSName}/"}`, `"http://myelb.example/"`},

		// conditions
		{"Fn::If: in a list", ``, `[{"Fn::If": ["IsProd", "a", "b"]}, "c"]`, `["b","c"]`},
		{"Fn::If: nested", ``, `{"Fn::If": ["IsProd", "prod", {"Fn::If": ["IsTest", "test", "dev"]}]}`, `"test"`},
		{"Fn::If: AWS::NoValue takes a member away", ``, `{"a": {"Fn::If": ["IsProd", 1, {"Ref": "AWS::NoValue"}]}, "b": 2}`, `{"b":2}`},
		{"Fn::And, Fn::Or, Fn::Not, Fn::Equals", ``, `[{"Fn::If": ["Both", 1, 0]}, {"Fn::If": ["Either", 1, 0]}, {"Fn::If": ["Neither", 1, 0]}]`, `[0,1,0]`},

		// pseudo parameters
		{"pseudo parameters", ``, `[{"Ref": "AWS::Region"}, {"Ref": "AWS::URLSuffix"}, {"Ref": "AWS::StackName"}]`, `["eu-west-1","amazonaws.com","S"]`},
	} {
		t.Run(c.page, func(t *testing.T) {
			s := bind(t, fmt.Sprintf(`{"Transform": "AWS::LanguageExtensions", %s
				"Parameters": {"Env": {"Type": "String", "Default": "Test"}, "Stack": {"Type": "String", "Default": "NetworkStack"},
					"AZs": {"Type": "List<AWS::EC2::AvailabilityZone::Name>", "Default": "eu-west-1a, eu-west-1b"}},
				"Conditions": {"IsProd": {"Fn::Equals": [{"Ref": "Env"}, "Prod"]}, "IsTest": {"Fn::Equals": [{"Ref": "Env"}, "Test"]},
					"Both": {"Fn::And": [{"Condition": "IsProd"}, {"Condition": "IsTest"}]},
					"Either": {"Fn::Or": [{"Condition": "IsProd"}, {"Condition": "IsTest"}]},
					"Neither": {"Fn::Not": [{"Condition": "Either"}]}},
				"Resources": {%s, "R": {"Type": "T::T::T", "Properties": {"V": %s}}}}`, c.around, resources, c.expression), w)
			got, err := s.Properties(t.Context(), "R")
			if err != nil {
				t.Fatal(err)
			}
			if text := value.JSON(got.Value("V")); text != c.want {
				t.Errorf("want %s, got %s", c.want, text)
			}
		})
	}
}

// What AWS's documentation says is an error, is one, and says where.
func TestReferenceErrors(t *testing.T) {
	for _, c := range []struct{ page, expression, want string }{
		{"Fn::Join wants two arguments", `{"Fn::Join": [",", ["a"], "b"]}`, "Fn::Join: want a list of 2"},
		{"Fn::Select: the index is out of the list", `{"Fn::Select": ["3", ["a", "b"]]}`, "Fn::Select: there is no element 3"},
		{"Fn::Select: of null", `{"Fn::Select": [0, [null]]}`, "element 0 is null"},
		{"Fn::Split: of a list", `{"Fn::Split": [",", ["a", "b"]]}`, "Fn::Split[1]: this is a list already"},
		{"Fn::If wants three arguments", `{"Fn::If": ["Yes", 1]}`, "Fn::If: want a list of 3"},
		{"Fn::If: no such condition", `{"Fn::If": ["Nope", 1, 2]}`, `Fn::If: there is no condition "Nope"`},
		{"Fn::If: the condition is not a name", `{"Fn::If": [{"Condition": "Yes"}, 1, 2]}`, "Fn::If: want the name of a condition"},
		{"Fn::FindInMap: no such map", `{"Fn::FindInMap": ["Nope", "a", "b"]}`, `Fn::FindInMap: there is no mapping "Nope"`},
		{"Fn::FindInMap: no such key", `{"Fn::FindInMap": ["M", "nope", "one"]}`, `Fn::FindInMap: mapping M has no key "nope"`},
		{"Fn::FindInMap: a list as a key", `{"Fn::FindInMap": ["M", ["eu-west-1"], "one"]}`, "Fn::FindInMap[1]: a list cannot be part of a text"},
		{"Fn::Base64: of an object", `{"Fn::Base64": {"a": 1}}`, "Fn::Base64: want a text, got an object"},
		{"Fn::Sub: of a number", `{"Fn::Sub": 1}`, "Fn::Sub: want a list, got a number"},
		{"Fn::Sub: without variables", `{"Fn::Sub": ["${P}"]}`, "Fn::Sub: want a list of 2"},
		{"Fn::Sub: variables are no object", `{"Fn::Sub": ["${P}", ["b"]]}`, "Fn::Sub[1]: want an object of variables, got a list"},
		{"Fn::Sub: a variable is a list", `{"Fn::Sub": ["${a}", {"a": ["b"]}]}`, "${a}: a list cannot be part of a text"},
		{"Ref of an object", `{"Ref": {"a": 1}}`, "Ref: want a name, got an object"},
		{"Ref of nothing", `{"Ref": "Nope"}`, `there is no resource, parameter or pseudo parameter "Nope"`},
		{"Ref of an unknown pseudo parameter", `{"Ref": "AWS::Nope"}`, "AWS::Nope"},
		{"Fn::GetAtt without a resource", `{"Fn::GetAtt": ["Nope", "Arn"]}`, `there is no resource "Nope"`},
		{"Fn::GetAtt of an object", `{"Fn::GetAtt": {"a": 1}}`, "Fn::GetAtt: want a list, got an object"},
		{"Fn::GetAtt with one argument", `{"Fn::GetAtt": ["DB"]}`, "Fn::GetAtt: want a list of 2"},
		{"Fn::Cidr: a text for the count", `{"Fn::Cidr": ["10.0.0.0/16", "many", 8]}`, "Fn::Cidr[1]: want a whole number, got a string"},
		{"Fn::Length of a text", `{"Fn::Length": "abc"}`, "Fn::Length: want a list, got a string"},
		{"Fn::ToJsonString of a text", `{"Fn::ToJsonString": "abc"}`, "Fn::ToJsonString: want a list or an object"},
		{"Fn::ImportValue of an empty name", `{"Fn::ImportValue": ""}`, "Fn::ImportValue: want a name, got an empty text"},
		{"Fn::Not with two", `{"Fn::Not": [{"Fn::Equals": [1, 1]}, {"Fn::Equals": [1, 1]}]}`, "Fn::Not: want a list of 1"},
		{"Fn::Transform", `{"Fn::Transform": {"Name": "AWS::Include"}}`, "only CloudFormation can expand"},
		{"no such function", `{"Fn::Nope": []}`, "Fn::Nope: no such function"},
		{"in an object in a list", `[{"a": {"Fn::Base64": [1]}}]`, "Resources.R.Properties.V[0].a.Fn::Base64: want a text, got a list"},
		{"AWS::NoValue in a text", `{"Fn::Sub": "${AWS::NoValue}"}`, "AWS::NoValue cannot be part of a text"},
	} {
		t.Run(c.page, func(t *testing.T) {
			tmpl, err := template.Parse("t.json", []byte(with(c.expression, true)))
			var s *template.Scope
			if err == nil {
				s, err = tmpl.Bind(t.Context(), env, nil, &world{})
			}
			if err == nil {
				_, err = s.Properties(t.Context(), "R")
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
}
