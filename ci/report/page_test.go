package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

func pageOf(command string, p *plan.Plan) string {
	r := &result.Run{Command: command}
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Success, Changed: true, Plan: p, Outputs: value.NewObject()})
	return Markdown(r)
}

func rows(action plan.Action, n int) *plan.Plan {
	p := &plan.Plan{Stack: "Shop", Region: "eu-west-1"}
	for i := range n {
		p.Changes = append(p.Changes, &plan.Change{LogicalID: fmt.Sprint("R", i), Type: "AWS::SQS::Queue", Action: action})
	}
	return p
}

func TestPage(t *testing.T) {
	replaced := func(edit func(*plan.Change)) *plan.Plan {
		p := rows(plan.Replace, 1)
		p.Changes[0].Properties = []plan.PropertyChange{{Path: "A", Replaces: true}, {Path: "B", Replaces: true}, {Path: "C", MayReplace: true}}
		edit(p.Changes[0])
		return p
	}
	tests := []struct {
		name, command string
		plan          *plan.Plan
		has, hasNot   []string
	}{
		{"few rows stand open", "diff", rows(plan.Create, few), []string{"| create | `R0`"}, []string{"<details>"}},
		{"many rows are folded", "diff", rows(plan.Create, few+1), []string{"<details><summary>16 resources: 16 to create</summary>\n\n|"}, nil},
		{"what is folded already is not folded again", "deploy", rows(plan.Create, few+1), []string{"<details><summary>Plan of <code>Shop</code>: 16 to create</summary>\n\n|"}, []string{"16 resources"}},
		{"deletes stand at the top, and only there", "diff", rows(plan.Delete, 1),
			[]string{"resource in `Shop`\n\n> [!CAUTION]\n> - **delete** `R0` (`AWS::SQS::Queue`): it is not in the template any more\n"}, []string{"| delete", "####"}},
		{"a long list at the top goes on below", "diff", rows(plan.Delete, 2*few+1), []string{"> - and 1 more, in the lists below", "| delete | `R30`"}, []string{"| delete | `R29`"}},
		{"reasons of one kind are one", "diff", replaced(func(*plan.Change) {}), []string{": `A`, `B` cannot be changed in place; `C` may not be changeable in place\n"}, []string{"data"}},
		{"data is named", "diff", replaced(func(c *plan.Change) { c.Type = "AWS::DynamoDB::Table" }), []string{"**it may hold data**"}, nil},
		{"unless it is kept", "diff", replaced(func(c *plan.Change) { c.Type, c.UpdateReplacePolicy = "AWS::DynamoDB::Table", "Retain" }), []string{"the old one is kept in AWS"}, []string{"data"}},
		{"what only follows from a replacement is a note", "diff", &plan.Plan{Stack: "Shop", Changes: []*plan.Change{{LogicalID: "P", Type: "T", Action: plan.Update, Properties: []plan.PropertyChange{
			{Path: "A", Propagated: true, Unresolved: true}, {Path: "B", Propagated: true, Unresolved: true}}}}},
			[]string{"| update | `P` | `T` | `A, B: [replacement propagated]` |"}, []string{"Property changes"}},
		{"the CDK's own outputs are a count, once though they are exported", "diff", &plan.Plan{Stack: "Shop", Outputs: []plan.OutputChange{
			{Name: "ExportsOutputRefA", Action: plan.Create}, {Name: "Shop:ExportsOutputRefA", Action: plan.Create, Export: true}, {Name: "Url", Action: plan.Create, New: "u", HasNew: true}}},
			[]string{"1 output to add\n", "and 1 output that the CDK made", `+ Url: "u"`}, []string{"ExportsOutput"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := pageOf(tt.command, tt.plan)
			for _, want := range tt.has {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			for _, bad := range tt.hasNot {
				if strings.Contains(got, bad) {
					t.Errorf("%q is in\n%s", bad, got)
				}
			}
		})
	}
}

func TestNothingChangesIsOneLine(t *testing.T) {
	for _, command := range []string{"diff", "deploy"} {
		if got := Markdown(unchangedRun(command)); strings.Count(got, "\n") != 1 {
			t.Errorf("%s:\n%s", command, got)
		}
	}
}

// A stack of which something could not be undone is not said to be rolled back.
func TestIncompleteRollbackIsNotRolledBack(t *testing.T) {
	r := failedRun()
	r.Stacks[1].RolledBack, r.Stacks[1].RollbackIncomplete = false, true
	for name, got := range map[string]string{"page": Markdown(r), "text": Text(r)} {
		if strings.Contains(got, "rolled back") || !strings.Contains(got, "its rollback is incomplete") {
			t.Errorf("%s: got\n%s", name, got)
		}
	}
}

func TestWrap(t *testing.T) {
	for text, want := range map[string]string{
		"short": "short", "": "",
		"one two three":    "one two\nthree",
		"onetwothreefour ": "onetwothreefour ",
		"a b\nc d e f g":   "a b\nc d e f\ng",
		"  indented a b":   "  indented\na b",
	} {
		if d := cmp.Diff(want, wrap(text, 8)); d != "" {
			t.Errorf("%q (-want +got)\n%s", text, d)
		}
	}
}

// A text that a template joins is read like one for Fn::Sub.
func TestFunctionsAreReadable(t *testing.T) {
	for text, want := range map[string]string{
		`{"Ref":"X"}`: `{"Ref":"X"}`,
		`{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":sqs:",{"Fn::GetAtt":["Q","Arn"]}]]}`: `"arn:${AWS::Partition}:sqs:${Q.Arn}"`,
		`{"Fn::Join":["",["a",{"Fn::ImportValue":"E"}]]}`:                                        `"a${Fn::ImportValue E}"`,
		`{"Fn::Join":[",",["a","b"]]}`:                                                           `{"Fn::Join":[",",["a","b"]]}`,
		`{"Fn::Join":["",{"Ref":"L"}]}`:                                                          `{"Fn::Join":["",{"Ref":"L"}]}`,
	} {
		if d := cmp.Diff(want, flat(parse(text))); d != "" {
			t.Errorf("%s (-want +got)\n%s", text, d)
		}
	}
}
