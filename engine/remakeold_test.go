package engine_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

// kill has the process die, as far as AWS can tell: from the nth of some requests
// on, which takes effect or does not, nothing is answered. It returns how to see
// whether that was reached, and to end it.
func (s *slow) kill(nth int, after bool, of func(*http.Request) bool) (revive func() (reached bool)) {
	count, dead := 0, false
	s.instead = func(r *http.Request) *http.Response {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !dead && of(r) {
			count++
			dead = count >= nth
			if dead && after {
				if out, err := http.DefaultClient.Do(r); err == nil {
					out.Body.Close()
				}
			}
		}
		if !dead {
			return nil
		}
		return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Request: r,
			Body: io.NopCloser(strings.NewReader(`{"__type": "Gone", "message": "killed"}`))}
	}
	return func() bool {
		s.mu.Lock()
		s.instead = nil
		reached := dead
		s.mu.Unlock()
		if _, err := s.run().e.ForceUnlock(s.t.Context(), []string{"Slow"}, "us-east-1"); err != nil {
			s.t.Fatal(err)
		}
		return reached
	}
}

func every(*http.Request) bool { return true }

func creating(r *http.Request) bool {
	return strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".CreateResource")
}

// gateways are the addresses of those that there are.
func (s *slow) gateways() (all []string) {
	for _, r := range s.CloudControl.Resources() {
		all = append(all, r.Model["IpAddress"].(string))
	}
	slices.Sort(all)
	return all
}

func (r *slowRun) deployWith(opt engine.DeployOptions) *result.Stack {
	r.s.t.Helper()
	opt.Selection = engine.Selection{Assembly: r.s.dir, Selection: assembly.Selection{All: true}}
	opt.ResourceTimeout = time.Hour
	run, err := r.e.Deploy(r.s.t.Context(), opt)
	if err != nil {
		r.s.t.Fatal(err)
	}
	return run.Stacks[0]
}

// A resource whose old copy had to go because it had the name is made by a create
// of its own, which is written down like any other: a run that is killed when it
// was sent makes no second one (S-230a, T-806, T-832).
func TestKilledAfterTheWayWasCleared(t *testing.T) {
	s := startSlow(t, "{"+`"Resources": {`+strings.ReplaceAll(gateway, "STACK", "Slow")+"}}")
	s.CloudControl.SetDelay(0)
	s.want(s.run().deploy(), result.Success)
	s.edit("192.0.2.1", "192.0.2.2")
	s.CloudControl.Fail(cloudcontrol.Failure{Operation: "CREATE", Code: "AlreadyExists"})
	revive := s.kill(2, true, creating)
	s.run().deployWith(engine.DeployOptions{Replacements: engine.Replacements{DeleteFirst: true}, NoRollback: true})
	if !revive() {
		t.Fatalf("nothing was sent a second time\n%s", s.log.String())
	}
	s.want(s.run().deployWith(engine.DeployOptions{Replacements: engine.Replacements{DeleteFirst: true}}), result.Success)
	if got := s.gateways(); !slices.Equal(got, []string{"192.0.2.2"}) {
		t.Errorf("there is %q\n%s", got, s.log.String())
	}
	s.wantSettled()
}

// Wherever a rollback dies that makes an old copy again, another one ends it, or
// the deploy after it: each resource is there once (P-35, S-132, T-806).
func TestRollbackThatRemakesKilledAtAnyRequest(t *testing.T) {
	first, step := requestsToKill()
	kills := 0
	for _, after := range []bool{false, true} {
		for n := first; ; n += step {
			s := startSlow(t, `{"Resources": {`+strings.ReplaceAll(gateway, "STACK", "Slow")+`,
				"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"BillingMode": "PAY_PER_REQUEST",
					"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}},
				"Never": {"Type": "AWS::SSM::Parameter", "DependsOn": ["X", "Table"], "Properties": {"Type": "String", "Value": "one"}}}}`)
			s.tableReady.Store(true)
			s.CloudControl.SetDelay(0)
			s.want(s.run().deploy(), result.Success)
			s.edit("192.0.2.1", "192.0.2.2")
			s.edit(`"one"`, `"two"`)
			fault := s.AddFault(sandbox.Fault{Action: "PutParameter", Status: 400, Code: "ValidationException"})
			s.want(s.run().deployWith(engine.DeployOptions{NoRollback: true, Replacements: engine.Replacements{Recreate: []string{"X", "Table"}, LoseData: []string{"true"}}}), result.Failed)
			s.RemoveFault(fault)
			revive := s.kill(n, after, every)
			s.run().tryRollback()
			if !revive() {
				break
			}
			kills++
			s.run().tryRollback()
			s.edit("192.0.2.2", "192.0.2.1")
			s.edit(`"two"`, `"one"`)
			if st := s.run().deploy(); st.Outcome != result.NoChange && st.Outcome != result.Success {
				t.Fatalf("killed at request %d, after its effect %t: %+v\n%s", n, after, st, s.log.String())
			}
			tables, err := dynamodb.NewFromConfig(s.Config()).ListTables(t.Context(), &dynamodb.ListTablesInput{})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.gateways(); !slices.Equal(got, []string{"192.0.2.1"}) || len(tables.TableNames) != 1 {
				t.Errorf("killed at request %d, after its effect %t: there is %q and %q\n%s", n, after, got, tables.TableNames, s.log.String())
			}
			s.wantSettled()
		}
	}
	t.Logf("killed %d times", kills)
}

// tryRollback rolls back what there is to roll back.
func (r *slowRun) tryRollback() {
	r.s.t.Helper()
	_, err := r.e.Rollback(r.s.t.Context(), engine.RollbackOptions{Stack: "Slow", ResourceTimeout: time.Hour})
	if err != nil {
		r.s.t.Log(err)
	}
}
