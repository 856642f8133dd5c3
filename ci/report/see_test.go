package report

import (
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// Several failures of one kind lead to its page once.
func TestPagesAreNamedOnce(t *testing.T) {
	denied, quota := guideTo("access-denied"), guideTo("quota")
	r := &result.Run{Command: "deploy"}
	for _, name := range []string{"A", "B"} {
		r.Add(&result.Stack{Name: name, Region: "eu-west-1", Outcome: result.Failed, Failures: []result.Failure{
			{LogicalID: "Q", Type: "AWS::SQS::Queue", Action: plan.Create, Message: "no", Page: denied},
			{LogicalID: "R", Type: "AWS::SQS::Queue", Action: plan.Create, Message: "no", Page: denied},
		}})
	}
	r.Stacks[1].Page = quota
	for _, text := range []string{Text(r), Markdown(r)} {
		if strings.Count(text, denied) != 1 || strings.Count(text, quota) != 1 {
			t.Errorf("want both pages once:\n%s", text)
		}
	}
	drift := &result.DriftRun{Outcome: result.Drifted, Stacks: []*result.DriftedStack{{Name: "A", Page: denied}, {Name: "B", Page: denied}}}
	for _, text := range []string{DriftText(drift), DriftMarkdown(drift)} {
		if strings.Count(text, denied) != 1 {
			t.Errorf("want the page once:\n%s", text)
		}
	}
}
