package report

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// everyRow is a deploy with one row of every kind.
func everyRow(t testing.TB) plan.Input {
	current := recordOf(t,
		"Q", "AWS::SQS::Queue", `{"QueueName":"a","Tags":[{"Key":"k","Value":"1"}]}`,
		"P", "AWS::SQS::QueuePolicy", `{"Queues":["https://q"]}`,
		"M", "AWS::SSM::Parameter", `{"Value":"v"}`,
		"F", "AWS::Lambda::Function", `{"Environment":{"Variables":{"A":"1","B":"2","C":"https://q"}},"Description":"x"}`,
		"D", "AWS::SNS::Topic", `{}`,
	)
	current.Resources["Q"].DeletionPolicy = "Delete"
	current.Resources["F"].ProvisionedBy = state.ByCloudControl
	current.Outputs = value.NewObject("Url", "old", "Gone", "g")
	return plan.Input{
		Stack: "S", Region: "eu-west-1", Current: current,
		Desired: []plan.Resource{
			{LogicalID: "Q", Type: "AWS::SQS::Queue", DeletionPolicy: "Retain",
				Properties: object(`{"QueueName":"b","Tags":[{"Key":"k","Value":"2"}]}`)},
			{LogicalID: "P", Type: "AWS::SQS::QueuePolicy",
				Properties: object(`{"Queues":["https://q"]}`),
				Written:    object(`{"Queues":[{"Ref":"Q"}]}`),
				References: map[string][]plan.Reference{"Queues": {{LogicalID: "Q"}}}},
			{LogicalID: "M", Type: "AWS::SSM::Parameter", UpdateReplacePolicy: "Retain",
				Properties: object(`{"Value":"v"}`)},
			{LogicalID: "F", Type: "AWS::Lambda::Function",
				Properties: object(`{"Environment":{"Variables":{"A":"1","B":"3","C":{"Ref":"Q"}}}}`)},
			{LogicalID: "N", Type: "AWS::S3::Bucket", Properties: object(`{"ObjectLockX":1,"Other":2}`)},
		},
		Outputs: []plan.Output{{Name: "Url", Value: "new"}, {Name: "Kept", Value: "e", Exported: true, ExportName: "Exp"}},
		Route: func(want *plan.Resource, _ *value.Object, row *state.Resource) (plan.Route, error) {
			switch {
			case want.Type == "AWS::S3::Bucket":
				return plan.Route{ProvisionedBy: state.ByCloudControl, Unhandled: []string{"ObjectLockX", "Other"}}, nil
			case row != nil && row.ProvisionedBy == state.ByCloudControl:
				return plan.Route{ProvisionedBy: state.ByCloudControl, Sticky: true}, nil
			}
			return plan.Route{ProvisionedBy: state.BySDK}, nil
		},
	}
}

// The reference text, word for word (T-430 to T-436, T-445, C.4).
const reference = `
Stack S:
  [~] Q (AWS::SQS::Queue)
      - QueueName: [requires replacement]
          old: "a"
          new: "b"
      - Tags:
          old: [
                {
                  "Key": "k",
                  "Value": "1"
                }
              ]
          new: [
                {
                  "Key": "k",
                  "Value": "2"
                }
              ]
      - DeletionPolicy: [metadata only, no AWS API call]
          old: Delete
          new: Retain
  [~] P (AWS::SQS::QueuePolicy)
      - Queues: [replacement propagated]
          old: [
                "https://q"
              ]
          new: [
                {
                  "Ref": "Q"
                }
              ]
  [~] M (AWS::SSM::Parameter)
      - UpdateReplacePolicy: [metadata only, no AWS API call]
          old: (unset)
          new: Retain
  [~] F (AWS::Lambda::Function) [via CC API: sticky]
      - Environment:
          old: {
                "Variables": {
                  "B": "2"
                }
              }
          new: {
                "Variables": {
                  "B": "3"
                }
              }
      - Description:
          old: "x"
          new: undefined
  [+] N (AWS::S3::Bucket) [via CC API: ObjectLockX, Other]
  [-] D (AWS::SNS::Topic)

  Outputs:
    [~] Url
          old: "old"
          new: "new"
    [+] Exp [export]
          new: "e"
    [-] Gone
          old: "g"

1 to create, 4 to update, 1 to delete
1 output(s) to add, 1 to change, 1 to remove
`

func TestReferenceText(t *testing.T) {
	in := everyRow(t)
	in.Current.Outputs.Set("Kept", "e")
	p := compute(t, in)
	if d := cmp.Diff(reference, planText(p)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	// Shown are not the values of environment variables (G-5.3).
	shown := strings.Replace(strings.Replace(reference, `"B": "2"`, `"B": (hidden)`, 1), `"B": "3"`, `"B": (hidden, changed)`, 1)
	if d := cmp.Diff(shown, PlanText(p)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// What the reference has no case of: a golden file to read.
func TestText(t *testing.T) {
	child := &plan.Plan{Stack: "S~Nested", Region: "eu-west-1", Changes: []*plan.Change{{
		LogicalID: "T", Type: "AWS::SNS::Topic", Action: plan.Retain, DeletionPolicy: "RetainExceptOnCreate",
	}}}
	p := &plan.Plan{Stack: "S", Region: "eu-west-1",
		Changes: []*plan.Change{
			{LogicalID: "I", Type: "AWS::EC2::Instance", Action: plan.MayReplace, Route: plan.Route{Returning: true}, Properties: []plan.PropertyChange{
				{Path: "EbsOptimized", Old: true, New: object(`{"Fn::If":["C",true,false]}`), HasOld: true, HasNew: true, MayReplace: true, Unresolved: true},
				{Path: "UserData", Old: "hunter4", New: object(`{"Deep":["hunter5"]}`), HasOld: true, HasNew: true, Secret: true},
				{Path: "Password", Old: "{{resolve:secretsmanager:a}}", New: "{{resolve:secretsmanager:b}}", HasOld: true, HasNew: true, Secret: true},
				{Path: "KeyName", Old: "***", New: "***", HasOld: true, HasNew: true, NoEcho: true},
				{Path: "Monitoring", Old: true, New: true, HasOld: true, HasNew: true, Uncertain: true},
				{Path: "Tags", New: []any{}, HasNew: true},
			}},
			{LogicalID: "Evil\n  [-] Everything\u202e\x1b[2J", Type: "Custom::\u2066X", Action: plan.Create},
			{LogicalID: "Unchanged", Type: "AWS::SNS::Topic", Action: plan.NoChange},
			{LogicalID: "Nested", Type: "AWS::CloudFormation::Stack", Action: plan.NoChange},
		},
		Outputs: []plan.OutputChange{
			{Name: "Later", Action: plan.Create, New: object(`{"Ref":"X"}`), HasNew: true, Unresolved: true},
			{Name: "Old", Action: plan.Update, HasOld: true, OldRedacted: true, New: "{{resolve:secretsmanager:s:SecretString}}", HasNew: true, Secret: true},
			{Name: "Clear", Action: plan.Update, Old: "hunter2", HasOld: true, New: "hunter3", HasNew: true, Secret: true},
			{Name: "List", Action: plan.Create, New: []any{"a\u202eb\x07"}, HasNew: true},
		},
	}
	p.AddChild("Nested", child)
	p.AddChild("Unchanged", &plan.Plan{Stack: "S~Same"})
	got := PlanText(p)
	for _, bad := range []string{"hunter", "\u202e", "\u2066", "\x1b", "\x07", "\n  [-] Everything"} {
		if strings.Contains(got, bad) {
			t.Errorf("the text holds %q", bad)
		}
	}
	golden(t, "text.golden", got)
}

func TestTextWithoutChanges(t *testing.T) {
	p := compute(t, plan.Input{Current: recordOf(t, "A", "AWS::SNS::Topic", `{}`), Desired: []plan.Resource{{LogicalID: "A", Type: "AWS::SNS::Topic"}}})
	if d := cmp.Diff("✓ No changes detected for stack S\n", PlanText(p)); d != "" {
		t.Errorf("(T-430) (-want +got)\n%s", d)
	}
}

// The JSON form, with every row of the reference (T-450, T-451).
func TestJSON(t *testing.T) {
	in := everyRow(t)
	in.Current.Outputs.Set("Kept", "e")
	in.Desired[0].Secret = []string{"Tags"}
	p := compute(t, in)
	p.AddChild("M", &plan.Plan{Stack: "S~M", Region: "eu-west-1", Changes: []*plan.Change{
		{LogicalID: "R", Type: "AWS::SNS::Topic", Action: plan.Retain, DeletionPolicy: "Retain", Route: plan.Route{ProvisionedBy: state.ByCloudControl, Sticky: true}},
		{LogicalID: "L", Type: "AWS::ElasticLoadBalancingV2::Listener", Action: plan.MayReplace, Route: plan.Route{Returning: true}, Properties: []plan.PropertyChange{
			{Path: "Port", New: object(`{"Ref":"X"}`), HasNew: true, MayReplace: true, Unresolved: true},
		}},
	}})
	golden(t, "plan.json", diffJSON(t, p))
}

// The guide explains the marks of the text.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/text.golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{
		"[requires replacement]", "[may require replacement]", "[replacement propagated]", "(known after deploy)", "[kept in AWS: DeletionPolicy ",
		"[metadata only, no AWS API call]", "[outcome unknown, applied again]", "(NoEcho, cannot be compared)", "[returning to SDK provider]",
	} {
		if !strings.Contains(string(guide), mark) {
			t.Errorf("docs/plan.md does not explain %s", mark)
		}
		if !strings.Contains(string(text)+reference, mark) {
			t.Errorf("the text has no %s", mark)
		}
	}
}

// recordOf makes a record of rows given as id, type, properties.
func recordOf(t testing.TB, rows ...string) *state.Record {
	t.Helper()
	r := state.NewRecord("S", "eu-west-1")
	for i := 0; i < len(rows); i += 3 {
		r.Set(rows[i], &state.Resource{PhysicalID: "id-" + rows[i], ResourceType: rows[i+1], Properties: object(rows[i+2])})
	}
	return r
}

func compute(t testing.TB, in plan.Input) *plan.Plan {
	t.Helper()
	if in.Stack == "" {
		in.Stack, in.Region = "S", "eu-west-1"
	}
	p, err := plan.Compute(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func object(text string) *value.Object { return parse(text).(*value.Object) }

// same compares values by what they mean.
var same = cmp.Options{
	cmp.Comparer(func(a, b *value.Object) bool { return value.Equal(a, b) }),
	cmpopts.EquateEmpty(),
}

func diffJSON(t testing.TB, plans ...*plan.Plan) string {
	t.Helper()
	run := &result.Run{Command: "diff"}
	for _, p := range plans {
		run.Add(&result.Stack{Plan: p})
	}
	text, err := JSON(run)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
