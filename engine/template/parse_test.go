package template_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/template"
)

func TestParseReportsAllFaultsTogether(t *testing.T) { // T-62
	_, err := template.Parse("S.template.json", []byte(`{
		"Parameters": {"P": {}, "R": {"Type": "String"}, "S": {"Type": "Strng"}, "L": {"Type": "List<CommaDelimitedList>"}},
		"Mappings": {"M": {"k": 1}},
		"Conditions": {"C": {"Fn::Equals": [1, 1]}},
		"Resources": {
			"R": {"Type": "T::T::T", "DependsOn": ["Nope", "R"], "Condition": "NoC"},
			"Untyped": {},
			"Text": "x",
			"a/b": {"Type": "T::T::T"},
			"Props": {"Type": "T::T::T", "Properties": [], "DeletionPolicy": "Keep", "UpdateReplacePolicy": "RetainExceptOnCreate"},
			"Branch": {"Type": "T::T::T", "Properties": {"V": {"Fn::If": ["Missing", 1, 2]}}},
			"Policy": {"Type": "T::T::T", "DeletionPolicy": {"Ref": "P"}}
		},
		"Outputs": {"O": {}, "A": {"Value": 1, "Export": {"Name": "e"}}, "B": {"Value": 1, "Export": {"Name": "e"}}, "X": {"Value": 1, "Export": 1}}
	}`))
	var faults *template.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("want *Faults, got %v", err)
	}
	var got []string
	for _, f := range faults.List {
		got = append(got, f.String())
	}
	want := []string{
		"Parameters.P: a parameter needs a Type",
		"Parameters.S.Type: there is no parameter type Strng",
		"Parameters.L.Type: there is no parameter type List<CommaDelimitedList>",
		"Mappings.M.k: want an object, got a number",
		"Resources.Untyped: a resource needs a Type",
		"Resources.Text: want an object, got a string",
		"Resources.a/b: a logical id has only letters and digits",
		"Resources.Props.Properties: want an object, got a list",
		`Resources.Props.DeletionPolicy: want one of Delete, Retain, RetainExceptOnCreate, Snapshot, got "Keep"`,
		`Resources.Props.UpdateReplacePolicy: want one of Delete, Retain, Snapshot, got "RetainExceptOnCreate"`,
		`Resources.Policy.DeletionPolicy: a function here needs "Transform": "AWS::LanguageExtensions"`, // T-262
		"Outputs.O: an output needs a Value",
		"Outputs.X.Export: an export needs a Name",
		"Parameters.R: a resource has the same name",
		`Outputs.B.Export: output A exports the same name "e"`, // T-304, T-305
		"Resources.R.Condition: there is no condition NoC",     // T-230
		"Resources.R.DependsOn: there is no resource Nope",
		"Resources.R.DependsOn: the resource depends on itself",
		`Resources.Branch.Properties.V.Fn::If: there is no condition "Missing"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(err.Error(), "template S.template.json has 19 faults:\n  Parameters.P:") {
		t.Errorf("got %v", err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"truncated", `{"Resources": {`, "template t: not JSON: line 1: the JSON text ends too early"},
		{"empty", ``, "the JSON text ends too early"},
		{"YAML", "Resources:\n  A:\n    Type: T\n", "if it is YAML, which CDK does not write, convert it to JSON"},
		{"a list (T-61)", `[]`, "want a JSON object, got a list"},
		{"Resources a list (T-61)", `{"Resources": []}`, "Resources: want an object, got a list"},
		{"a function in a mapping", `{"Mappings": {"M": {"a": {"b": {"Ref": "P"}}}}}`, "Mappings.M.a.b: want a text, a number or a list of them, got an object"},
		{"a function in a list of a mapping", `{"Mappings": {"M": {"a": {"b": ["x", {"Ref": "P"}]}}}}`, "Mappings.M.a.b: want a text, a number or a list of them, got an object"},
		{"loop without the transform (T-262)", `{"Resources": {"Fn::ForEach::X": ["I", ["a"], {"R${I}": {"Type": "T"}}]}}`, `Fn::ForEach needs "Transform"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl, err := template.Parse("t", []byte(c.body))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("want an error with %q, got %v", c.want, err)
			}
			if tmpl != nil {
				t.Error("a template that is not valid was returned")
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	tmpl := parse(t, `{"Transform": ["AWS::LanguageExtensions", {"Name": "AWS::Include"}],
		"Resources": {
			"M": {"Type": "AWS::CDK::Metadata"},
			"A": {"Type": "T::T::T", "DependsOn": "B", "DeletionPolicy": "Retain"},
			"B": {"Type": "T::T::T"}}}`)
	a := tmpl.Resource("A")
	if !cmp.Equal(a.DependsOn, []string{"B"}) || a.DeletionPolicy != "Retain" {
		t.Errorf("got %+v", a)
	}
	if !cmp.Equal(tmpl.Macros(), []string{"AWS::Include"}) {
		t.Errorf("macros: %q (T-80, T-88)", tmpl.Macros())
	}
	_, err := tmpl.Bind(t.Context(), env, nil, &world{})
	var macro *template.MacroError
	if !errors.As(err, &macro) {
		t.Errorf("want a *MacroError, got %v", err)
	}
	if empty := parse(t, `{}`); len(empty.Resources) != 0 {
		t.Error("a template without resources has some")
	}
}

func TestMacroAnywhereButMetadata(t *testing.T) { // T-80, T-238
	if m := parse(t, `{"Resources": {"A": {"Type": "T", "Metadata": {"Fn::Transform": {}}}}}`).Macros(); m != nil {
		t.Errorf("got %q", m)
	}
	tmpl := parse(t, `{"Resources": {"A": {"Type": "T", "Properties": {"X": {"Fn::Transform": {}}}}}}`)
	if m := tmpl.Macros(); !cmp.Equal(m, []string{"Fn::Transform in Resources"}) {
		t.Errorf("got %q", m)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(with(`{"Fn::Sub": ["${DB.A}${!x}", {"V": {"Ref": "L"}}]}`, true)))
	f.Add([]byte(`{"Resources": {"A": {"Type": "T", "Properties": {"X": {"Fn::Join": [{"Fn::Cidr": [1, 2, 3]}, {"Fn::Select": [0, []]}]}}}}}`))
	f.Add([]byte(`{"Transform": "AWS::LanguageExtensions", "Resources": {"Fn::ForEach::L": ["I", ["a", "b"], {"R${I}": {"Type": "T", "Properties": {"V": {"Fn::ToJsonString": {"a": {"Ref": "I"}}}}}}]}}`))
	f.Add([]byte(`{"Parameters": {"P": {"Type": "List<Number>", "Default": "1,2", "MinValue": 0}}, "Conditions": {"C": {"Fn::Or": [{"Condition": "C"}, {}]}}, "Outputs": {"O": {"Value": {"Fn::If": ["C", 1, 2]}, "Export": {"Name": {"Ref": "P"}}}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		tmpl, err := template.Parse("t", body)
		if err != nil {
			return
		}
		s, err := tmpl.Bind(t.Context(), env, nil, &world{}, template.Tolerant(func(error) {}))
		if err != nil {
			return
		}
		for _, r := range s.Resources() {
			s.Preview(t.Context(), r.LogicalID)
			s.Properties(t.Context(), r.LogicalID)
			s.References(r.LogicalID)
		}
		for _, o := range s.Outputs() {
			s.PreviewOutput(t.Context(), o.Name)
			s.Output(t.Context(), o.Name)
		}
	})
}
