package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
)

func (r *slowRun) rollback() *result.Stack {
	r.s.t.Helper()
	run, err := r.e.Rollback(r.s.t.Context(), engine.RollbackOptions{Stack: "Slow", ResourceTimeout: time.Hour})
	if err != nil {
		r.s.t.Fatal(err)
	}
	return run.Stacks[0]
}

// described are the work groups that there are, and what they are for.
func (s *slow) described() (all string) {
	for _, r := range s.CloudControl.Resources() {
		all += fmt.Sprintln(r.Identifier, r.Model["Description"])
	}
	return all
}

// What a cancelled deploy let go stands in its journal as failed; once it turned
// out to be made, it is an operation of that segment, and a rollback undoes it
// with the rest (S-190, P-12, P-26).
func TestRollbackAfterTheSeal(t *testing.T) {
	const journal = slowKey + "rollback-journal.json"
	app := func(resources string) string {
		return `{"Resources": {"Other": {"Type": "AWS::SQS::Queue"}` + resources + `}}`
	}
	const one = `, "Group": {"Type": "AWS::Athena::WorkGroup", "Properties": {"Name": "group", "Description": "one"}}`
	two := strings.Replace(one, "one", "two", 1)
	for _, tt := range []struct{ name, prepared, app, change string }{
		{"a create", app(""), app(one), "CreateResource"},
		{"an update", app(one), app(two), "UpdateResource"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := startSlow(t, tt.prepared)
			s.CloudControl.SetDelay(0)
			s.want(s.run().deploy(), result.Success)
			before := s.described()
			s.CloudControl.SetDelay(10 * time.Minute)
			s.ClearLog()
			s.write("Slow.template.json", tt.app)
			s.want(s.cancelled(tt.change, "GetResourceRequestStatus"), result.Cancelled)
			if body := s.object(journal); !strings.Contains(body, `"failedOperations"`) || !strings.Contains(body, `"Group"`) {
				t.Fatalf("the journal does not say what is open:\n%s", body)
			}
			s.finish()
			s.CloudControl.SetDelay(0)
			s.want(s.run().rollback(), result.Success)
			if after := s.described(); after != before {
				t.Errorf("there was %s, there is %s\n%s", before, after, s.log.String())
			}
			s.wantSettled()
			if body := s.object(journal); body != "" {
				t.Errorf("the journal is left:\n%s", body)
			}
		})
	}
}
