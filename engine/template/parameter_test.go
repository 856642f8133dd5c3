package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

func TestParameters(t *testing.T) {
	for _, c := range []struct {
		name, declaration string
		given             map[string]string
		want              string // JSON of {"Ref": "P"}, or "error: …"
	}{
		{"supplied before Default (T-210)", `{"Type": "String", "Default": "d"}`, map[string]string{"P": "s"}, `"s"`},
		{"Default", `{"Type": "String", "Default": "d"}`, nil, `"d"`},
		{"neither (T-210)", `{"Type": "String"}`, nil, "error: Parameters.P: a value is required"},
		{"unknown (T-211)", `{"Type": "String", "Default": ""}`, map[string]string{"Q": "s"}, "error: Parameters.Q: a value is given, but the template has no such parameter"},
		{"number (T-212)", `{"Type": "Number", "Default": "1"}`, map[string]string{"P": "2.50"}, `2.50`},
		{"Default that is a number", `{"Type": "Number", "Default": 5}`, nil, `5`},
		{"string whose Default is a number", `{"Type": "String", "Default": 5}`, nil, `"5"`},
		{"not a number (T-213)", `{"Type": "Number", "Default": "x"}`, nil, `error: "x" is not a number`},
		{"hexadecimal is no number", `{"Type": "Number", "Default": "0x10"}`, nil, `is not a number`},
		{"a fraction is no number", `{"Type": "Number", "Default": "1/3"}`, nil, `is not a number`},
		{"a number too large for a float is that number", `{"Type": "Number", "Default": "1e400"}`, nil, `1e400`},
		{"every digit is kept, after leading zeros too", `{"Type": "Number", "Default": "0012345678901234567890.10"}`, nil, `12345678901234567890.10`},
		{"forms that JSON does not have", `{"Type": "List<Number>", "Default": "+5, .5, 5., -00.5E+2, 3e1, 1.0"}`, nil, `[5,0.5,5,-0.5E+2,3e1,1.0]`},
		{"a text of digits is no number", `{"Type": "String", "Default": "1.0"}`, nil, `"1.0"`},
		{"a boolean Default is text", `{"Type": "String", "Default": true}`, nil, `"true"`},
		{"comma list is trimmed (T-212)", `{"Type": "CommaDelimitedList", "Default": "a, b"}`, nil, `["a","b"]`},
		{"every List type is split (T-213)", `{"Type": "List<AWS::EC2::Subnet::Id>", "Default": "s-1,s-2"}`, nil, `["s-1","s-2"]`},
		{"list of numbers (T-212)", `{"Type": "List<Number>", "Default": "1, 2"}`, nil, `[1,2]`},
		{"Default that is a list is kept (T-213)", `{"Type": "CommaDelimitedList", "Default": ["a,b", "c"]}`, nil, `["a,b","c"]`},
		{"AllowedValues (T-216, T-217)", `{"Type": "String", "Default": "c", "AllowedValues": ["a", "b"]}`, nil, `error: the value "c" is not one of a, b`},
		{"AllowedValues of numbers", `{"Type": "Number", "Default": "2", "AllowedValues": [1, 2]}`, nil, `2`},
		{"AllowedPattern is anchored (T-217)", `{"Type": "String", "Default": "ab1", "AllowedPattern": "[a-z]+"}`, nil, `error: does not match the pattern [a-z]+`},
		{"AllowedPattern with a lookahead", `{"Type": "String", "Default": "abc1", "AllowedPattern": "^(?=.*[0-9])[a-z0-9]+$"}`, nil, `"abc1"`},
		{"ConstraintDescription (T-217)", `{"Type": "String", "Default": "1", "AllowedPattern": "[a-z]+", "ConstraintDescription": "letters only"}`, nil, `error: letters only`},
		{"MinLength (T-217)", `{"Type": "String", "Default": "é", "MinLength": "2"}`, nil, `error: is shorter than 2 characters`},
		{"MaxValue (T-217)", `{"Type": "Number", "Default": "10", "MaxValue": 9}`, nil, `error: is more than 9`},
		{"constraints on each element", `{"Type": "CommaDelimitedList", "Default": "a,bb", "MaxLength": 1}`, nil, `error: the value "bb" is longer than 1 characters`},
		{"NoEcho values are never printed (T-217)", `{"Type": "String", "NoEcho": true, "Default": "hunter2", "AllowedPattern": "[a-z]+"}`, nil, `error: the value does not match`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl := parse(t, `{"Parameters": {"P": `+c.declaration+`}, "Resources": {"R": {"Type": "T::T::T", "Properties": {"V": {"Ref": "P"}}}}}`)
			s, err := tmpl.Bind(t.Context(), env, c.given, &world{})
			want, refused := strings.CutPrefix(c.want, "error: ")
			if refused || strings.HasPrefix(c.want, "is not") {
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("want an error with %q, got %v", want, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			props, err := s.Properties(t.Context(), "R")
			if err != nil {
				t.Fatal(err)
			}
			if got := value.JSON(props.Value("V")); got != c.want {
				t.Errorf("want %s, got %s", c.want, got)
			}
		})
	}
}

func TestSSMParametersAreReadOnlyWhenUsed(t *testing.T) { // T-214, T-215
	body := `{"Parameters": {
			"BootstrapVersion": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/cdk-bootstrap/hnb659fds/version"},
			"Image": {"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>", "Default": "/ami"},
			"Zones": {"Type": "AWS::SSM::Parameter::Value<List<String>>", "Default": "/zones"},
			"Name": {"Type": "AWS::SSM::Parameter::Name", "Default": "/name"}
		},
		"Rules": {"Check": {"Assertions": [{"Assert": {"Fn::Not": [{"Fn::Contains": [["1"], {"Ref": "BootstrapVersion"}]}]}}]}},
		"Resources": {"R": {"Type": "T::T::T", "Metadata": {"M": {"Ref": "BootstrapVersion"}},
			"Properties": {"Image": {"Ref": "Image"}, "Zones": {"Ref": "Zones"}, "Name": {"Ref": "Name"}}}}}`
	w := &world{parameters: map[string]string{"/ami": "ami-1", "/other": "ami-2", "/zones": "a, b"}}
	props, err := bind(t, body, w).Properties(t.Context(), "R")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := value.JSON(props), `{"Image":"ami-1","Zones":["a","b"],"Name":"/name"}`; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	if diff := cmp.Diff([]string{"ssm /ami,/zones"}, w.asked); diff != "" {
		t.Error(diff)
	}
	s, err := parse(t, body).Bind(t.Context(), env, map[string]string{"Image": "/other"}, w)
	if err != nil {
		t.Fatal(err)
	}
	if props, _ := s.Properties(t.Context(), "R"); props.String("Image") != "ami-2" {
		t.Errorf("a supplied value is a path (T-215), got %s", value.JSON(props))
	}
	_, err = parse(t, body).Bind(t.Context(), env, map[string]string{"Image": "/gone"}, w)
	if err == nil || !strings.Contains(err.Error(), "Parameters.Image: there is no SSM parameter /gone in eu-west-1") {
		t.Errorf("got %v", err)
	}
}

func TestBindOptions(t *testing.T) {
	tmpl := parse(t, `{"Parameters": {"Later": {"Type": "String"}, "Quiet": {"Type": "String"}},
		"Resources": {"R": {"Type": "T::T::T", "Properties": {"A": {"Ref": "Later"}, "B": {"Ref": "Quiet"}}}}}`)
	s, err := tmpl.Bind(t.Context(), env, map[string]string{"Quiet": "psst"}, &world{}, template.Unknown("Later"), template.Hidden("Quiet"))
	if err != nil {
		t.Fatal(err)
	}
	props, unresolved, err := s.Preview(t.Context(), "R")
	if err != nil || value.JSON(props) != `{"A":{"Ref":"Later"},"B":"***"}` || len(unresolved) != 1 {
		t.Errorf("got %s, %v, %v", value.JSON(props), unresolved, err)
	}
	if _, err := s.Properties(t.Context(), "R"); !errors.Is(err, template.ErrUnknown) {
		t.Errorf("want ErrUnknown, got %v", err)
	}
	if s.Secrets().Mask("say psst") != "say ***" {
		t.Error("the value is not masked")
	}
}
