package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
)

// The accounts of an organization: each an AWS of its own, with a state bucket.
const ours, theirs = "111111111111", "222222222222"

type organization struct {
	ours, theirs *sandbox.Sandbox

	mu     sync.Mutex
	events []engine.Event
}

// newOrganization returns an engine whose credentials are of one account, and which
// has those of another. An account that is without has no state bucket.
func newOrganization(t *testing.T, without ...string) (*engine.Engine, *organization) {
	t.Helper()
	o := &organization{}
	open := func(account string) *sandbox.Sandbox {
		aws, err := startSandbox(t, sandbox.Options{AccountID: account, Upstream: sandbox.Kumo})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { aws.Close() })
		if !slices.Contains(without, account) {
			aws.S3.AddBucket("cdkd-state-"+account, "us-east-1", "")
		}
		return aws
	}
	o.ours, o.theirs = open(ours), open(theirs)
	return engine.New(o.config(t)), o
}

func (o *organization) config(t *testing.T) engine.Config {
	config := configOn(t, o.ours)
	config.Bucket = state.Wanted{}
	config.Others = []engine.Account{{ID: theirs, AWS: o.theirs.Config(), RoleARN: "arn:aws:iam::" + theirs + ":role/deploy"}}
	config.Observe = func(ev engine.Event) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.events = append(o.events, ev)
	}
	return config
}

// order is how far the stacks came, in the order of events of a kind.
func (o *organization) order(kind engine.EventKind) (stacks []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, ev := range o.events {
		if ev.Kind == kind {
			stacks = append(stacks, ev.Stack)
		}
	}
	o.events = nil
	return stacks
}

// A madeFor is a stack of an app that is made for an account.
type madeFor struct {
	id, name, account string // "": any
	after             string // id of the stack that it depends on
	resources         string
}

// appOf writes an app of such stacks.
func appOf(t *testing.T, stacks ...madeFor) (dir string) {
	t.Helper()
	dir = t.TempDir()
	artifacts := map[string]any{}
	for _, s := range stacks {
		account := "unknown-account"
		if s.account != "" {
			account = s.account
		}
		artifact := map[string]any{
			"type": "aws:cloudformation:stack", "environment": "aws://" + account + "/us-east-1",
			"properties": map[string]any{"templateFile": s.id + ".json", "stackName": s.name},
		}
		if s.after != "" {
			artifact["dependencies"] = []string{s.after}
		}
		artifacts[s.id] = artifact
		if err := os.WriteFile(filepath.Join(dir, s.id+".json"), []byte(`{"Resources": {`+s.resources+`}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"version": "48.0.0", "artifacts": artifacts})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func queueNamed(name string) string {
	return fmt.Sprintf(`"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "%[1]s"}, "Metadata": {"aws:cdk:path": "%[1]s/Queue/Resource"}}`, name)
}

// threeOfTwo is an app whose stacks go from one account to the other and back.
func threeOfTwo(t *testing.T) string {
	return appOf(t,
		madeFor{id: "Network", name: "Network", resources: queueNamed("network")},
		madeFor{id: "Shop", name: "Shop", account: theirs, after: "Network", resources: queueNamed("shop")},
		madeFor{id: "Report", name: "Report", account: ours, after: "Shop", resources: queueNamed("report")},
	)
}

func namesOf(log []sandbox.Request, action string) (names []string) {
	for _, r := range log {
		if r.Action == action {
			names = append(names, r.Resource[strings.LastIndex(r.Resource, "/")+1:])
		}
	}
	return names
}

// An app for several accounts is deployed, compared and destroyed in one run: each
// stack in its account, with the state in the bucket of that account, and in the order
// in which they depend on each other.
func TestStacksOfSeveralAccounts(t *testing.T) {
	e, o := newOrganization(t)
	dir := threeOfTwo(t)
	run, err := e.Deploy(t.Context(), deployAll(dir))
	if err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run)
	}
	if order := o.order(engine.StackFinished); !slices.Equal(order, []string{"Network", "Shop", "Report"}) {
		t.Errorf("deployed in the order %v", order)
	}
	for _, tt := range []struct {
		account string
		aws     *sandbox.Sandbox
		queues  []string
		records []string
	}{
		{ours, o.ours, []string{"network", "report"}, []string{"Network", "Report"}},
		{theirs, o.theirs, []string{"shop"}, []string{"Shop"}},
	} {
		if queues := namesOf(tt.aws.Log(), "CreateQueue"); len(queues) != len(tt.queues) {
			t.Errorf("made in %s: %v, want %v", tt.account, queues, tt.queues)
		}
		for _, stack := range []string{"Network", "Shop", "Report"} {
			record, there := tt.aws.S3.Object("cdkd-state-"+tt.account, "cdkd/"+stack+"/us-east-1/state.json")
			if there != slices.Contains(tt.records, stack) {
				t.Errorf("bucket of %s has a record of %s: %v", tt.account, stack, there)
			}
			if there && !strings.Contains(string(record.Body), tt.account) {
				t.Errorf("%s is not recorded as of account %s: %s", stack, tt.account, record.Body)
			}
			if _, held := tt.aws.S3.Object("cdkd-state-"+tt.account, "cdkd/"+stack+"/us-east-1/lock.json"); held {
				t.Errorf("the lock of %s is held", stack)
			}
		}
	}
	e.CaptureBaselines(t.Context())

	diff, err := e.Diff(t.Context(), engine.DiffOptions{Selection: deployAll(dir).Selection, StackConcurrency: 2})
	if err != nil || diff.Outcome != result.NoChange || len(diff.Stacks) != 3 {
		t.Errorf("after the deploy: %v %+v", err, diff)
	}
	for name, opt := range map[string]engine.DriftOptions{
		"the app":            {App: &engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}},
		"all of the buckets": {Recorded: engine.RecordSelection{All: true}},
	} {
		if drift := e.Drift(t.Context(), opt); drift.Outcome != result.NoChange || len(drift.Stacks) != 3 {
			t.Errorf("drift of %s: %+v", name, drift)
		}
	}

	o.order("")
	run, err = e.Destroy(t.Context(), engine.DestroyOptions{Selection: deployAll(dir).Selection, ResourceTimeout: time.Minute, StackConcurrency: 2})
	if err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run)
	}
	if order := o.order(engine.StackFinished); !slices.Equal(order, []string{"Report", "Shop", "Network"}) {
		t.Errorf("destroyed in the order %v", order)
	}
	if left, there := o.theirs.S3.Object("cdkd-state-"+theirs, "cdkd/Shop/us-east-1/state.json"); there {
		t.Errorf("what is left of Shop: %s", left.Body)
	}
}

// Stacks of one name and region in two accounts are two stacks.
func TestStacksOfOneNameInTwoAccounts(t *testing.T) {
	e, o := newOrganization(t)
	dir := appOf(t,
		madeFor{id: "ShopTest", name: "Shop", account: ours, resources: queueNamed("test")},
		madeFor{id: "ShopProduction", name: "Shop", account: theirs, resources: queueNamed("production")},
	)
	run, err := e.Deploy(t.Context(), deployAll(dir))
	if err != nil || run.Outcome != result.Success || len(run.Stacks) != 2 {
		t.Fatalf("%v %+v", err, run)
	}
	for account, aws := range map[string]*sandbox.Sandbox{ours: o.ours, theirs: o.theirs} {
		kept, _ := aws.S3.Object("cdkd-state-"+account, "cdkd/Shop/us-east-1/state.json")
		record := string(kept.Body)
		if other := map[string]string{ours: "production", theirs: "test"}[account]; !strings.Contains(record, account) || strings.Contains(record, other) {
			t.Errorf("recorded in %s: %s", account, record)
		}
	}
}

// What goes wrong in one account is told of its stacks, keeps those that depend on
// them, and no others.
func TestFailureInOneOfSeveralAccounts(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(o *organization)
		without []string
		want    map[string]string // of a stack: what its message has; "" succeeds
		refused string            // the whole run, before anything is written
	}{
		{"a resource", func(o *organization) {
			o.theirs.AddFault(sandbox.Fault{Service: "sqs", Action: "CreateQueue", Status: 400, Code: "InvalidParameterValue", Message: "no"})
		}, nil, map[string]string{"Network": "", "Shop": "Queue", "Report": "not started: a stack that it depends on did not get done"}, ""},
		{"a lock", func(o *organization) {
			held, _ := json.Marshal(map[string]any{"owner": "somebody@else", "timestamp": time.Now().UnixMilli(), "expiresAt": time.Now().Add(time.Hour).UnixMilli(), "operation": "deploy"})
			o.theirs.S3.PutObject("cdkd-state-"+theirs, "cdkd/Shop/us-east-1/lock.json", held)
		}, nil, map[string]string{"Network": "", "Shop": "somebody@else", "Report": "not started"}, ""},
		{"no bucket", func(o *organization) {}, []string{theirs}, nil, "cdkd-state-" + theirs},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, o := newOrganization(t, tt.without...)
			tt.prepare(o)
			run, err := e.Deploy(t.Context(), deployAll(threeOfTwo(t)))
			if tt.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tt.refused) {
					t.Errorf("%v %+v", err, run)
				}
				if all := append(namesOf(o.ours.Log(), "CreateQueue"), namesOf(o.ours.Log(), "PutObject")...); len(all) > 0 {
					t.Errorf("although it is refused: %v", all)
				}
				return
			}
			if err != nil || len(run.Stacks) != 3 {
				t.Fatalf("%v %+v", err, run)
			}
			for _, st := range run.Stacks {
				text := st.Message
				for _, f := range st.Failures {
					text += f.LogicalID
				}
				if want := tt.want[st.Name]; want == "" && st.Outcome != result.Success || !strings.Contains(text, want) {
					t.Errorf("%s is %s: %s", st.Name, st.Outcome, text)
				}
			}
		})
	}
}

// A bucket that is named is one account's: with stacks of several it is refused before
// anything is asked of AWS but whose the credentials are.
func TestSeveralAccountsWithOneBucket(t *testing.T) {
	_, o := newOrganization(t)
	config := o.config(t)
	config.Bucket = state.Wanted{Environment: "cdkd-state-" + ours}
	run, err := engine.New(config).Deploy(t.Context(), deployAll(threeOfTwo(t)))
	if err == nil || !strings.Contains(err.Error(), "stack Shop is of another account ("+theirs+")") || !strings.Contains(run.Remedy, "CDKD_STATE_BUCKET") {
		t.Errorf("%v %+v", err, run)
	}
	if asked := o.theirs.Log(); len(asked) > 0 {
		t.Errorf("asked in the other account: %v", asked)
	}
}

// The stacks of an account other than the credentials' need nothing of the latter.
func TestStacksOfTheOtherAccountAlone(t *testing.T) {
	e, _ := newOrganization(t, ours)
	opt := deployAll(threeOfTwo(t))
	opt.Selection.Selection = assembly.Selection{Patterns: []string{"Shop"}, Exclusively: true}
	run, err := e.Deploy(t.Context(), opt)
	if err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run)
	}
	forgotten, err := e.OrphanPaths(t.Context(), engine.OrphanPathOptions{Selection: engine.Selection{Assembly: opt.Assembly}, Paths: []string{"shop/Queue"}})
	if err != nil || len(forgotten.Resources) != 1 {
		t.Errorf("orphan of what is recorded in the other account: %v %+v", err, forgotten)
	}
}

// One call lets go of the locks in all accounts, and what a dead run left is released
// in that in which it is.
func TestLocksOfSeveralAccounts(t *testing.T) {
	e, o := newOrganization(t)
	dir := appOf(t,
		madeFor{id: "Here", name: "Here", account: ours, resources: queueNamed("here")},
		madeFor{id: "There", name: "There", account: theirs, resources: queueNamed("there")},
	)
	clouds := []*sandbox.Sandbox{o.ours, o.theirs}
	var held []string
	for _, aws := range clouds {
		held = append(held, aws.AddFault(sandbox.Fault{Service: "sqs", Action: "CreateQueue", Hold: true}))
	}
	done := make(chan *result.Run, 1)
	go func() {
		run, _ := e.Deploy(context.WithoutCancel(t.Context()), deployAll(dir))
		done <- run
	}()
	for _, aws := range clouds {
		if _, err := aws.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.Action == "CreateQueue" }); err != nil {
			t.Fatal(err)
		}
	}
	var locked []engine.Locked
	o.mu.Lock()
	events := slices.Clone(o.events)
	o.mu.Unlock()
	for _, ev := range events {
		if ev.Kind == engine.LockRequested {
			locked = append(locked, engine.Locked{Ref: state.Ref{Stack: ev.Stack, Region: ev.Region}, Account: ev.Account})
		}
	}
	slices.SortFunc(locked, func(a, b engine.Locked) int { return strings.Compare(a.Stack, b.Stack) })
	if want := []engine.Locked{{Ref: state.Ref{Stack: "Here", Region: "us-east-1"}}, {Ref: state.Ref{Stack: "There", Region: "us-east-1"}, Account: theirs}}; !slices.Equal(locked, want) {
		t.Errorf("locked: %+v", locked)
	}
	left, err := engine.New(o.config(t)).CleanUpAfter(t.Context(), "me@test-"+t.Name(), time.Now(), locked)
	if err != nil || len(left) != 2 || !left[0].Released || !left[1].Released {
		t.Errorf("after a dead run: %v %+v", err, left)
	}
	locks, answered := e.ReleaseLocks(t.Context())
	if len(locks) != 2 {
		t.Errorf("let go of %v", locks)
	}
	<-answered
	for i, aws := range clouds {
		aws.Release(held[i])
	}
	<-done

	config := o.config(t)
	config.Others = nil
	left, err = engine.New(config).CleanUpAfter(t.Context(), "me@test-"+t.Name(), time.Now(), locked)
	if err != nil || len(left) != 2 || left[0].Err != nil || left[1].Err == nil {
		t.Errorf("without credentials for one account: %v %+v", err, left)
	}
}
