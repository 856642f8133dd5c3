package template_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

func ids(s *template.Scope) []string {
	var all []string
	for _, r := range s.Resources() {
		all = append(all, r.LogicalID)
	}
	return all
}

func TestResourcesAreFilteredByCondition(t *testing.T) { // T-201, T-229
	s := bind(t, `{"Conditions": {"Yes": {"Fn::Equals": [1, 1]}, "No": {"Fn::Equals": [1, 2]}}, "Resources": {
		"Meta": {"Type": "AWS::CDK::Metadata"},
		"B": {"Type": "T::T::T", "Condition": "Yes"},
		"Dropped": {"Type": "T::T::T", "Condition": "No"},
		"A": {"Type": "T::T::T", "DependsOn": ["Dropped"], "Properties": {"V": {"Fn::If": ["No", {"Ref": "Dropped"}, "x"]}}}}}`, &world{})
	if diff := cmp.Diff([]string{"B", "A"}, ids(s)); diff != "" {
		t.Error(diff)
	}
	if refs := s.References("A"); refs != nil {
		t.Errorf("what is dropped is no reference (T-316), got %v", refs)
	}
}

func TestNamesThatLeadNowhere(t *testing.T) {
	for _, c := range []struct{ name, resources, want string }{
		{"Ref to a dropped resource (T-316)", `"R": {"Type": "T::T::T", "Properties": {"V": [{"Ref": "Dropped"}]}}`, "Resources.R.Properties.V[0]: refers to Dropped, which its condition No leaves out"},
		{"Sub of a dropped resource (T-316)", `"R": {"Type": "T::T::T", "Properties": {"V": {"Fn::Sub": "${Dropped.Arn}"}}}`, "refers to Dropped"},
		{"in the branch that is used (T-316)", `"R": {"Type": "T::T::T", "Properties": {"V": {"Fn::If": ["No", 1, {"Ref": "Dropped"}]}}}`, "Fn::If[2]: refers to Dropped"},
		{"itself (T-317, T-318)", `"R": {"Type": "T::T::T", "Properties": {"V": {"Fn::GetAtt": "R.Arn"}}}`, "Resources.R.Properties.V: the resource refers to itself"},
		{"in an update policy (T-312)", `"R": {"Type": "T::T::T", "UpdatePolicy": {"V": {"Ref": "Nope"}}}`, `Resources.R.UpdatePolicy.V: there is no resource, parameter or pseudo parameter "Nope"`},
		{"attribute of a parameter", `"R": {"Type": "T::T::T", "Properties": {"V": {"Fn::GetAtt": ["P", "Arn"]}}}`, `there is no resource "P"`},
		{"CDK's marker (T-201)", `"Meta": {"Type": "AWS::CDK::Metadata"}, "R": {"Type": "T::T::T", "Properties": {"V": {"Ref": "Meta"}}}`, "is CDK's usage marker"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl := parse(t, `{"Parameters": {"P": {"Type": "String", "Default": ""}}, "Conditions": {"No": {"Fn::Equals": [1, 2]}}, "Resources": {"Dropped": {"Type": "T::T::T", "Condition": "No"}, `+c.resources+`}}`)
			_, err := tmpl.Bind(t.Context(), env, nil, &world{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("want an error with %q, got %v", c.want, err)
			}
			var warned []string
			s, err := tmpl.Bind(t.Context(), env, nil, &world{}, template.Tolerant(func(err error) { warned = append(warned, err.Error()) }))
			if err != nil || len(warned) == 0 {
				t.Fatalf("a diff warns, got %v, %v", warned, err)
			}
			if _, _, err := s.Preview(t.Context(), "R"); err != nil {
				t.Errorf("a diff shows what it can (T-402), got %v", err)
			}
		})
	}
}

// What CloudFormation would refuse when it reads the template is not found out in
// the middle of a deploy. An output is left out with a warning instead (T-259c).
func TestAttributesThatATypeDoesNotHave(t *testing.T) {
	tmpl := parse(t, `{"Conditions": {"No": {"Fn::Equals": [1, 2]}}, "Resources": {
		"A": {"Type": "T::T::A"},
		"R": {"Type": "T::T::T", "Properties": {
			"V": [{"Fn::GetAtt": "A.Arn"}, {"Fn::GetAtt": ["A", "Arrn"]}],
			"S": {"Fn::Sub": "${A.Urn}"},
			"Unused": {"Fn::If": ["No", {"Fn::GetAtt": "A.Nope"}, 1]},
			"Computed": {"Fn::GetAtt": ["A", {"Fn::Sub": "A${AWS::Region}"}]}}}},
		"Outputs": {"O": {"Value": {"Fn::GetAtt": "A.Orn"}}}}`)
	has := template.Attributes(func(typ, attribute string) bool { return typ == "T::T::A" && attribute == "Arn" })
	_, err := tmpl.Bind(t.Context(), env, nil, &world{}, has)
	want := `template t.json has 2 faults:
  Resources.R.Properties.V[1]: A (T::T::A) has no attribute Arrn
  Resources.R.Properties.S: A (T::T::A) has no attribute Urn`
	if err == nil || err.Error() != want {
		t.Errorf("want %s\ngot %v", want, err)
	}
	warned := 0
	if _, err := tmpl.Bind(t.Context(), env, nil, &world{}, has, template.Tolerant(func(error) { warned++ })); err != nil || warned != 2 {
		t.Errorf("a diff warns: %d warnings, %v", warned, err)
	}
}

func TestReferences(t *testing.T) { // T-310 to T-314, T-321
	s := bind(t, `{"Parameters": {"P": {"Type": "String", "Default": ""}}, "Conditions": {"C": {"Fn::Equals": [1, 1]}}, "Resources": {
		"A": {"Type": "T::T::T"}, "B": {"Type": "T::T::T"}, "C": {"Type": "T::T::T"}, "D": {"Type": "T::T::T"}, "E": {"Type": "T::T::T"},
		"F": {"Type": "T::T::T"}, "G": {"Type": "T::T::T"}, "H": {"Type": "T::T::T"}, "I": {"Type": "T::T::T"},
		"R": {"Type": "T::T::T",
			"DependsOn": ["A", "I"],
			"Metadata": {"M": {"Ref": "H"}},
			"UpdatePolicy": {"U": {"Ref": "G"}},
			"Properties": {
				"Ref": {"Ref": "A"},
				"List": {"Fn::GetAtt": ["B", "Arn"]},
				"Text": {"Fn::GetAtt": "C.X.Y"},
				"Sub": {"Fn::Sub": ["${!H} ${D.Arn} ${A} ${V} ${AWS::Region} ${P}", {"V": {"Ref": "E"}}]},
				"Delimiter": {"Fn::Join": [{"Ref": "F"}, []]},
				"Branches": {"Fn::If": ["C", {"Ref": "A"}, {"Ref": "B"}]},
				"Pseudo": {"Ref": "AWS::StackId"},
				"Twice": [{"Ref": "A"}, {"Ref": "A"}],
				"VpcConfig": {"SubnetIds": [{"Ref": "I"}], "SecurityGroupIds": [{"Fn::GetAtt": ["H", "GroupId"]}]}
			}}}}`, &world{})
	want := []template.Reference{
		{LogicalID: "A", Property: "Ref"},
		{LogicalID: "B", Property: "List", Attribute: "Arn", GetAtt: true},
		{LogicalID: "C", Property: "Text", Attribute: "X.Y", GetAtt: true},
		{LogicalID: "D", Property: "Sub", Attribute: "Arn", GetAtt: true},
		{LogicalID: "A", Property: "Sub"},
		{LogicalID: "E", Property: "Sub"},
		{LogicalID: "F", Property: "Delimiter"},
		{LogicalID: "A", Property: "Branches"},
		{LogicalID: "B", Property: "Branches"},
		{LogicalID: "A", Property: "Twice"},
		{LogicalID: "I", Property: "VpcConfig"},
		{LogicalID: "H", Property: "VpcConfig", Attribute: "GroupId", GetAtt: true},
		{LogicalID: "G"},
		{LogicalID: "A", DependsOn: true},
		{LogicalID: "I", DependsOn: true},
	}
	if diff := cmp.Diff(want, s.References("R")); diff != "" {
		t.Error(diff)
	}
}

// Loops within loops stop before they fill the memory.
func TestLoopsWithoutEnd(t *testing.T) {
	items := `"i0"`
	for i := range 99 {
		items += fmt.Sprintf(`, "i%d"`, i+1)
	}
	tmpl := parse(t, fmt.Sprintf(`{"Transform": "AWS::LanguageExtensions", "Resources": {
		"Fn::ForEach::A": ["A", [%[1]s], {"Fn::ForEach::B&{A}": ["B", [%[1]s], {"Fn::ForEach::C": ["C", [%[1]s], {"R&{A}&{B}&{C}": {"Type": "T::T::T"}}]}]}]}}`, items))
	_, err := tmpl.Bind(t.Context(), env, nil, &world{})
	if err == nil || !strings.Contains(err.Error(), "Resources.Fn::ForEach::") ||
		!strings.Contains(err.Error(), "the loops of the template go round more than 20000 times") {
		t.Errorf("got %v", err)
	}
}

func TestLoops(t *testing.T) { // T-261
	s := bind(t, `{"Transform": "AWS::LanguageExtensions",
		"Parameters": {"Names": {"Type": "CommaDelimitedList", "Default": "a.1,b"}},
		"Conditions": {"Fn::ForEach::Cs": ["N", ["x"], {"Is${N}": {"Fn::Equals": ["x", {"Ref": "N"}]}}]},
		"Resources": {
			"Fn::ForEach::Topics": ["Name", {"Ref": "Names"}, {
				"Topic&{Name}": {"Type": "T::T::T", "Condition": "Isx", "DeletionPolicy": {"Fn::If": ["Isx", "Retain", "Delete"]}, "Properties": {
					"TopicName": {"Fn::Join": [".", [{"Ref": "Name"}, "fifo"]]},
					"Text": {"Fn::Sub": "${Name} in ${AWS::Region}"},
					"Fn::ForEach::Props": ["P", ["One", "Two"], {"Prop${P}": "${Name}-${P}"}]
				}}}],
			"Last": {"Type": "T::T::T", "DependsOn": "Topica1"}
		},
		"Outputs": {"Fn::ForEach::Outs": ["Name", {"Ref": "Names"}, {"Out&{Name}": {"Value": {"Ref": "Topic&{Name}"}}}]}
	}`, &world{refs: map[string]any{"Topica1": "t1"}})
	if diff := cmp.Diff([]string{"Topica1", "Topicb", "Last"}, ids(s)); diff != "" {
		t.Fatal(diff)
	}
	props, err := s.Properties(t.Context(), "Topica1")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := value.JSON(props), `{"TopicName":"a.1.fifo","Text":"a.1 in eu-west-1","PropOne":"a.1-One","PropTwo":"a.1-Two"}`; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	if got := s.Resource("Topicb").DeletionPolicy; got != "Retain" {
		t.Errorf("DeletionPolicy: want Retain, got %q (T-262)", got)
	}
	if v, _, _, err := s.Output(t.Context(), "Outa1"); err != nil || v != "t1" {
		t.Errorf("got %v, %v", v, err)
	}

	for _, c := range []struct{ name, resources, want string }{
		{"made twice", `"Fn::ForEach::A": ["N", ["x", "x"], {"R${N}": {"Type": "T::T::T"}}]`, "Rx is made twice"},
		{"also made by hand", `"Rx": {"Type": "T::T::T"}, "Fn::ForEach::A": ["N", ["x"], {"R${N}": {"Type": "T::T::T"}}]`, "Rx is made twice"},
		{"not a list", `"Fn::ForEach::A": ["N", "x", {"R${N}": {"Type": "T::T::T"}}]`, "want a list, got a string"},
		{"over a resource", `"R": {"Type": "T::T::T"}, "Fn::ForEach::A": ["N", {"Ref": "R"}, {"R${N}": {"Type": "T::T::T"}}]`, "cannot be referred to here"},
		{"faults in what is made", `"Fn::ForEach::A": ["N", ["x"], {"R${N}": {"Type": "T::T::T", "DependsOn": "Nope"}}]`, "Resources.Rx.DependsOn: there is no resource Nope"},
		{"too deep", `"Fn::ForEach::A": ["A", ["x"], {"Fn::ForEach::B": ["B", ["x"], {"Fn::ForEach::C": ["C", ["x"], {"Fn::ForEach::D": ["D", ["x"], {"Fn::ForEach::E": ["E", ["x"], {"Fn::ForEach::F": ["F", ["x"], {"R": {"Type": "T::T::T"}}]}]}]}]}]}]`, "loops are nested more than 5 deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(t, `{"Transform": "AWS::LanguageExtensions", "Resources": {`+c.resources+`}}`).Bind(t.Context(), env, nil, &world{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
}

// The language extensions let a function say what a Ref or Fn::GetAtt is of. What it
// comes to is ordered by, checked and evaluated like a name that is written out.
func TestComputedNames(t *testing.T) { // T-262, T-313
	const around = `"Parameters": {"Stage": {"Type": "String", "Default": "Beta"}, "BetaSize": {"Type": "String", "Default": "small"},
			"BetaImage": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/ami"}},
		"Mappings": {"Names": {"eu-west-1": {"Queue": "BetaQueue"}}},
		"Resources": {"BetaQueue": {"Type": "T::T::T"}, "R": {"Type": "T::T::T", "Properties": `
	w := &world{refs: map[string]any{"BetaQueue": "q"}, attributes: map[string]any{"BetaQueue.Arn": "arn:q"}, parameters: map[string]string{"/ami": "ami-1"}}
	s := bind(t, `{"Transform": "AWS::LanguageExtensions", `+around+`{
		"Size": {"Ref": {"Fn::Sub": "${Stage}Size"}},
		"Image": {"Ref": {"Fn::Join": ["", [{"Ref": "Stage"}, "Image"]]}},
		"Queue": {"Ref": {"Fn::FindInMap": ["Names", {"Ref": "AWS::Region"}, "Queue"]}},
		"Arn": {"Fn::GetAtt": [{"Fn::Sub": "${Stage}Queue"}, "Arn"]},
		"Fn::ForEach::Kinds": ["Kind", ["Queue"], {"${Kind}Url": {"Ref": {"Fn::Sub": "${Stage}${Kind}"}}}]
	}}}}`, w)
	props, err := s.Properties(t.Context(), "R")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := value.JSON(props), `{"Size":"small","Image":"ami-1","Queue":"q","Arn":"arn:q","QueueUrl":"q"}`; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
	want := []template.Reference{
		{LogicalID: "BetaQueue", Property: "Queue"},
		{LogicalID: "BetaQueue", Property: "Arn", Attribute: "Arn", GetAtt: true},
		{LogicalID: "BetaQueue", Property: "QueueUrl"},
	}
	if diff := cmp.Diff(want, s.References("R")); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct{ name, transform, in, want string }{
		{"without the transform", ``, `{"Ref": {"Fn::Sub": "${Stage}Queue"}}`, `a function in the place of a name needs "Transform"`},
		{"without the transform, of an attribute", ``, `{"Fn::GetAtt": [{"Fn::Sub": "${Stage}Queue"}, "Arn"]}`, `a function in the place of a logical id needs "Transform"`},
		{"of nothing", `"Transform": "AWS::LanguageExtensions",`, `{"Ref": {"Fn::Sub": "${Stage}Topic"}}`, `Resources.R.Properties.V: there is no resource, parameter or pseudo parameter "BetaTopic"`},
		{"from a resource", `"Transform": "AWS::LanguageExtensions",`, `{"Ref": {"Ref": "BetaQueue"}}`, "Resources.R.Properties.V.Ref.Ref: BetaQueue is a resource, which cannot be referred to here"},
		{"a list", `"Transform": "AWS::LanguageExtensions",`, `{"Fn::GetAtt": [{"Fn::Split": ["-", "a-b"]}, "Arn"]}`, "Resources.R.Properties.V.Fn::GetAtt[0]: a list cannot be part of a text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parse(t, `{`+c.transform+around+`{"V": `+c.in+`}}}}`).Bind(t.Context(), env, nil, w)
			if err == nil {
				_, err = s.Properties(t.Context(), "R")
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
}

func TestPropertiesThatAreOneFunction(t *testing.T) {
	s := bind(t, `{"Conditions": {"C": {"Fn::Equals": [1, 1]}}, "Resources": {"A": {"Type": "T::T::T"},
		"R": {"Type": "T::T::T", "Properties": {"Fn::If": ["C", {"X": {"Ref": "A"}}, {"Ref": "AWS::NoValue"}]}},
		"None": {"Type": "T::T::T"}}}`, &world{})
	props, unresolved, err := s.Preview(t.Context(), "R")
	if err != nil || value.JSON(props) != `{"X":{"Ref":"A"}}` || !cmp.Equal(unresolved, []string{"X"}) {
		t.Errorf("got %s, %v, %v", value.JSON(props), unresolved, err)
	}
	if props, err := s.Properties(t.Context(), "None"); err != nil || props.Len() != 0 {
		t.Errorf("no properties are an empty object, got %v, %v", props, err)
	}
	if _, err := s.Properties(t.Context(), "Gone"); err == nil {
		t.Error("want an error for a resource that there is not")
	}
}

func TestStackID(t *testing.T) { // T-248
	id := template.StackID("123456789012", "cn-north-1", "cdkd", "S")
	if !strings.HasPrefix(id, "arn:aws-cn:cloudformation:cn-north-1:123456789012:stack/S/") {
		t.Errorf("got %s", id)
	}
	if id != template.StackID("123456789012", "cn-north-1", "cdkd", "S") {
		t.Error("it differs from call to call")
	}
	for _, other := range []string{
		template.StackID("123456789013", "cn-north-1", "cdkd", "S"),
		template.StackID("123456789012", "cn-northwest-1", "cdkd", "S"),
		template.StackID("123456789012", "cn-north-1", "other", "S"),
		template.StackID("123456789012", "cn-north-1", "cdkd", "T"),
	} {
		if other[strings.LastIndex(other, "/"):] == id[strings.LastIndex(id, "/"):] {
			t.Errorf("%s and %s end alike", id, other)
		}
	}
}

func TestErrorsOfTheWorldAreKept(t *testing.T) {
	s := bind(t, with(`{"Fn::ImportValue": "gone"}`, false), &world{})
	_, _, err := s.Preview(t.Context(), "R")
	var at *template.Error
	if !errors.As(err, &at) {
		t.Errorf("want a *template.Error, got %v", err)
	}
}

func TestScopeIsUsedByManyAtOnce(t *testing.T) {
	w := &world{refs: map[string]any{"DB": "db"}, dynamic: map[string]string{"secretsmanager:db:SecretString:password::": "s3cr3t!"}}
	s := bind(t, with(`{"Fn::If": ["Yes", {"Fn::Sub": "${DB} `+token+`"}, {"Fn::GetAtt": "DB.Arn"}]}`, false), w)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			props, err := s.Properties(t.Context(), "R")
			if err != nil || props.String("V") != "db s3cr3t!" {
				t.Errorf("got %v, %v", value.JSON(props), err)
			}
			if _, _, err := s.Preview(t.Context(), "R"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if s.Secrets().Mask("s3cr3t!") != "***" {
		t.Error("the secret is not known to the set")
	}
}
