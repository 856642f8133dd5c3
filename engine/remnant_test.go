package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

// What a failed create of Cloud Control left and nobody could delete is not
// forgotten: its id is in the failure, it is retried by the rollback, by the next
// deploy before another create, by `rollback` and by destroy, and until it is gone
// the outcome says that it is there (T-1003).
func TestRemnantThatCannotBeDeleted(t *testing.T) {
	const name, nameless = `{"Resources": {"R": {"Type": "AWS::Athena::WorkGroup", "Properties": {"Name": "group", "Description": "one"}}}}`,
		`{"Resources": {"R": {"Type": "AWS::CodeArtifact::PackageGroup", "Properties": {"DomainName": "d", "Pattern": "/npm/*"}}}}`
	deploy := func(s *slow) *result.Stack { return s.run().deployWith(engine.DeployOptions{}) }
	destroy := func(s *slow) *result.Stack { return s.run().destroy() }
	for rule, tt := range map[string]struct {
		template   string
		refused    int // deletes
		noRollback bool
		then       func(*slow) *result.Stack
		left       int // resources after that
	}{
		"the rollback deletes it":                         {name, 1, false, deploy, 1},
		"the next deploy does before it makes another":    {name, 2, false, deploy, 1},
		"also where a second one would not be refused":    {nameless, 2, false, deploy, 1},
		"the command rollback does":                       {name, 2, false, (*slow).rollBack, 0},
		"the command rollback does when nothing else did": {name, 1, true, (*slow).rollBack, 0},
		"destroy does":                       {name, 2, false, destroy, 0},
		"destroy does when nothing else did": {name, 1, true, destroy, 0},
	} {
		t.Run(rule, func(t *testing.T) {
			s := startSlow(t, tt.template)
			s.finish()
			s.CloudControl.Fail(cloudcontrol.Failure{Operation: "CREATE", Code: "NotStabilized", Message: "no capacity", Remnant: true})
			s.CloudControl.Fail(cloudcontrol.Failure{Operation: "DELETE", Code: "AccessDenied", Times: tt.refused})
			st := s.run().deployWith(engine.DeployOptions{NoRollback: tt.noRollback})
			s.want(st, result.Failed)
			left := tt.refused > 1 || tt.noRollback
			if n := s.count("CreateResource"); n != 1 || len(s.groups()) > 1 || (len(s.groups()) == 1) != left {
				t.Fatalf("%d creates, and there is %v\n%s", n, s.groups(), s.log.String())
			}
			f := st.Failures[0]
			if f.PhysicalID == "" || !strings.Contains(f.Message, "it left "+f.PhysicalID+" behind") {
				t.Errorf("%+v", f)
			}
			named := slices.ContainsFunc(st.Unaddressed, func(u result.Unaddressed) bool {
				return u.PhysicalID == f.PhysicalID && strings.Contains(u.Remedy, "rollback")
			})
			if want := left && !tt.noRollback; named != want || st.RollbackIncomplete != want || st.RolledBack != !left {
				t.Errorf("named: %t, incomplete: %t, rolled back: %t\n%+v", named, st.RollbackIncomplete, st.RolledBack, st.Unaddressed)
			}
			end := tt.then(s)
			if end.Outcome != result.Success || len(s.groups()) != tt.left {
				t.Errorf("then: %s, and there is %v\n%+v\n%s", end.Outcome, s.groups(), end, s.log.String())
			}
			if tt.left == 1 {
				s.want(deploy(s), result.NoChange)
			}
			if body := s.object(slowKey + "rollback-journal.json"); body != "" {
				t.Errorf("the journal is left:\n%s", body)
			}
		})
	}
}

// Beside what it was to replace, too, which is not touched; and as long as it cannot
// be deleted, what ran into that is not done (T-1003).
func TestRemnantOfAReplacement(t *testing.T) {
	for rule, tt := range map[string]struct {
		then    func(*slow) *result.Stack
		refused int // deletes
		outcome result.Outcome
		want    []string
	}{
		"the command rollback deletes it": {(*slow).rollBack, 2, result.Success, []string{"group"}},
		"it cannot be deleted yet":        {(*slow).rollBack, 3, result.Partial, []string{"group", "other"}},
		"destroy deletes both":            {func(s *slow) *result.Stack { return s.run().destroy() }, 2, result.Success, nil},
		"destroy cannot yet":              {func(s *slow) *result.Stack { return s.run().destroy() }, 3, result.Partial, []string{"other"}},
		"the next deploy deletes it":      {func(s *slow) *result.Stack { return s.run().deployWith(engine.DeployOptions{}) }, 2, result.Success, []string{"other"}},
	} {
		t.Run(rule, func(t *testing.T) {
			s := startSlow(t, only("Group"))
			s.finish()
			s.want(s.run().deployWith(engine.DeployOptions{}), result.Success)
			s.edit(`"group"`, `"other"`)
			s.CloudControl.Fail(cloudcontrol.Failure{Operation: "CREATE", Code: "NotStabilized", Remnant: true})
			s.CloudControl.Fail(cloudcontrol.Failure{Operation: "DELETE", Code: "AccessDenied", Times: tt.refused})
			st := s.run().deployWith(engine.DeployOptions{})
			if st.Outcome != result.Failed || !st.RollbackIncomplete {
				t.Fatalf("%+v", st)
			}
			end := tt.then(s)
			got := s.groups()
			slices.Sort(got)
			if end.Outcome != tt.outcome || !slices.Equal(got, tt.want) {
				t.Errorf("then: %s, and there is %v, want %s and %v\n%+v\n%s", end.Outcome, got, tt.outcome, tt.want, end, s.log.String())
			}
		})
	}
}

func (s *slow) rollBack() *result.Stack {
	s.t.Helper()
	run, err := s.run().e.Rollback(s.t.Context(), engine.RollbackOptions{Stack: "Slow", ResourceTimeout: time.Minute})
	if err != nil {
		s.t.Fatal(err)
	}
	return run.Stacks[0]
}
