package template_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is wrong wherever a template is deployed is found before anybody is asked
// (T-62, T-228, T-266, T-316).
func TestOfflineRefuses(t *testing.T) {
	for _, c := range []struct{ name, template, want string }{
		{"a name that leads nowhere", `"Resources": {"R": {"Type": "T::T::T", "Properties": {"V": [{"Ref": "Nope"}]}}}`,
			`Resources.R.Properties.V[0]: there is no resource, parameter or pseudo parameter "Nope"`},
		{"in a branch that may be taken", `"Resources": {"R": {"Type": "T::T::T", "Properties": {"V": {"Fn::If": ["May", {"Fn::GetAtt": "Nope.Arn"}, 1]}}}}`,
			`Resources.R.Properties.V.Fn::If[1]: there is no resource "Nope"`},
		{"itself", `"Resources": {"R": {"Type": "T::T::T", "Properties": {"V": {"Fn::Sub": "${R}"}}}}`, "the resource refers to itself"},
		{"a wrong type", `"Resources": {"R": {"Type": "T::T::T", "Properties": {"V": {"Fn::Join": ["", ["a", {"Fn::Select": ["one", ["x"]]}]]}}}}`,
			"Resources.R.Properties.V.Fn::Join[1][1].Fn::Select[0]: want a whole number, got a string"},
		{"in an output", `"Resources": {"R": {"Type": "T::T::T"}}, "Outputs": {"O": {"Value": {"Fn::FindInMap": ["Nope", "a", "b"]}}}`,
			`Outputs.O.Value.Fn::FindInMap: there is no mapping "Nope"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := `{"Parameters": {"P": {"Type": "String"}}, "Conditions": {"May": {"Fn::Equals": [{"Ref": "P"}, "x"]}}, ` + c.template + `}`
			_, err := parse(t, body).Offline(t.Context(), "S", "", "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
}

func TestOfflineRefusesConditionsInACircle(t *testing.T) { // T-225, T-228
	_, err := parse(t, `{"Parameters": {"P": {"Type": "String"}}, "Resources": {"R": {"Type": "T::T::T", "Condition": "A"}},
		"Conditions": {"A": {"Fn::Not": [{"Condition": "B"}]}, "B": {"Fn::Or": [{"Fn::Equals": [{"Ref": "P"}, 1]}, {"Condition": "A"}]}}}`).Offline(t.Context(), "S", "", "")
	if err == nil || !strings.Contains(err.Error(), "circle: A -> B -> A") {
		t.Errorf("got %v", err)
	}
}

// What depends on where or with what a template is deployed is left to the deploy.
func TestOfflineLeavesOpenWhatItCannotKnow(t *testing.T) {
	s, err := parse(t, `{"Transform": "AWS::LanguageExtensions",
		"Parameters": {"P": {"Type": "String"}, "L": {"Type": "CommaDelimitedList"}},
		"Mappings": {"M": {"eu-west-1": {"a": "b"}}},
		"Conditions": {
			"May": {"Fn::Equals": [{"Ref": "P"}, "x"]},
			"There": {"Fn::Equals": [{"Ref": "AWS::Region"}, "eu-west-1"]},
			"Never": {"Fn::Equals": ["a", "b"]}
		},
		"Resources": {
			"Maybe": {"Type": "T::T::T", "Condition": "May", "DeletionPolicy": {"Ref": "P"}},
			"Away": {"Type": "T::T::T", "Condition": "Never"},
			"R": {"Type": "T::T::T", "DependsOn": "Maybe", "UpdateReplacePolicy": {"Fn::If": ["There", "Retain", "Delete"]}, "Properties": {
				"Choice": {"Fn::Select": [{"Ref": "P"}, ["a"]]},
				"Of": {"Fn::Select": [4, {"Ref": "L"}]},
				"Map": {"Fn::FindInMap": ["M", {"Ref": "AWS::Region"}, "none"]},
				"Zones": {"Fn::Select": [9, {"Fn::GetAZs": ""}]},
				"Account": {"Fn::Base64": {"Ref": "AWS::AccountId"}},
				"Id": {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]},
				"Suffix": {"Fn::Sub": "${AWS::URLSuffix} ${AWS::Partition}"},
				"Elsewhere": {"Fn::GetStackOutput": {"StackName": "O", "OutputName": "X"}},
				"Secret": "{{resolve:ssm:/later}} {{resolve:secretsmanager:x}}",
				"Branch": {"Fn::If": ["May", {"Ref": "Maybe"}, {"Ref": "Away"}]},
				"Import": {"Fn::ImportValue": "gone"}
			}}
		},
		"Outputs": {"O": {"Value": {"Ref": "Maybe"}, "Condition": "May"}, "X": {"Value": {"Ref": "R"}, "Export": {"Name": {"Ref": "P"}}}}}`).Offline(t.Context(), "S", "", "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"R"}, ids(s)); diff != "" {
		t.Errorf("what is made in any case: %s", diff)
	}
	// With the region known, more can be told.
	_, err = parse(t, `{"Mappings": {"M": {"eu-west-1": {"a": "b"}}}, "Resources": {"R": {"Type": "T::T::T", "Properties": {"V": {"Fn::FindInMap": ["M", {"Ref": "AWS::Region"}, "none"]}}}}}`).
		Offline(t.Context(), "S", "eu-west-1", "")
	if err == nil || !strings.Contains(err.Error(), `mapping M has no key "none" in "eu-west-1"`) {
		t.Errorf("got %v", err)
	}
	for name, body := range map[string]string{
		"a macro":                   `{"Transform": "AWS::Serverless-2016-10-31", "Resources": {"R": {"Type": "AWS::Serverless::Function", "Properties": {"V": {"Ref": "RRole"}}}}}`,
		"a loop over what is given": `{"Transform": "AWS::LanguageExtensions", "Parameters": {"L": {"Type": "CommaDelimitedList"}}, "Resources": {"Fn::ForEach::X": ["I", {"Ref": "L"}, {"R${I}": {"Type": "T"}}]}}`,
	} {
		if s, err := parse(t, body).Offline(t.Context(), "S", "", ""); s != nil || err != nil {
			t.Errorf("%s: nothing can be told, got %v, %v", name, s, err)
		}
	}
}
