package template_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// with is a template around an expression, which becomes property V.
func with(expression string, extended bool) string {
	transform := ""
	if extended {
		transform = `"Transform": "AWS::LanguageExtensions",`
	}
	return fmt.Sprintf(`{%s
		"Parameters": {
			"P": {"Type": "String", "Default": "pv"},
			"L": {"Type": "CommaDelimitedList", "Default": "a,b"},
			"N": {"Type": "Number", "Default": "080"},
			"LN": {"Type": "List<Number>", "Default": "1, 2.5"}
		},
		"Conditions": {
			"Yes": {"Fn::Equals": ["1", 1]},
			"No": {"Fn::Not": [{"Condition": "Yes"}]}
		},
		"Mappings": {"M": {"eu-west-1": {"one": "1", "list": ["x", "y"], "fn": "${P}", "ssm": "{{resolve:ssm:/a}}"}}},
		"Resources": {
			"DB": {"Type": "T::T::DB"},
			"Off": {"Type": "T::T::T", "Condition": "No"},
			"R": {"Type": "T::T::T", "Properties": {"V": %s}}
		}}`, transform, expression)
}

func TestFunctions(t *testing.T) {
	w := &world{
		dynamic:    map[string]string{"ssm:/a": "plain"},
		refs:       map[string]any{"DB": "db-1"},
		attributes: map[string]any{"DB.Endpoint.Address": "host", "DB.Port": json(t, "5432"), "DB.List": json(t, `["p","q"]`), "DB.Deep.A.B": "deep"},
		exports:    map[string]any{"exp": "ev", "S-exp": "own"},
		outputs:    map[string]any{"Other.Out": "ov"},
	}
	const gone = "" // the property is not there
	for _, c := range []struct {
		name, in string
		want     string // JSON, gone, or "error: …" with a part of the text
		extended bool
	}{
		// Sub
		{name: "Sub literal, empty and parameter (C.3, T-264)", in: `{"Fn::Sub": "a${!Lit}-${}-${P}"}`, want: `"a${Lit}-${}-pv"`},
		{name: "Sub without the closing brace is text, as the CDK and CloudFormation read it (T-264)", in: `{"Fn::Sub": "${P} ${P"}`, want: `"pv ${P"`},
		{name: "Sub two-dot attribute (C.3, T-266)", in: `{"Fn::Sub": "${DB.Endpoint.Address}"}`, want: `"host"`},
		{name: "Sub resource", in: `{"Fn::Sub": "${DB}:${DB.Port}"}`, want: `"db-1:5432"`},
		{name: "Sub with spaces around a name (C.3, T-265, T-266)", in: `{"Fn::Sub": ["${ P }", {}]}`, want: `error: there is no resource, parameter or pseudo parameter " P "`},
		{name: "Sub unknown (C.3, T-266)", in: `{"Fn::Sub": "${Nope}"}`, want: `error: there is no resource, parameter or pseudo parameter "Nope"`},
		{name: "Sub variables win, unused ones are evaluated (T-264)", in: `{"Fn::Sub": ["${P}", {"P": "v", "X": {"Ref": "DB"}}]}`, want: `"v"`},
		{name: "Sub does not look again (T-264)", in: `{"Fn::Sub": ["${V}", {"V": "${P}"}]}`, want: `"${P}"`},
		{name: "Sub with a list (C.3, T-266)", in: `{"Fn::Sub": "${L}"}`, want: `error: ${L}: a list cannot be part of a text`},
		{name: "Sub with an object (C.3, T-266)", in: `{"Fn::Sub": ["${V}", {"V": {"a": 1}}]}`, want: `error: an object cannot be part of a text`},
		{name: "Sub with NoValue (C.3, T-240)", in: `{"Fn::Sub": ["${V}", {"V": {"Ref": "AWS::NoValue"}}]}`, want: `error: AWS::NoValue cannot be part of a text`},
		{name: "Sub keeps a number as written (T-213)", in: `{"Fn::Sub": "${N}"}`, want: `"080"`},
		{name: "Sub pseudo parameters (T-246)", in: `{"Fn::Sub": "${AWS::Partition} ${AWS::Region} ${AWS::AccountId} ${AWS::URLSuffix} ${AWS::StackName} ${AWS::StackId}"}`, want: `"aws eu-west-1 123456789012 amazonaws.com S arn:stack"`},

		// Join
		{name: "Join over a Default that is split (C.3, T-213)", in: `{"Fn::Join": ["-", {"Ref": "L"}]}`, want: `"a-b"`},
		{name: "Join drops NoValue (C.3, T-240)", in: `{"Fn::Join": ["-", ["a", {"Ref": "AWS::NoValue"}, "b"]]}`, want: `"a-b"`},
		{name: "Join scalars", in: `{"Fn::Join": ["", [1, true, {"Ref": "N"}]]}`, want: `"1true080"`},
		{name: "Join an intrinsic delimiter", in: `{"Fn::Join": [{"Ref": "P"}, ["a", "b"]]}`, want: `"apvb"`},
		{name: "Join over an attribute that is a list", in: `{"Fn::Join": [",", {"Fn::GetAtt": ["DB", "List"]}]}`, want: `"p,q"`},
		{name: "Join over a text (T-263)", in: `{"Fn::Join": [",", "ab"]}`, want: `error: Resources.R.Properties.V.Fn::Join[1]: want a list, got a string`},
		{name: "Join a list in a list", in: `{"Fn::Join": [",", ["a", ["b"]]]}`, want: `error: Resources.R.Properties.V.Fn::Join[1][1]: a list cannot be part of a text`},
		{name: "Join of nothing", in: `{"Fn::Join": [",", []]}`, want: `""`},

		// Select and Split
		{name: "Select by text (C.3, T-268)", in: `{"Fn::Select": ["1", ["a", "b"]]}`, want: `"b"`},
		{name: "Select by Ref (C.3, T-268)", in: `{"Fn::Select": [{"Fn::FindInMap": ["M", "eu-west-1", "one"]}, ["a", "b"]]}`, want: `"b"`},
		{name: "Select out of range (C.3, T-267, T-268)", in: `{"Fn::Select": [5, ["a", "b"]]}`, want: `error: there is no element 5 in a list of 2`},
		{name: "Select negative (T-268)", in: `{"Fn::Select": [-1, ["a", "b"]]}`, want: `error: there is no element -1`},
		{name: "Select half (T-268)", in: `{"Fn::Select": [0.5, ["a", "b"]]}`, want: `error: want a whole number`},
		{name: "Select null (T-268)", in: `{"Fn::Select": [0, [null]]}`, want: `error: element 0 is null`},
		{name: "Select NoValue (T-240)", in: `{"Fn::Select": [0, [{"Ref": "AWS::NoValue"}, "b"]]}`, want: `error: element 0 is AWS::NoValue`},
		{name: "Select evaluates only its element", in: `{"Fn::Select": [0, ["a", {"Fn::GetAtt": ["DB", "Later"]}]]}`, want: `"a"`},
		{name: "Split (C.3)", in: `{"Fn::Split": [",", "a,b,"]}`, want: `["a","b",""]`},
		{name: "Split a list (T-269)", in: `{"Fn::Split": [",", {"Ref": "L"}]}`, want: `error: this is a list already`},
		{name: "Split without delimiter (T-269)", in: `{"Fn::Split": ["", "ab"]}`, want: `error: the delimiter is empty`},
		{name: "Split an object (T-269)", in: `{"Fn::Split": [",", {"a": 1}]}`, want: `error: want a text, got an object`},

		// Cidr
		{name: "Cidr (C.3, T-275)", in: `{"Fn::Cidr": ["10.0.0.0/16", 3, 8]}`, want: `["10.0.0.0/24","10.0.1.0/24","10.0.2.0/24"]`},
		{name: "Cidr from inside the block, bits as text (C.3, T-276)", in: `{"Fn::Cidr": ["10.0.5.9/16", 2, "8"]}`, want: `["10.0.0.0/24","10.0.1.0/24"]`},
		{name: "Cidr IPv6 in short form (C.3, T-276)", in: `{"Fn::Cidr": ["2001:db8::/56", 2, 64]}`, want: `["2001:db8::/64","2001:db8:0:1::/64"]`},
		{name: "Cidr without bits (C.3)", in: `{"Fn::Cidr": ["10.0.0.0/16", 2]}`, want: `error: want a list of 3, got one of 2`},
		{name: "Cidr count (T-276)", in: `{"Fn::Cidr": ["10.0.0.0/8", 257, 8]}`, want: `error: want 1 to 256 blocks`},
		{name: "Cidr bits (T-276)", in: `{"Fn::Cidr": ["10.0.0.0/24", 1, 9]}`, want: `error: leaves 1 to 8 bits`},
		{name: "Cidr does not fit (T-276)", in: `{"Fn::Cidr": ["10.0.0.0/24", 5, 6]}`, want: `error: holds 4 blocks of 6 bits, not 5`},
		{name: "Cidr of nonsense", in: `{"Fn::Cidr": ["x", 1, 1]}`, want: `error: "x" is not a block of addresses`},

		// If and conditions
		{name: "If", in: `{"Fn::If": ["Yes", 1, 2]}`, want: `1`},
		{name: "If evaluates one branch (T-270)", in: `{"Fn::If": ["No", {"Fn::GetAtt": ["Off", "Arn"]}, "b"]}`, want: `"b"`},
		{name: "If to NoValue drops the property (T-239)", in: `{"Fn::If": ["No", 1, {"Ref": "AWS::NoValue"}]}`, want: gone},
		{name: "Condition outside Conditions is an object (C.3, T-226)", in: `{"Condition": "U"}`, want: `{"Condition":"U"}`},
		{name: "Equals compares texts (C.3, T-231)", in: `{"Fn::Equals": ["true", true]}`, want: `true`},
		{name: "Equals lists", in: `{"Fn::Equals": [["1", 2], [1, "2"]]}`, want: `true`},
		{name: "And with one entry (T-226)", in: `{"Fn::And": [{"Fn::Equals": [1, 1]}]}`, want: `error: want a list of 2 to 10, got one of 1`},
		{name: "Equals with NoValue (T-240)", in: `{"Fn::Equals": [{"Ref": "AWS::NoValue"}, 1]}`, want: `error: AWS::NoValue cannot be compared`},

		// objects, lists and unknown functions
		{name: "object with Ref and another key (C.3, T-236)", in: `{"Ref": "P", "x": {"Ref": "P"}}`, want: `{"Ref":"P","x":"pv"}`},
		{name: "NoValue in lists and objects (T-235, T-239)", in: `{"a": [1, {"Ref": "AWS::NoValue"}], "b": {"Ref": "AWS::NoValue"}}`, want: `{"a":[1]}`},
		{name: "unknown function (T-237)", in: `{"Fn::Nope": 1}`, want: `error: Resources.R.Properties.V.Fn::Nope: no such function`},
		{name: "NotificationARNs is a list (T-247)", in: `{"Ref": "AWS::NotificationARNs"}`, want: `[]`},

		// GetAtt and Ref
		{name: "GetAtt as text (C.3, T-256)", in: `{"Fn::GetAtt": "DB.Endpoint.Address"}`, want: `"host"`},
		{name: "GetAtt with a dotted name (C.3, T-255)", in: `{"Fn::GetAtt": ["DB", "Deep.A.B"]}`, want: `"deep"`},
		{name: "GetAtt with an intrinsic name (T-255)", in: `{"Fn::GetAtt": ["DB", {"Fn::Sub": ["${x}ort", {"x": "P"}]}]}`, want: `5432`},
		{name: "GetAtt without an attribute", in: `{"Fn::GetAtt": "DB"}`, want: `error: want resource.attribute`},
		{name: "GetAtt not there yet", in: `{"Fn::GetAtt": ["DB", "Later"]}`, want: `error: DB.Later: known only after deployment`},
		{name: "Ref of a resource, a parameter, a pseudo parameter (T-245)", in: `[{"Ref": "DB"}, {"Ref": "P"}, {"Ref": "AWS::Region"}]`, want: `["db-1","pv","eu-west-1"]`},
		{name: "Ref to nothing (T-245)", in: `{"Ref": "Nope"}`, want: `error: there is no resource, parameter or pseudo parameter "Nope"`},
		{name: "Ref to no pseudo parameter (T-246)", in: `{"Ref": "AWS::Nope"}`, want: `error: there is no resource, parameter or pseudo parameter "AWS::Nope"`},
		{name: "Ref of a number (T-212)", in: `{"Ref": "N"}`, want: `80`},
		{name: "a number stays as it is written", in: `[1e400, 3e1, 1.0, 12345678901234567890]`, want: `[1e400,3e1,1.0,12345678901234567890]`},
		{name: "a number in a text stays as it is written", in: `{"Fn::Join": [" ", [1e400, 3e1, 1.0]]}`, want: `"1e400 3e1 1.0"`},
		{name: "Select by a number that is no index (T-268)", in: `{"Fn::Select": [1.0, ["a", "b"]]}`, want: `error: want a whole number`},
		{name: "Ref of numbers", in: `{"Ref": "LN"}`, want: `[1,2.5]`},

		// FindInMap
		{name: "FindInMap list (T-271)", in: `{"Fn::FindInMap": ["M", {"Ref": "AWS::Region"}, "list"]}`, want: `["x","y"]`},
		{name: "FindInMap is not evaluated (T-271)", in: `{"Fn::FindInMap": ["M", "eu-west-1", "fn"]}`, want: `"${P}"`},
		{name: "FindInMap does resolve references to parameters and secrets", in: `{"Fn::FindInMap": ["M", "eu-west-1", "ssm"]}`, want: `"plain"`},
		{name: "FindInMap missing (T-271)", in: `{"Fn::FindInMap": ["M", "eu-west-1", "two"]}`, want: `error: mapping M has no key "two" in "eu-west-1"`},
		{name: "FindInMap default (T-262)", in: `{"Fn::FindInMap": ["M", "x", "two", {"DefaultValue": {"Ref": "P"}}]}`, want: `"pv"`, extended: true},
		{name: "FindInMap default without the transform (T-262)", in: `{"Fn::FindInMap": ["M", "x", "two", {"DefaultValue": 1}]}`, want: `error: needs "Transform"`},

		// Base64, GetAZs
		{name: "Base64 (T-272)", in: `{"Fn::Base64": "é"}`, want: `"w6k="`},
		{name: "Base64 of a list (T-272)", in: `{"Fn::Base64": ["a"]}`, want: `error: want a text, got a list`},
		{name: "GetAZs of the stack's region (T-273)", in: `{"Fn::GetAZs": ""}`, want: `["eu-west-1a","eu-west-1b"]`},
		{name: "GetAZs of a region (T-273)", in: `{"Fn::GetAZs": "US-East-1"}`, want: `["us-east-1a","us-east-1b"]`},
		{name: "GetAZs of a host (T-273)", in: `{"Fn::GetAZs": "evil.example/x"}`, want: `error: is not the name of a region`},

		// other stacks
		{name: "ImportValue by an intrinsic (T-277)", in: `{"Fn::ImportValue": {"Fn::Sub": "${AWS::StackName}-exp"}}`, want: `"own"`},
		{name: "ImportValue of nothing (T-277)", in: `{"Fn::ImportValue": "gone"}`, want: `error: export gone: no stack exports it`},
		{name: "GetStackOutput (T-279)", in: `{"Fn::GetStackOutput": {"StackName": "Other", "OutputName": "Out"}}`, want: `"ov"`},
		{name: "GetStackOutput of itself (T-279)", in: `{"Fn::GetStackOutput": {"StackName": "S", "OutputName": "Out"}}`, want: `error: cannot read its own outputs`},
		{name: "GetStackOutput with an intrinsic role (T-279)", in: `{"Fn::GetStackOutput": {"StackName": "O", "OutputName": "Out", "RoleArn": {"Ref": "P"}}}`, want: `error: RoleArn must be the ARN of a role, written out`},
		{name: "GetStackOutput region (T-279)", in: `{"Fn::GetStackOutput": {"StackName": "O", "OutputName": "Out", "Region": "a/b"}}`, want: `error: is not the name of a region`},

		// language extensions
		{name: "Length (T-260)", in: `{"Fn::Length": {"Ref": "L"}}`, want: `2`, extended: true},
		{name: "ToJsonString keeps order (T-260)", in: `{"Fn::ToJsonString": {"z": {"Ref": "P"}, "a": [1, {"Ref": "AWS::NoValue"}], "m": {"Ref": "AWS::NoValue"}}}`, want: `"{\"z\":\"pv\",\"a\":[1]}"`, extended: true},
		{name: "Length without the transform (C.3, T-262)", in: `{"Fn::Length": ["a"]}`, want: `error: needs "Transform": "AWS::LanguageExtensions"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl := parse(t, with(c.in, c.extended))
			before := value.JSON(tmpl.Body)
			s, err := tmpl.Bind(t.Context(), env, nil, w)
			var got *value.Object
			if err == nil {
				got, err = s.Properties(t.Context(), "R")
			}
			if text, ok := strings.CutPrefix(c.want, "error: "); ok {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Fatalf("want an error with %q, got %v, %v", text, value.JSON(got), err)
				}
				if !strings.Contains(err.Error(), "Resources.R.Properties.V") {
					t.Errorf("the error does not say where: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			v, there := got.Get("V")
			if there != (c.want != gone) {
				t.Fatalf("want the property: %v, got %s", c.want != gone, value.JSON(got))
			}
			if there && value.JSON(v) != c.want {
				t.Errorf("want %s, got %s", c.want, value.JSON(v))
			}
			again, err := s.Properties(t.Context(), "R")
			if err != nil || !value.Equal(got, again) {
				t.Errorf("a second evaluation differs: %s, %v", value.JSON(again), err)
			}
			if value.JSON(tmpl.Body) != before {
				t.Error("evaluation changed the template")
			}
		})
	}
}

func TestConditions(t *testing.T) {
	for _, c := range []struct{ name, conditions, want string }{
		{"circle (C.3, T-228)", `{"A": {"Fn::Not": [{"Condition": "B"}]}, "B": {"Fn::Not": [{"Condition": "A"}]}}`, "conditions refer to each other in a circle: A -> B -> A"},
		{"And with one entry (C.3, T-228)", `{"A": {"Fn::And": [{"Fn::Equals": [1, 1]}]}}`, "want a list of 2 to 10, got one of 1"},
		{"Ref to nothing (C.3, T-228)", `{"A": {"Fn::Equals": [{"Ref": "Nope"}, 1]}}`, `there is no resource, parameter or pseudo parameter "Nope"`},
		{"Ref to a resource", `{"A": {"Fn::Equals": [{"Ref": "R"}, 1]}}`, "R is a resource, which cannot be referred to here"},
		{"unknown condition", `{"A": {"Condition": "Nope"}}`, `there is no condition "Nope"`},
		{"Not with two entries (T-226)", `{"A": {"Fn::Not": [{"Condition": "A"}, {"Condition": "A"}]}}`, "want a list of 1, got one of 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl := parse(t, `{"Conditions": `+c.conditions+`, "Resources": {"R": {"Type": "T::T::T", "Condition": "A"}}}`)
			_, err := tmpl.Bind(t.Context(), env, nil, &world{})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Conditions.") {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
			var warned []error
			s, err := tmpl.Bind(t.Context(), env, nil, &world{}, template.Tolerant(func(err error) { warned = append(warned, err) }))
			if err != nil {
				t.Fatal(err)
			}
			if len(warned) == 0 || len(s.Resources()) != 0 {
				t.Errorf("in a diff it is false, with a warning (T-227): %v, %v", warned, s.Resources())
			}
		})
	}
}

func TestErrUnknownIsFound(t *testing.T) {
	s := bind(t, with(`{"Fn::Sub": "${DB}"}`, false), &world{})
	_, err := s.Properties(t.Context(), "R")
	if !errors.Is(err, template.ErrUnknown) {
		t.Errorf("want ErrUnknown, got %v", err)
	}
	var at *template.Error
	if !errors.As(err, &at) || at.Path != "Resources.R.Properties.V.Fn::Sub" {
		t.Errorf("want the path, got %+v", at)
	}
}
