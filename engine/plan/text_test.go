package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// everyRow is a deploy with one row of every kind.
func everyRow(t testing.TB) Input {
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
	return Input{
		Stack: "S", Region: "eu-west-1", Current: current,
		Desired: []Resource{
			{LogicalID: "Q", Type: "AWS::SQS::Queue", DeletionPolicy: "Retain",
				Properties: object(t, `{"QueueName":"b","Tags":[{"Key":"k","Value":"2"}]}`)},
			{LogicalID: "P", Type: "AWS::SQS::QueuePolicy",
				Properties: object(t, `{"Queues":["https://q"]}`),
				Written:    object(t, `{"Queues":[{"Ref":"Q"}]}`),
				References: map[string][]Reference{"Queues": {{LogicalID: "Q"}}}},
			{LogicalID: "M", Type: "AWS::SSM::Parameter", UpdateReplacePolicy: "Retain",
				Properties: object(t, `{"Value":"v"}`)},
			{LogicalID: "F", Type: "AWS::Lambda::Function",
				Properties: object(t, `{"Environment":{"Variables":{"A":"1","B":"3","C":{"Ref":"Q"}}}}`)},
			{LogicalID: "N", Type: "AWS::S3::Bucket", Properties: object(t, `{"ObjectLockX":1,"Other":2}`)},
		},
		Outputs: []Output{{Name: "Url", Value: "new"}, {Name: "Kept", Value: "e", Exported: true, ExportName: "Exp"}},
		Route: func(typ string, _ *value.Object, row *state.Resource) (Route, error) {
			switch {
			case typ == "AWS::S3::Bucket":
				return Route{ProvisionedBy: state.ByCloudControl, Unhandled: []string{"ObjectLockX", "Other"}}, nil
			case row != nil && row.ProvisionedBy == state.ByCloudControl:
				return Route{ProvisionedBy: state.ByCloudControl, Sticky: true}, nil
			}
			return Route{ProvisionedBy: state.BySDK}, nil
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
	if d := cmp.Diff(reference, compute(t, in).Text()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// What the reference has no case of: a golden file to read.
func TestText(t *testing.T) {
	child := &Plan{Stack: "S~Nested", Region: "eu-west-1", Changes: []*Change{{
		LogicalID: "T", Type: "AWS::SNS::Topic", Action: Retain, DeletionPolicy: "RetainExceptOnCreate",
	}}}
	p := &Plan{Stack: "S", Region: "eu-west-1",
		Changes: []*Change{
			{LogicalID: "I", Type: "AWS::EC2::Instance", Action: MayReplace, Route: Route{Returning: true}, Properties: []PropertyChange{
				{Path: "EbsOptimized", Old: true, New: object(t, `{"Fn::If":["C",true,false]}`), HasOld: true, HasNew: true, MayReplace: true, Unresolved: true},
				{Path: "UserData", Old: "hunter4", New: object(t, `{"Deep":["hunter5"]}`), HasOld: true, HasNew: true, Secret: true},
				{Path: "Password", Old: "{{resolve:secretsmanager:a}}", New: "{{resolve:secretsmanager:b}}", HasOld: true, HasNew: true, Secret: true},
				{Path: "KeyName", Old: "***", New: "***", HasOld: true, HasNew: true, NoEcho: true},
				{Path: "Monitoring", Old: true, New: true, HasOld: true, HasNew: true, Uncertain: true},
				{Path: "Tags", New: []any{}, HasNew: true},
			}},
			{LogicalID: "Evil\n  [-] Everything\u202e\x1b[2J", Type: "Custom::\u2066X", Action: Create},
			{LogicalID: "Unchanged", Type: "AWS::SNS::Topic", Action: NoChange},
			{LogicalID: "Nested", Type: "AWS::CloudFormation::Stack", Action: NoChange},
		},
		Outputs: []OutputChange{
			{Name: "Later", Action: Create, New: object(t, `{"Ref":"X"}`), HasNew: true, Unresolved: true},
			{Name: "Old", Action: Update, HasOld: true, OldRedacted: true, New: "{{resolve:secretsmanager:s:SecretString}}", HasNew: true, Secret: true},
			{Name: "Clear", Action: Update, Old: "hunter2", HasOld: true, New: "hunter3", HasNew: true, Secret: true},
			{Name: "List", Action: Create, New: []any{"a\u202eb\x07"}, HasNew: true},
		},
	}
	p.AddChild("Nested", child)
	p.AddChild("Unchanged", &Plan{Stack: "S~Same"})
	got := p.Text()
	for _, bad := range []string{"hunter", "\u202e", "\u2066", "\x1b", "\x07", "\n  [-] Everything"} {
		if strings.Contains(got, bad) {
			t.Errorf("the text holds %q", bad)
		}
	}
	golden(t, "text.golden", got)
}

func TestTextWithoutChanges(t *testing.T) {
	p := compute(t, Input{Current: recordOf(t, "A", "AWS::SNS::Topic", `{}`), Desired: []Resource{{LogicalID: "A", Type: "AWS::SNS::Topic"}}})
	if d := cmp.Diff("✓ No changes detected for stack S\n", p.Text()); d != "" {
		t.Errorf("(T-430) (-want +got)\n%s", d)
	}
}

// The JSON form, with every row of the reference (T-450, T-451).
func TestJSON(t *testing.T) {
	in := everyRow(t)
	in.Current.Outputs.Set("Kept", "e")
	in.Desired[0].Secret = []string{"Tags"}
	p := compute(t, in)
	p.AddChild("M", &Plan{Stack: "S~M", Region: "eu-west-1", Changes: []*Change{
		{LogicalID: "R", Type: "AWS::SNS::Topic", Action: Retain, DeletionPolicy: "Retain", Route: Route{ProvisionedBy: state.ByCloudControl, Sticky: true}},
		{LogicalID: "L", Type: "AWS::ElasticLoadBalancingV2::Listener", Action: MayReplace, Route: Route{Returning: true}, Properties: []PropertyChange{
			{Path: "Port", New: object(t, `{"Ref":"X"}`), HasNew: true, MayReplace: true, Unresolved: true},
		}},
	}})
	b, err := JSON([]*Plan{p})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.json", string(b)+"\n")
}
