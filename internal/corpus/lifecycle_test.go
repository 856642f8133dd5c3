package corpus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// Assemblies are deployed, looked at with the aws command line, deployed again,
// which changes nothing, looked at for drift, of which there is none (S-317), and destroyed, which leaves nothing but what the
// template retains.
func TestLifecycle(t *testing.T) {
	for _, program := range []string{"moto_server", "aws"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: no assembly is deployed", program)
		}
	}
	var tally tally
	var mu sync.Mutex
	covered := map[string]map[string]int{"sdk": {}, "cc-api": {}}
	// Those in the repository are always looked at, the others as far as that
	// tells something new.
	always, shared := map[string]bool{}, &budget{left: map[string]int{}}
	for _, e := range index(t, committed) {
		always[e.Name] = true
	}
	only, err := regexp.Compile(os.Getenv("CDKD_CORPUS_ONLY")) // for a person who looks into some
	if err != nil {
		t.Fatal(err)
	}
	work := make(chan entry)
	t.Run("assemblies", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				lab := startLab(t)
				for e := range work {
					t.Run(e.Name, func(t *testing.T) {
						b := shared
						if always[e.Name] && !testing.Short() {
							b = nil
						}
						made := lab.lifecycle(t, e, b)
						if t.Failed() {
							tally.add("FAILED")
							return
						}
						tally.add("passed")
						mu.Lock()
						defer mu.Unlock()
						for _, r := range made {
							by := "sdk"
							if r.byCloudControl() {
								by = "cc-api"
							}
							covered[by][r.row.ResourceType]++
						}
					})
				}
			})
		}
		for _, e := range entries(t) {
			if why := leftOut(e); why != "" {
				tally.add("left out: " + why)
				continue
			}
			if !only.MatchString(e.Name) {
				continue
			}
			work <- e
		}
		close(work)
		wg.Wait()
	})
	tally.print(t)
	for _, by := range slices.Sorted(maps.Keys(covered)) {
		t.Logf("%d types by %s: %v", len(covered[by]), by, covered[by])
	}
	for _, typ := range slices.Sorted(maps.Keys(covered["sdk"])) {
		if _, ok := probes[typ]; !ok {
			t.Logf("nobody said how to look at %s", typ)
		}
	}
	if t.Failed() || only.String() != "" {
		return
	}
	if n := tally.n["passed"]; n < 40 {
		t.Errorf("%d assemblies passed, want at least 40", n)
	}
	for _, typ := range firstTypes {
		if covered["sdk"][typ] == 0 {
			t.Errorf("no assembly has %s made by direct calls", typ)
		}
	}
	if n := len(covered["cc-api"]); n < 15 {
		t.Errorf("%d types were made by Cloud Control, want at least 15", n)
	}
}

// firstTypes are the types that every app of some size has.
var firstTypes = []string{
	"AWS::CloudWatch::Alarm",
	"AWS::DynamoDB::Table",
	"AWS::Events::Rule",
	"AWS::IAM::InstanceProfile",
	"AWS::IAM::ManagedPolicy",
	"AWS::IAM::Policy",
	"AWS::IAM::Role",
	"AWS::Lambda::EventSourceMapping",
	"AWS::Lambda::Function",
	"AWS::Lambda::LayerVersion",
	"AWS::Lambda::Permission",
	"AWS::Lambda::Url",
	"AWS::Logs::LogGroup",
	"AWS::S3::Bucket",
	"AWS::S3::BucketPolicy",
	"AWS::SNS::Subscription",
	"AWS::SNS::Topic",
	"AWS::SNS::TopicPolicy",
	"AWS::SQS::Queue",
	"AWS::SQS::QueuePolicy",
	"AWS::SSM::Parameter",
	"AWS::StepFunctions::StateMachine",
}

func leftOut(e entry) string {
	switch {
	case e.fixture():
		return "fixture"
	case slices.Contains(lookups, e.Name), macros[e.Name] != "", unsupported[e.Name] != nil, mistaken[e.Name] != "":
		return "cannot be planned"
	case undeployed[e.Name] != "":
		return undeployed[e.Name]
	}
	return ""
}

// A lab is an account to try assemblies in, one after the other.
type lab struct {
	s     *sandbox.Sandbox
	dirty bool // the last one left something, or had been given something
}

func startLab(t *testing.T) *lab {
	s, err := sandbox.Start(t.Context(), sandbox.Options{Upstream: sandbox.Moto})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &lab{s: s, dirty: true}
}

// clean empties the account where that is needed, for another assembly.
func (l *lab) clean(t *testing.T, ctx context.Context) {
	t.Helper()
	if l.dirty {
		if err := l.s.Reset(ctx); err != nil {
			t.Fatal(err)
		}
		l.s.S3.AddBucket(bucket, "us-east-1", "")
		l.s.S3.AddBucket(assetBucket, "us-east-1", "")
		l.s.S3.PutObject(assetBucket, "corpus/asset.zip", archive(t))
	}
	l.dirty = true
}

// lifecycle takes an assembly through its life and returns what was made.
func (l *lab) lifecycle(t *testing.T, e entry, b *budget) []resource {
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
	defer cancel()
	start := time.Now()
	lap := func(what string) {
		t.Logf("%s: %s", what, time.Since(start).Round(time.Millisecond))
		start = time.Now()
	}
	l.clean(t, ctx)
	dir := prepare(t, l.s, e.dir)
	a, err := assembly.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	values := given(a.Stacks)
	seeded := putParameters(t, l.s, a.Stacks, values, true)
	l.s.Handle("*", answering(t, dir))

	selection := engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}
	deploy := engine.DeployOptions{
		Selection: selection, Parameters: values,
		ResourceTimeout: time.Minute, Concurrency: 8, StackConcurrency: 4,
	}
	run, err := newEngine(t, l.s, nil).Deploy(ctx, deploy)
	if fault := unlike(run, err, result.Success); fault != "" {
		t.Fatalf("deploy: %s", fault)
	}
	lap("deploy")
	made := recorded(t, ctx, newEngine(t, l.s, nil))
	foreign := func(id string) bool {
		return slices.Contains(seeded, id) || id == bucket || id == assetBucket || strings.HasPrefix(id, "/aws/service/") ||
			strings.HasPrefix(id, "cdk-") && strings.Contains(id, "-assets-")
	}
	lists := listings(made, func(resource) bool { return true })
	for _, fault := range append(look(ctx, l.s, b, lists, foreign), inspect(ctx, l.s, b, made)...) {
		t.Errorf("after the deploy: %s", fault)
	}

	lap("look")
	l.s.ClearLog()
	run, err = newEngine(t, l.s, nil).Deploy(ctx, deploy)
	if fault := unlike(run, err, result.NoChange); fault != "" {
		t.Errorf("second deploy: %s", fault)
	}
	for _, r := range l.s.Log() {
		if mutates(r) {
			t.Errorf("second deploy: %s:%s %s", r.Service, r.Action, r.Resource)
		}
	}

	lap("second deploy")
	for _, fault := range l.drift(t, ctx, e.Name) {
		t.Errorf("drift: %s", fault)
	}

	lap("drift")
	run, err = newEngine(t, l.s, nil).Destroy(ctx, engine.DestroyOptions{
		Selection: selection, RemoveProtection: true,
		ResourceTimeout: time.Minute, Concurrency: 8, StackConcurrency: 4,
	})
	if fault := unlike(run, err, result.Success); fault != "" {
		t.Fatalf("destroy: %s", fault)
	}
	lap("destroy")
	if refs, err := newEngine(t, l.s, nil).StateList(ctx); err != nil || len(refs) > 0 {
		t.Errorf("still recorded after the destroy: %v, %v", refs, err)
	}
	kept := func(r resource) bool {
		return plan.Keeps(plan.DeletionPolicy(r.row.ResourceType, r.row.Properties, r.row.DeletionPolicy))
	}
	for _, fault := range look(ctx, l.s, b, listings(made, kept), foreign) {
		t.Errorf("after the destroy: %s", fault)
	}
	lap("look again")
	l.dirty = t.Failed() || len(seeded) > 0 || slices.ContainsFunc(made, kept)
	return made
}

// unlike says how a run differs from what was wanted of it.
func unlike(run *result.Run, err error, want result.Outcome) string {
	if err == nil && run.Outcome == want {
		return ""
	}
	faults := []error{err, fmt.Errorf("outcome %s, want %s", run.Outcome, want)}
	for _, s := range run.Stacks {
		if s.Message != "" {
			faults = append(faults, fmt.Errorf("%s: %s", s.Name, s.Message))
		}
		for _, f := range s.Failures {
			faults = append(faults, fmt.Errorf("%s %s: %s", f.LogicalID, f.Type, f.Message))
		}
		for _, u := range s.Unaddressed {
			faults = append(faults, fmt.Errorf("%s %s left: %s", u.LogicalID, u.Type, u.Reason))
		}
		if want == result.NoChange && s.Plan != nil {
			for _, c := range s.Plan.Changes {
				if c.Action != plan.NoChange {
					faults = append(faults, fmt.Errorf("%s %s: %s %+v", c.LogicalID, c.Type, c.Action, c.Properties))
				}
			}
		}
	}
	return errors.Join(faults...).Error()
}

// recorded reads what the records of all stacks hold.
func recorded(t *testing.T, ctx context.Context, e *engine.Engine) (all []resource) {
	t.Helper()
	refs, err := e.StateList(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range refs {
		shown, err := e.StateShow(ctx, ref.Stack, ref.Region)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range shown.Record.LogicalIDs() {
			r := resource{ref.Stack, ref.Region, id, shown.Record.Row(id)}
			if elsewhere := r.text("Region"); elsewhere != "" && r.row.ResourceType == "AWS::SNS::Subscription" {
				r.region = elsewhere // where its topic is
			}
			if r.made() {
				all = append(all, r)
			}
		}
	}
	return all
}

// mutates tells whether a request of a deploy changed something other than its
// own lock and history.
func mutates(r sandbox.Request) bool {
	for _, verb := range []string{"Get", "List", "Describe", "Head", "BatchGet"} {
		if strings.HasPrefix(r.Action, verb) {
			return false
		}
	}
	own := r.Service == "s3" && strings.HasPrefix(r.Resource, bucket+"/")
	return !own || !strings.HasSuffix(r.Resource, "/lock.json") && !strings.Contains(r.Resource, "/deployments/")
}
