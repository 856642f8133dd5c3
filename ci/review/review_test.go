package review

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

func run(stacks ...*plan.Plan) *result.Run {
	r := &result.Run{Command: "diff"}
	for _, p := range stacks {
		r.Add(&result.Stack{Name: p.Stack, Region: p.Region, Plan: p})
	}
	return r
}

func queue(delay string) *plan.Plan {
	return &plan.Plan{Stack: "Shop", Region: "eu-west-1", Changes: []*plan.Change{
		{LogicalID: "Queue", Type: "AWS::SQS::Queue", Action: plan.Update, Properties: []plan.PropertyChange{{Path: "DelaySeconds", Old: "1", New: delay, HasOld: true, HasNew: true}}},
		{LogicalID: "Same", Type: "AWS::SQS::Queue", Action: plan.NoChange},
	}}
}

func of(t *testing.T, r *result.Run, scope string) []Plan {
	t.Helper()
	plans, err := Of(r, scope)
	if err != nil {
		t.Fatal(err)
	}
	return plans
}

func TestDigestIsOfThePullRequest(t *testing.T) {
	a, b := of(t, run(queue("2")), "acme/shop#7"), of(t, run(queue("2")), "acme/shop#8")
	if a[0].Digest == b[0].Digest {
		t.Error("a plan that is copied to another pull request approves there (G-5.2)")
	}
	if again := of(t, run(queue("2")), "Acme/Shop#7"); again[0].Digest != a[0].Digest {
		t.Error("the same plan of the same pull request has another digest")
	}
	if raw := queue("2").Digest(); a[0].Digest == raw || len(a[0].Digest) != 32 {
		t.Errorf("digest %q", a[0].Digest)
	}
	if Digest(a) == Digest(b) || len(Digest(nil)) != 32 || Digest(nil) == Digest(a) || Digest(a) != Digest(of(t, run(queue("2")), "acme/shop#7")) {
		t.Error("the run's digest does not follow its plans'")
	}
}

func TestDifference(t *testing.T) {
	grown := queue("2")
	grown.Changes[0].Action = plan.Replace
	grown.Changes[1].Action = plan.Delete
	other := queue("2")
	other.Stack = "Other"
	nested := queue("2")
	nested.Children = []*plan.Plan{{Stack: "Shop~Net", Region: "eu-west-1", Changes: []*plan.Change{{LogicalID: "Vpc", Type: "AWS::EC2::VPC", Action: plan.Create}}}}
	none := &plan.Plan{Stack: "Shop", Region: "eu-west-1", Changes: []*plan.Change{{LogicalID: "Same", Action: plan.NoChange}}}
	tests := []struct {
		name          string
		reviewed, now *result.Run
		want          []string
	}{
		{"the same", run(queue("2")), run(queue("2")), nil},
		{"nothing to do any more", run(queue("2")), run(none), nil},
		{"less than was reviewed", run(queue("2"), other), run(queue("2")), nil},
		{"never reviewed", run(), run(queue("2")), []string{
			"Shop in eu-west-1: was not to be changed when it was reviewed, or was not reviewed", "+ Queue (AWS::SQS::Queue): update of DelaySeconds, which was not reviewed"}},
		{"another value", run(queue("2")), run(queue("3")), []string{"Shop in eu-west-1:",
			"  the same changes, with other values in one of them:", "  Queue (AWS::SQS::Queue): update of DelaySeconds"}},
		{"another action, and one more", run(queue("2")), run(grown), []string{"Shop in eu-west-1:",
			"! Queue (AWS::SQS::Queue): reviewed was update of DelaySeconds, now it is replace of DelaySeconds", "+ Same (AWS::SQS::Queue): delete, which was not reviewed"}},
		{"one less", run(grown), run(queue("2")), []string{"Shop in eu-west-1:",
			"! Queue (AWS::SQS::Queue): reviewed was replace of DelaySeconds, now it is update of DelaySeconds", "- Same (AWS::SQS::Queue): reviewed was delete, now nothing"}},
		{"in a nested stack", run(queue("2")), run(nested), []string{"Shop in eu-west-1:", "+ Net/Vpc (AWS::EC2::VPC): create, which was not reviewed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, Difference(of(t, tt.reviewed, ""), of(t, tt.now, ""))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// What compares templates is no plan that a deploy could be held to (G-5.3).
func TestTemplatesAreNoPlans(t *testing.T) {
	p := queue("2")
	p.FromTemplates = true
	if plans := of(t, run(p), "acme/shop#7"); len(plans) > 0 {
		t.Errorf("got %+v", plans)
	}
}
