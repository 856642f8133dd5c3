package plan

import (
	"slices"
	"testing"

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
		Route: func(want *Resource, _ *value.Object, row *state.Resource) (Route, error) {
			switch {
			case want.Type == "AWS::S3::Bucket":
				return Route{ProvisionedBy: state.ByCloudControl, Unhandled: []string{"ObjectLockX", "Other"}}, nil
			case row != nil && row.ProvisionedBy == state.ByCloudControl:
				return Route{ProvisionedBy: state.ByCloudControl, Sticky: true}, nil
			}
			return Route{ProvisionedBy: state.BySDK}, nil
		},
	}
}

func TestDigestIgnoresOrder(t *testing.T) {
	a := compute(t, everyRow(t))
	in := everyRow(t)
	slices.Reverse(in.Desired)
	slices.Reverse(in.Outputs)
	in.Desired = append(in.Desired, Resource{LogicalID: "CDKMetadata", Type: "AWS::CDK::Metadata"})
	for i, r := range in.Desired {
		if r.LogicalID == "N" {
			in.Desired[i].Properties = object(t, `{"Other":2,"ObjectLockX":1}`)
		}
	}
	if b := compute(t, in); a.Digest() != b.Digest() {
		t.Error("the same deploy in another order has another digest")
	}
	b := compute(t, everyRow(t))
	b.Changes = append(b.Changes, &Change{LogicalID: "Unchanged", Type: "AWS::SNS::Topic", Action: NoChange, PhysicalID: "x"})
	b.Children = append(b.Children, &Plan{Stack: "S~Unchanged"})
	if a.Digest() != b.Digest() {
		t.Error("what does not change is in the digest")
	}
	if n := len(a.Digest()); n != 64 {
		t.Errorf("%d digits", n)
	}
}

func TestDigestSeesEveryDifference(t *testing.T) {
	want := compute(t, everyRow(t)).Digest()
	seen := map[string]string{want: "the plan itself"}
	for name, change := range map[string]func(p *Plan){
		"stack":              func(p *Plan) { p.Stack = "T" },
		"region":             func(p *Plan) { p.Region = "us-east-1" },
		"one row less":       func(p *Plan) { p.Changes = p.Changes[1:] },
		"action":             func(p *Plan) { p.Change("D").Action = Retain },
		"type":               func(p *Plan) { p.Change("D").Type = "AWS::SQS::Queue" },
		"physical id":        func(p *Plan) { p.Change("D").PhysicalID = "other" },
		"layer":              func(p *Plan) { p.Change("F").Route.ProvisionedBy = "sdk" },
		"policy of a delete": func(p *Plan) { p.Change("D").DeletionPolicy = "Snapshot" },
		"new value":          func(p *Plan) { p.Change("Q").Properties[0].New = "c" },
		"old value":          func(p *Plan) { p.Change("Q").Properties[0].Old = "c" },
		"absence":            func(p *Plan) { p.Change("Q").Properties[0].HasNew = false },
		"replacement":        func(p *Plan) { p.Change("Q").Properties[0].Replaces = false },
		"a created value":    func(p *Plan) { p.Change("N").Desired = object(t, `{"ObjectLockX":2,"Other":2}`) },
		"a number as text":   func(p *Plan) { p.Change("N").Desired = object(t, `{"ObjectLockX":"1","Other":2}`) },
		"attribute":          func(p *Plan) { p.Change("M").Attributes[0].New = "Delete" },
		"output":             func(p *Plan) { p.Outputs[0].New = "newer" },
		"export":             func(p *Plan) { p.Outputs[1].Export = !p.Outputs[1].Export },
		"child": func(p *Plan) {
			p.AddChild("M", &Plan{Stack: "S~M", Changes: []*Change{{LogicalID: "X", Action: Create}}})
		},
	} {
		p := compute(t, everyRow(t))
		change(p)
		got := p.Digest()
		if other, ok := seen[got]; ok {
			t.Errorf("%s: the same digest as %s", name, other)
		}
		seen[got] = name
	}
}
