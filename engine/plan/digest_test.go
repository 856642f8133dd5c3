package plan

import (
	"slices"
	"testing"
)

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
