package engine_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

var (
	interleavings = flag.Int("interleavings", 40, "how many interleavings TestTwoAtOnce plays of each story")
	oneSeed       = flag.Uint64("seed", 0, "the one seed of which TestTwoAtOnce plays an interleaving")
)

// A duel is two deploys of one stack at once.
type duel struct {
	name    string
	buckets []string // of each
	apps    []string // of each
	before  string   // what was deployed before, "" for nothing
	// takeover: the first loses its network for so long that its lock expires,
	// and the second starts when it is back.
	takeover bool
}

var duels = []duel{
	{"first deploys in one bucket", []string{"state", "state"}, []string{"v1", "v1"}, "", false},
	{"updates in one bucket", []string{"state", "state"}, []string{"v2", "v3"}, "v1", false},
	{"a takeover of a first deploy", []string{"state", "state"}, []string{"v1", "v1"}, "", true},
	{"a takeover of an update", []string{"state", "state"}, []string{"v2", "v2"}, "v1", true},
	{"first deploys in two buckets", []string{"state", "other"}, []string{"v1", "v1"}, "", false},
}

// The versions of the app. A bucket has a name of the engine's, the others have
// none.
var versions = map[string]string{
	"v1": `
		"Data": {"Type": "AWS::S3::Bucket", "Properties": {}},
		"Pool": {"Type": "AWS::Cognito::IdentityPool", "Properties": {"AllowUnauthenticatedIdentities": false, "IdentityPoolName": "one"}},
		"Other": {"Type": "AWS::Cognito::IdentityPool", "DependsOn": "Pool", "Properties": {"AllowUnauthenticatedIdentities": false, "IdentityPoolName": "c"}},
		"Old": {"Type": "AWS::Cognito::IdentityPool", "Properties": {"AllowUnauthenticatedIdentities": false, "IdentityPoolName": "old"}}`,
	"v2": `
		"Data": {"Type": "AWS::S3::Bucket", "Properties": {}},
		"Pool": {"Type": "AWS::Cognito::IdentityPool", "Properties": {"AllowUnauthenticatedIdentities": false, "IdentityPoolName": "two"}},
		"Other": {"Type": "AWS::Cognito::IdentityPool", "DependsOn": "Pool", "Properties": {"AllowUnauthenticatedIdentities": false, "IdentityPoolName": "d"}},
		"New": {"Type": "AWS::Cognito::IdentityPool", "Properties": {"AllowUnauthenticatedIdentities": false, "IdentityPoolName": "new"}},
		"Logs": {"Type": "AWS::S3::Bucket", "Properties": {}}`,
	"v3": `
		"Data": {"Type": "AWS::S3::Bucket", "Properties": {}},
		"Pool": {"Type": "AWS::Cognito::IdentityPool", "Properties": {"AllowUnauthenticatedIdentities": false, "IdentityPoolName": "three"}},
		"Newer": {"Type": "AWS::Cognito::IdentityPool", "Properties": {"AllowUnauthenticatedIdentities": false, "IdentityPoolName": "newer"}}`,
}

// TestTwoAtOnce lets two deploys of one stack run into each other in many ways:
// never do two write one record without one being refused, and every resource
// exists once, whoever came first (S-72, S-89, S-91, S-105, S-209, S-430, S-432).
func TestTwoAtOnce(t *testing.T) {
	apps := writeVersions(t)
	for _, d := range duels {
		t.Run(d.name, func(t *testing.T) {
			seeds := []uint64{*oneSeed}
			if *oneSeed == 0 {
				seeds = nil
				for n := range *interleavings {
					seeds = append(seeds, uint64(n+1))
				}
			}
			ends := map[string]int{}
			for _, seed := range seeds {
				aws, err := startSandbox(t, sandbox.Options{Upstream: sandbox.None})
				if err != nil {
					t.Fatal(err)
				}
				synctest.Test(t, func(t *testing.T) { ends[newArena(t, aws, d, apps, seed).play()]++ })
				aws.Close()
				if t.Failed() {
					t.Fatalf("this was seed %d; -run 'TestTwoAtOnce/%s' -seed %d plays that or one like it", seed, d.name, seed)
				}
			}
			t.Logf("%d interleavings: %v", len(seeds), ends)
		})
	}
}

// writeVersions writes the versions of the app, and returns where.
func writeVersions(t *testing.T) string {
	t.Helper()
	apps := t.TempDir()
	for name, resources := range versions {
		dir := filepath.Join(apps, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		writeApp(t, dir, map[string]string{"Shop": resources})
	}
	return apps
}

// An arena is where a duel is fought.
type arena struct {
	t    *testing.T
	aws  *sandbox.Sandbox
	duel duel
	apps string
	*schedule
	referee

	mu    sync.Mutex
	story []string
}

func newArena(t *testing.T, aws *sandbox.Sandbox, d duel, apps string, seed uint64) *arena {
	a := &arena{
		t: t, aws: aws, duel: d, apps: apps, schedule: newSchedule(aws, seed),
		referee: referee{map[string]bool{}, map[string][][]byte{}, map[string]int{}, map[string]int{}, map[string]string{}, map[string]int{}},
	}
	a.schedule.before, a.schedule.after, a.schedule.heard = a.mayHappen, a.happened, a.isHeard
	for _, b := range d.buckets {
		if !slices.Contains(aws.S3.Buckets(), b) {
			aws.S3.AddBucket(b, "us-east-1", "")
		}
	}
	return a
}

// engine is a process that has nothing in common with the others.
func (a *arena) engine(who, bucket string, client aws.HTTPClient) *engine.Engine {
	window := signals.Open(signals.Options{Signals: make(chan os.Signal)})
	a.t.Cleanup(window.Close)
	config := a.aws.Config()
	config.HTTPClient = client
	return engine.New(engine.Config{
		AWS: config, Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix, Owner: who, Version: "test", Window: window,
		Observe: func(e engine.Event) {
			if e.Kind == engine.Warning || e.Kind == engine.ResourceFailed {
				a.note("%s: %s %s %s", who, e.Kind, e.LogicalID, e.Text)
			}
		},
	})
}

func (a *arena) deploy(e *engine.Engine, app string) *result.Stack {
	run, err := e.Deploy(a.t.Context(), engine.DeployOptions{
		Selection:       engine.Selection{Assembly: filepath.Join(a.apps, app), Selection: assembly.Selection{All: true}},
		ResourceTimeout: 2 * time.Hour, Concurrency: 10, StackConcurrency: 1,
	})
	if len(run.Stacks) == 1 {
		return run.Stacks[0]
	}
	return &result.Stack{Outcome: run.Outcome, Reason: run.Reason, Message: fmt.Sprint(err)}
}

// alone deploys with nobody else about.
func (a *arena) alone(bucket, app string) *result.Stack {
	return a.deploy(a.engine("alone", bucket, &http.Client{Transport: unscheduled{a.aws}}), app)
}

// play plays the duel, and says how it ended.
func (a *arena) play() string {
	a.t.Cleanup(func() {
		if a.t.Failed() {
			a.t.Logf("what happened:\n%s", strings.Join(a.story, "\n"))
		}
	})
	if a.duel.before != "" {
		a.must(a.alone(a.duel.buckets[0], a.duel.before))
	}
	ends := make([]*result.Stack, 2)
	begun, ended := make(chan struct{}), [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	start := func(i int) {
		who := string(rune('A' + i))
		e := a.engine(who, a.duel.buckets[i], &http.Client{Transport: connection{a.schedule, who}})
		go func() {
			defer close(ended[i])
			ends[i] = a.deploy(e, a.duel.apps[i])
		}()
	}
	start(0)
	a.at(a.random.IntN(60), func() {
		close(begun)
		if a.duel.takeover {
			a.note("A is cut off")
			a.cutOff("A", state.LockTTL+time.Minute)
		}
		start(1)
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-ended[0]
		select {
		case <-begun:
			<-ended[1]
		default: // the first was done before the second's turn came
		}
	}()
	a.run(done)
	if ends[1] == nil {
		ends[1] = &result.Stack{Outcome: "not started"} // the first was done by then
	}
	end := fmt.Sprintf("%s and %s", ends[0].Outcome, ends[1].Outcome)
	for i, s := range ends {
		a.note("%c: %s %s %s", 'A'+i, s.Outcome, s.Reason, s.Message)
	}
	if a.t.Failed() {
		return end
	}
	if a.duel.buckets[0] != a.duel.buckets[1] {
		a.checkAccounted(a.duel.buckets...)
	} else {
		a.checkOneBucket(ends)
	}
	return end
}

func (a *arena) must(s *result.Stack) {
	a.t.Helper()
	if s.Outcome != result.Success && s.Outcome != result.NoChange {
		a.t.Errorf("deploy: %s %s %s %v %v", s.Outcome, s.Reason, s.Message, s.Failures, s.Warnings)
	}
}

func (a *arena) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.story = append(a.story, fmt.Sprintf(format, args...))
}
