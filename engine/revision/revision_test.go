package revision_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/revision"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

func parse(t *testing.T, text string) *assembly.Nested {
	t.Helper()
	if text == "" {
		return nil
	}
	parsed, err := template.Parse("Stack", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &assembly.Nested{Template: parsed}
}

// lines is what a plan would do, a line each.
func lines(p *plan.Plan, notes []string) []string {
	var out []string
	for _, c := range p.Changes {
		if c.Action == plan.NoChange {
			continue
		}
		line := p.Stack + "/" + c.LogicalID + " " + string(c.Action)
		for _, p := range c.Properties {
			line += fmt.Sprintf(" %s:%s>%s", p.Path, value.JSON(p.Old), value.JSON(p.New))
		}
		for _, a := range c.Attributes {
			line += fmt.Sprintf(" %s:%s>%s", a.Name, a.Old, a.New)
		}
		out = append(out, line)
	}
	for _, o := range p.Outputs {
		kind := "output"
		if o.Export {
			kind = "export"
		}
		out = append(out, fmt.Sprintf("%s %s %s %s>%s", kind, o.Action, o.Name, value.JSON(o.Old), value.JSON(o.New)))
	}
	for _, child := range p.Children {
		out = append(out, lines(child, nil)...)
	}
	return append(out, notes...)
}

// A pull request without credentials shows what it does to the templates (G-5.3).
func TestCompare(t *testing.T) {
	const queue = `{"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": %s}}}}`
	for _, tt := range []struct {
		name, base, head string
		want             []string
	}{
		{"a stack that the base has not", "", fmt.Sprintf(queue, "1"), []string{"S/Q create"}},
		{"the same", fmt.Sprintf(queue, "1"), fmt.Sprintf(queue, "1"), nil},
		{"another value", fmt.Sprintf(queue, "1"), fmt.Sprintf(queue, "2"), []string{`S/Q update DelaySeconds:1>2`}},
		{"a function call equals only the same call", fmt.Sprintf(queue, `{"Ref":"AWS::Region"}`), fmt.Sprintf(queue, `{"Ref":"AWS::StackName"}`),
			[]string{`S/Q update DelaySeconds:{"Ref":"AWS::Region"}>{"Ref":"AWS::StackName"}`}},
		{"the same call", fmt.Sprintf(queue, `{"Ref":"AWS::Region"}`), fmt.Sprintf(queue, `{"Ref":"AWS::Region"}`), nil},
		{"a replacement, and who refers to it",
			`{"Resources": {"T": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "a"}}, "S": {"Type": "AWS::SNS::Subscription", "Properties": {"Protocol": "sqs", "TopicArn": {"Ref": "T"}}}}}`,
			`{"Resources": {"T": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "b"}}, "S": {"Type": "AWS::SNS::Subscription", "Properties": {"Protocol": "sqs", "TopicArn": {"Ref": "T"}}}}}`,
			[]string{`S/T replace TopicName:"a">"b"`, `S/S may-replace TopicArn:{"Ref":"T"}>{"Ref":"T"}`}},
		{"what goes, and what its policy keeps",
			`{"Resources": {"A": {"Type": "AWS::SQS::Queue"}, "B": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Retain"}, "C": {"Type": "AWS::SQS::Queue"}}}`,
			`{"Resources": {"C": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Retain"}}}`,
			[]string{"S/C update DeletionPolicy:>Retain", "S/A delete", "S/B retain"}},
		{"outputs and exports",
			`{"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}, "Outputs": {"A": {"Value": "1", "Export": {"Name": "x"}}, "B": {"Value": {"Ref": "Q"}}, "C": {"Value": "c"}}}`,
			`{"Resources": {"Q": {"Type": "AWS::SQS::Queue"}}, "Outputs": {"A": {"Value": "1", "Export": {"Name": "y"}}, "B": {"Value": {"Fn::GetAtt": ["Q", "Arn"]}}, "D": {"Value": "d"}}}`,
			[]string{`output update B {"Ref":"Q"}>{"Fn::GetAtt":["Q","Arn"]}`, `output create D null>"d"`, `output delete C "c">null`, `export delete x "1">null`, `export create y null>"1"`}},
		{"what is not said in terms of resources is named",
			`{"Parameters": {"Size": {"Type": "String"}}, "Conditions": {"Prod": {"Fn::Equals": ["a", {"Ref": "Size"}]}}, "Resources": {"Q": {"Type": "AWS::SQS::Queue"}}}`,
			`{"Parameters": {"Size": {"Type": "Number"}}, "Conditions": {"Prod": {"Fn::Equals": ["b", {"Ref": "Size"}]}}, "Resources": {"Q": {"Type": "AWS::SQS::Queue", "Condition": "Prod"}}}`,
			[]string{"the template of S differs in more than is listed, and what that does to its resources was not worked out: Parameters (Size); Conditions (Prod); the Condition of Q"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, notes, err := revision.Compare("S", "eu-west-1", parse(t, tt.base), parse(t, tt.head))
			if err != nil {
				t.Fatal(err)
			}
			if !p.FromTemplates {
				t.Error("nothing says that it is of templates")
			}
			if diff := cmp.Diff(tt.want, lines(p, notes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNestedStacksAreCompared(t *testing.T) {
	const parent = `{"Resources": {"Net": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "%s"}}}}`
	base, head := parse(t, fmt.Sprintf(parent, "1")), parse(t, fmt.Sprintf(parent, "1"))
	base.Nested = map[string]*assembly.Nested{"Net": parse(t, `{"Resources": {"A": {"Type": "AWS::SQS::Queue"}}}`)}
	head.Nested = map[string]*assembly.Nested{"Net": parse(t, `{"Parameters": {"P": {"Type": "String"}}, "Resources": {"B": {"Type": "AWS::SQS::Queue"}}}`)}
	p, notes, err := revision.Compare("S", "eu-west-1", base, head)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"S/Net update", "S~Net/B create", "S~Net/A delete"}
	if diff := cmp.Diff(want, lines(p, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "S~Net differs in more than is listed") {
		t.Errorf("notes %q", notes)
	}
	if !p.Children[0].FromTemplates {
		t.Error("the nested stack's plan does not say that it is of templates")
	}
}
