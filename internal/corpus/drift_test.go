package corpus

import (
	"context"
	"fmt"
	"testing"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider/awssdk"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// drift looks for drift right after a deploy, told by what the template declares
// and then by what was read back, and returns what it takes for some.
func (l *lab) drift(t *testing.T, ctx context.Context, assembly string) (faults []string) {
	t.Helper()
	e := newEngine(t, l.s, nil)
	all := engine.DriftOptions{Recorded: engine.RecordSelection{All: true}, Concurrency: 8}
	readers := map[string]bool{}
	for _, r := range awssdk.Resources() {
		readers[r.Type] = r.Read != nil
	}
	look := func(baseline string) {
		run := e.Drift(ctx, all)
		if run.Message != "" {
			faults = append(faults, run.Message)
		}
		for _, s := range run.Stacks {
			for _, r := range s.Resources {
				own, sdk := readers[r.Type]
				switch {
				case sdk && !own:
					// Cloud Control here knows nothing of what the SDK made.
				case r.Drift == result.DriftFound:
					for _, d := range r.Differences {
						if baseline == "declared" && attachedFromOutside[assembly] == d.Path.Property() {
							continue
						}
						faults = append(faults, fmt.Sprintf("%s: %s %s: %s: %s -> %s", baseline, r.LogicalID, r.Type, d.Path, plan.Readable(d.Expected), value.JSON(d.Actual)))
					}
				case r.Drift != result.InSync && r.Drift != result.DriftUnsupported:
					faults = append(faults, fmt.Sprintf("%s: %s %s: %s %s", baseline, r.LogicalID, r.Type, r.Drift, r.Reason))
				}
			}
		}
	}
	look("declared")
	if _, err := e.RefreshObserved(ctx, engine.RefreshOptions{RecordSelection: all.Recorded}); err != nil {
		faults = append(faults, err.Error())
	}
	look("read back")
	return faults
}

// attachedFromOutside are assemblies in which a stack attaches something to a
// resource of a stack that is nested in it, and the property in which that is
// seen. Until the resource is read back that is told as drift.
var attachedFromOutside = map[string]string{"cdk-aws-dynamodb-global": "ManagedPolicyArns"}
