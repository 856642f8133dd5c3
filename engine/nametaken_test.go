package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// foreseen is what a diff of the app that was deployed last refuses.
func (v *van) foreseen(only ...string) (refused []string) {
	v.t.Helper()
	selection := engine.Selection{Assembly: v.dir, Selection: assembly.Selection{All: true}}
	if only != nil {
		selection.Selection = assembly.Selection{Patterns: only, Exclusively: true}
	}
	run, err := v.engine().Diff(v.t.Context(), engine.DiffOptions{Selection: selection, StackConcurrency: 1})
	if err != nil {
		v.t.Fatal(err)
	}
	var below func(p *plan.Plan)
	below = func(p *plan.Plan) {
		for _, c := range p.Changes {
			if c.Refused != "" {
				refused = append(refused, c.LogicalID+": "+c.Refused)
			}
		}
		for _, child := range p.Children {
			below(child)
		}
	}
	for _, s := range run.Stacks {
		below(s.Plan)
	}
	return refused
}

// What any stack of the bucket has on record is not taken over under its name,
// whether the app has that stack, does not deploy it, or has it no more; diff says
// so before, and what the refusal advises moves the resource.
func TestNameOfAStackThatIsNotDeployed(t *testing.T) {
	const queue = `"%s": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "van-q"}}`
	mine, yours := fmt.Sprintf(queue, "Mine"), fmt.Sprintf(queue, "Yours")
	const kept = `, and its template keeps it`
	for name, tt := range map[string]struct {
		before, after parked
		only          []string
		held          string
	}{
		"it is of another app": {
			parked{"WA": k("a") + "," + mine}, parked{"WB": k("b") + "," + yours}, nil,
			`stack WA in us-east-1 has the resource of the name "van-q" as Mine`},
		"it is nested in one of another app": {
			parked{"WA": k("a") + "," + nest("WA~C", 1), "WA~C": mine}, parked{"WB": k("b") + "," + yours}, nil,
			`stack WA~C in us-east-1 has the resource of the name "van-q" as Mine`},
		"a nested stack takes it": {
			parked{"WA": k("a") + "," + mine}, parked{"WB": k("b") + "," + nest("WB~C", 1), "WB~C": yours}, nil,
			`stack WA in us-east-1 has the resource of the name "van-q" as Mine`},
		"it is not selected": {
			parked{"WA": k("a") + "," + mine}, parked{"WA": k("a") + "," + mine, "WB": k("b") + "," + yours}, []string{"WB"},
			`stack WA in us-east-1 has the resource of the name "van-q" as Mine` + kept},
		"it is nested in one that is not selected": {
			parked{"WA": k("a") + "," + nest("WA~C", 1), "WA~C": mine},
			parked{"WA": k("a") + "," + nest("WA~C", 1), "WA~C": mine, "WB": k("b") + "," + yours}, []string{"WB"},
			`stack WA~C in us-east-1 has the resource of the name "van-q" as Mine` + kept},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVan(t)
			v.deploy(tt.before)
			v.aws.ClearLog()
			run := v.deploy(tt.after, tt.only...)
			if run.Outcome != result.Failed || !strings.Contains(failures(run), "AWS::SQS::Queue Yours was not created: "+tt.held) {
				t.Errorf("%s: %s", run.Outcome, failures(run))
			}
			if got := v.records(); strings.Contains(fmt.Sprint(got), "Yours") || v.deleted() != nil {
				t.Errorf("recorded: %v; deleted: %v", got, v.deleted())
			}
			for _, r := range v.aws.Log() {
				if r.Action == "CreateQueue" {
					t.Error("the create was sent")
				}
			}
			if got := v.foreseen(tt.only...); len(got) != 1 || got[0] != "Yours: "+tt.held {
				t.Errorf("diff refuses %q", got)
			}
			if strings.HasSuffix(tt.held, kept) {
				return
			}
			holder := strings.Fields(tt.held)[1]
			if _, err := v.engine().StateOrphan(t.Context(), engine.OrphanOptions{Stacks: []string{holder}, Region: "us-east-1", Resources: []string{"Mine"}}); err != nil {
				t.Fatal(err)
			}
			if run := v.deploy(tt.after); run.Outcome != result.Success {
				t.Errorf("as advised: %s", failures(run))
			}
		})
	}
}
