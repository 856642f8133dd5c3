package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A custom resource whose update was answered with another id is taken back as in
// CloudFormation: its handler is sent an update of the new id to the old
// properties, and then a delete of what the answer supersedes (S-133, T-648).
func TestHandlerTakesBack(t *testing.T) {
	for name, tt := range map[string]struct {
		ids        []string // of its answers, to creates and updates
		noRollback bool     // it is undone by the command
		want       string   // what it is asked once the deploy has failed
		next       string   // and by the next deploy that does something
	}{
		"the id that it had":     {[]string{"one", "two", "one"}, false, "Update two to first from second, Delete two of second", ""},
		"the id that it has":     {[]string{"one", "two", "two"}, false, "Update two to first from second", "Delete one of first"},
		"an id of its own":       {[]string{"one", "two", "three"}, false, "Update two to first from second, Delete two of second", "Delete one of first"},
		"undone by a command":    {[]string{"one", "two", "one"}, true, "Update two to first from second, Delete two of second", ""},
		"in place, then another": {[]string{"one", "one", "two"}, false, "Update one to first from second, Delete one of second", ""},
	} {
		t.Run(name, func(t *testing.T) {
			template := strings.Replace(only("Thing"), `"Size":3`, `"Setting": "first"`, 1)
			s := startSlow(t, strings.TrimSuffix(template, "}}")+`,
				"Last": {"Type": "AWS::SSM::Parameter", "DependsOn": ["Thing"], "Properties": {"Type": "String", "Value": "one"}}}}`)
			var asked []string
			setting := func(e map[string]any, of string) any {
				p, _ := e[of].(map[string]any)
				return p["Setting"]
			}
			ids := tt.ids
			s.Handle("handler", func(_ context.Context, e map[string]any) (any, error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				switch e["RequestType"] {
				case "Delete":
					asked = append(asked, fmt.Sprintf("Delete %v of %v", e["PhysicalResourceId"], setting(e, "ResourceProperties")))
					return map[string]any{"Status": "SUCCESS"}, nil
				case "Update":
					asked = append(asked, fmt.Sprintf("Update %v to %v from %v", e["PhysicalResourceId"], setting(e, "ResourceProperties"), setting(e, "OldResourceProperties")))
				}
				id := ids[0]
				ids = ids[1:]
				return map[string]any{"Status": "SUCCESS", "PhysicalResourceId": id}, nil
			})
			s.want(s.run().deployWith(engine.DeployOptions{}), result.Success)
			s.edit(`"first"`, `"second"`)
			s.edit(`"one"`, `"two"`)
			s.AddFault(sandbox.Fault{Action: "PutParameter", Status: 400, Code: "ValidationException", ID: "last"})
			st := s.run().deployWith(engine.DeployOptions{NoRollback: tt.noRollback})
			s.want(st, result.Failed)
			if tt.noRollback {
				run, err := s.run().e.Rollback(t.Context(), engine.RollbackOptions{Stack: "Slow", ResourceTimeout: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				st = run.Stacks[0]
				s.want(st, result.Success)
			} else if !st.RolledBack {
				t.Errorf("not rolled back: %+v", st.Unaddressed)
			}
			if got, want := strings.Join(asked, ", "), "Update one to second from first, "+tt.want; got != want {
				t.Errorf("it was asked\n%s, want\n%s\n%s", got, want, s.log.String())
			}
			asked = nil
			s.RemoveFault("last")
			s.edit(`"second"`, `"first"`)
			s.edit(`"two"`, `"three"`)
			s.want(s.run().deployWith(engine.DeployOptions{}), result.Success)
			if got := strings.Join(asked, ", "); got != tt.next {
				t.Errorf("the next deploy asked %q, want %q\n%s", got, tt.next, s.log.String())
			}
			s.wantSettled()
		})
	}
}
