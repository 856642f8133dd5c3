package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
)

func named(name string) func(*engine.ImportOptions) {
	return func(o *engine.ImportOptions) { o.StackName = name }
}

func exportAs(name string) func(*engine.ExportOptions) {
	return func(o *engine.ExportOptions) { o.StackName = name }
}

// stopped has a call of CloudFormation's fail once, with no effect.
func (f *handover) stopped(action string, nth int) {
	f.aws.AddFault(sandbox.Fault{Service: "cloudformation", Action: action, Nth: nth, Count: 1, Status: 403, Code: "AccessDenied", Message: "no"})
}

// half is how far a handover has come, "" when none is under way.
func (f *handover) half() string {
	o, ok := f.aws.S3.Object(bucket, "cdkd/Formed/us-east-1/handover.json")
	if !ok {
		return ""
	}
	for _, line := range strings.Split(string(o.Body), "\n") {
		if _, step, ok := strings.Cut(line, `"step": "`); ok {
			return strings.Trim(step, `",`)
		}
	}
	return string(o.Body)
}

// refusedAll fails unless everything that changes a stack, or its record, refuses
// with the remedy.
func (f *handover) refusedAll(remedy string) {
	f.t.Helper()
	ctx := f.t.Context()
	before := f.recorded()
	f.aws.ClearLog()
	run := func(r *result.Run, err error) (string, string) {
		if err == nil && r.Outcome.ExitCode() == 0 {
			return "done", ""
		}
		for _, s := range r.Stacks {
			return s.Message, s.Remedy
		}
		return r.Message, r.Remedy
	}
	plain := func(err error) (string, string) {
		if err == nil {
			return "done", ""
		}
		return err.Error(), engine.Remedy(err)
	}
	for name, do := range map[string]func() (string, string){
		"deploy":  func() (string, string) { return run(f.e.Deploy(ctx, deployAll(f.dir))) },
		"destroy": func() (string, string) { return run(f.e.Destroy(ctx, engine.DestroyOptions{Selection: f.selection()})) },
		"state destroy": func() (string, string) {
			return run(f.e.StateDestroy(ctx, engine.RecordSelection{Stacks: []string{"Formed"}}, engine.DestroyOptions{}))
		},
		"state destroy of a nested stack": func() (string, string) {
			return run(f.e.StateDestroy(ctx, engine.RecordSelection{Stacks: []string{"Formed~Inner"}}, engine.DestroyOptions{}))
		},
		"drift --revert": func() (string, string) {
			d := f.e.Drift(ctx, engine.DriftOptions{Recorded: engine.RecordSelection{Stacks: []string{"Formed"}}, Mode: result.DriftRevert})
			if len(d.Stacks) == 0 {
				return d.Message, d.Remedy
			}
			return d.Stacks[0].Message, d.Stacks[0].Remedy
		},
		"import": func() (string, string) {
			_, err := f.e.Import(ctx, engine.ImportOptions{Selection: f.selection(), Force: true})
			return plain(err)
		},
		"import of a nested stack": func() (string, string) {
			opt := engine.ImportOptions{Selection: f.selection(), Force: true}
			opt.All, opt.Patterns = false, []string{"Formed~Inner"}
			_, err := f.e.Import(ctx, opt)
			return plain(err)
		},
		"state orphan of a resource": func() (string, string) {
			_, err := f.e.StateOrphan(ctx, engine.OrphanOptions{Stacks: []string{"Formed"}, Resources: []string{"Topic"}})
			return plain(err)
		},
		"state orphan of a nested stack": func() (string, string) {
			_, err := f.e.StateOrphan(ctx, engine.OrphanOptions{Stacks: []string{"Formed~Inner"}})
			return plain(err)
		},
	} {
		message, next := do()
		if !strings.Contains(message, "and that did not come to its end") || next != remedy {
			f.t.Errorf("%s: %s; %s", name, message, next)
		}
	}
	if diff := cmp.Diff(before, f.recorded()); diff != "" {
		f.t.Errorf("recorded (-before +after):\n%s", diff)
	}
	for _, r := range f.aws.Log() {
		if (r.Service == "sqs" || r.Service == "sns") && !strings.HasPrefix(r.Action, "Get") && !strings.HasPrefix(r.Action, "List") {
			f.t.Errorf("a resource was touched: %s %s", r.Service, r.Action)
		}
	}
}

// A stack that was being taken over from CloudFormation stays out of reach until a
// run of the same command finishes, whatever name that is given of the stack there
// (S-315).
func TestTakeOverHalfWay(t *testing.T) {
	const finish = "cdkd-action import Formed --migrate-from-cloudformation --cfn-stack-name Legacy"
	for _, c := range []struct {
		name, action string
		nth          int
		step, remedy string
	}{
		{"its templates are being changed", "UpdateStack", 1, "retaining",
			"finish it: " + finish + "; or, since CloudFormation still has all of the stack, give it up: cdkd-action state orphan Formed --stack-region us-east-1"},
		{"a nested stack of it is gone", "DeleteStack", 2, "retiring", "finish it: " + finish},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := form(t, formed)
			if x, err := f.export(exportAs("Legacy")); err != nil || !x.Done || f.half() != "" {
				t.Fatalf("export: %v, half way: %q", err, f.half())
			}
			f.stopped(c.action, c.nth)
			var retire *engine.RetireError
			if _, err := f.takeOver(named("Legacy")); !errors.As(err, &retire) || f.half() != c.step {
				t.Fatalf("the first run: %v; half way: %q", err, f.half())
			}
			f.refusedAll(c.remedy)
			shown, err := f.e.StateShow(t.Context(), "Formed", "")
			if err != nil || shown.Handover == nil || shown.Handover.Handover.Stack != "Legacy" {
				t.Errorf("state show: %v: %+v", err, shown)
			}
			if found := f.e.Doctor(t.Context(), ""); !slices.ContainsFunc(found, func(d result.Finding) bool { return d.Subject == "handover of Formed" && d.Remedy == c.remedy }) {
				t.Errorf("doctor: %+v", found)
			}
			var half *engine.HandoverError
			if _, err := f.export(); !errors.As(err, &half) {
				t.Errorf("an export: %v", err)
			}
			if _, err := f.takeOver(named("Legaci")); !errors.As(err, &half) || !strings.Contains(engine.Remedy(err), finish) {
				t.Errorf("a run with another name: %v", err)
			}
			if i, err := f.takeOver(func(o *engine.ImportOptions) { o.DryRun = true }); err != nil || i.Retired || f.half() != c.step {
				t.Errorf("a rehearsal: %v", err)
			}
			if i, err := f.takeOver(); err != nil || !i.Retired || i.CloudFormation != "Legacy" || f.half() != "" || f.has("Legacy")+f.has("Legacy-Inner") != "" {
				t.Fatalf("without a name: %v, half way: %q; CloudFormation has %q", err, f.half(), f.has("Legacy"))
			}
			f.unchanged()
			if i, err := f.takeOver(named("Legacy")); err != nil || !i.Retired {
				t.Errorf("once more: %v", err)
			}
			if _, err := f.takeOver(named("Legaci")); err == nil || !strings.Contains(err.Error(), "CloudFormation has no stack Legaci in us-east-1, and stack Formed is recorded already") {
				t.Errorf("with a name that no stack had: %v", err)
			}
		})
	}
}

// What CloudFormation still has all of can be given up, and deployed from there
// (S-310, S-315).
func TestTakeOverGivenUp(t *testing.T) {
	f := formedThere(t)
	f.stopped("UpdateStack", 1)
	if _, err := f.takeOver(); err == nil || f.half() != "retaining" {
		t.Fatalf("the first run: %v; half way: %q", err, f.half())
	}
	if _, err := f.e.StateOrphan(t.Context(), engine.OrphanOptions{Stacks: []string{"Formed", "Formed~Inner"}, Force: true}); err != nil || f.recorded() != nil {
		t.Fatalf("give it up: %v; left are %v", err, f.recorded())
	}
	if i, err := f.takeOver(); err != nil || !i.Retired {
		t.Fatalf("another time: %v", err)
	}
	f.unchanged()
}

// A stack of which a nested stack is gone from CloudFormation is not given up by
// mistake (S-310).
func TestTakeOverNotGivenUp(t *testing.T) {
	f := formedThere(t)
	f.stopped("DeleteStack", 2)
	if _, err := f.takeOver(); err == nil || f.half() != "retiring" {
		t.Fatalf("the first run: %v; half way: %q", err, f.half())
	}
	var half *engine.HandoverError
	if _, err := f.e.StateOrphan(t.Context(), engine.OrphanOptions{Stacks: []string{"Formed"}}); !errors.As(err, &half) {
		t.Errorf("give it up: %v", err)
	}
}

// The CloudFormation stack that a run began with is gone on with, not another that
// took its name since (S-315).
func TestTakeOverGoesByTheStackItBeganWith(t *testing.T) {
	f := formedThere(t)
	f.aws.AddFault(sandbox.Fault{Service: "s3", Action: "DeleteObject", ID: "stays", Mentions: "handover.json", Status: 403, Code: "AccessDenied"})
	if _, err := f.takeOver(); err == nil || f.half() != "retiring" || f.has("Formed") != "" {
		t.Fatalf("the first run: %v; half way: %q", err, f.half())
	}
	f.aws.RemoveFault("stays")
	other := &handover{t: t, e: f.e, aws: f.aws, dir: t.TempDir()}
	other.write("manifest.json", `{"version": "48.0.0", "artifacts": {"Other": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "other.json"}}}}`)
	other.write("other.json", `{"Resources": {"Other": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "other"}}}}`)
	other.deploy()
	if x, err := other.export(exportAs("Formed")); err != nil || !x.Done {
		t.Fatalf("export another stack under the name: %v", err)
	}
	has := f.has("Formed")
	if i, err := f.takeOver(); err != nil || !i.Retired || f.half() != "" || f.has("Formed") != has {
		t.Errorf("the second run: %v; half way: %q; CloudFormation has %q", err, f.half(), f.has("Formed"))
	}
	f.unchanged()
}

// A stack that was being exported stays out of reach until an export finishes, or
// what CloudFormation has of it is taken back (S-316).
func TestExportHalfWay(t *testing.T) {
	const remedy = "finish it: cdkd-action export Formed --cfn-stack-name Legacy; or take back what CloudFormation has of it: " +
		"cdkd-action import Formed --migrate-from-cloudformation --cfn-stack-name Legacy"
	for _, c := range []struct {
		name, action string
		nth          int
		there        string
	}{
		{"CloudFormation has a nested stack of it", "ExecuteChangeSet", 2, "REVIEW_IN_PROGRESS"},
		{"CloudFormation has all of it", "UpdateStack", 2, "IMPORT_COMPLETE Topic Inner"},
	} {
		half := func(t *testing.T) *handover {
			f := form(t, formed)
			f.stopped(c.action, c.nth)
			var failed *engine.ExportError
			if _, err := f.export(exportAs("Legacy")); !errors.As(err, &failed) || f.half() != "importing" || f.has("Legacy") != c.there {
				t.Fatalf("the first run: %v; half way: %q; CloudFormation has %q", err, f.half(), f.has("Legacy"))
			}
			return f
		}
		t.Run(c.name+", and it is finished", func(t *testing.T) {
			f := half(t)
			f.refusedAll(remedy)
			var refused *engine.HandoverError
			if _, err := f.export(exportAs("Other")); !errors.As(err, &refused) {
				t.Errorf("under another name: %v", err)
			}
			if x, err := f.export(); err != nil || !x.Done || f.recorded() != nil || f.has("Legacy") != "UPDATE_COMPLETE Topic Inner" {
				t.Errorf("the second run: %v; left are %v; CloudFormation has %q", err, f.recorded(), f.has("Legacy"))
			}
		})
		t.Run(c.name+", and it is taken back", func(t *testing.T) {
			f := half(t)
			if i, err := f.takeOver(); err != nil || !i.Retired || f.half() != "" || f.has("Legacy")+f.has("Legacy-Inner") != "" {
				t.Fatalf("%v; half way: %q; CloudFormation has %q and %q", err, f.half(), f.has("Legacy"), f.has("Legacy-Inner"))
			}
			f.unchanged()
			if x, err := f.export(exportAs("Legacy")); err != nil || !x.Done {
				t.Errorf("another time: %v", err)
			}
		})
	}
}

// An export that CloudFormation refuses before it takes anything leaves the stack
// as it was (S-316).
func TestExportRefusedThereLeavesNothingHalfWay(t *testing.T) {
	f := form(t, formed)
	f.stopped("CreateChangeSet", 1)
	if _, err := f.export(); err == nil || f.half() != "" {
		t.Fatalf("export: %v; half way: %q", err, f.half())
	}
	f.unchanged()
}

// An export that ended before it said so is finished by another run, with the
// record gone (S-316).
func TestExportFinishesWithoutARecord(t *testing.T) {
	f := form(t, formed)
	f.aws.AddFault(sandbox.Fault{Service: "s3", Action: "DeleteObject", ID: "stays", Mentions: "handover.json", Status: 403, Code: "AccessDenied"})
	if _, err := f.export(); err == nil || f.half() != "forgetting" {
		t.Fatalf("the first run: %v; half way: %q", err, f.half())
	}
	f.aws.RemoveFault("stays")
	run, err := f.e.Deploy(t.Context(), deployAll(f.dir))
	if err == nil && run.Outcome.ExitCode() == 0 || !strings.Contains(run.Stacks[0].Message, "is being exported to CloudFormation stack Formed") {
		t.Errorf("a deploy: %v: %+v", err, run.Stacks[0])
	}
	if x, err := f.export(); err != nil || !x.Done || f.recorded() != nil {
		t.Errorf("the second run: %v; left are %v", err, f.recorded())
	}
	if x, err := f.export(); err != nil || !x.Already || x.Done {
		t.Errorf("once more: %v: %+v", err, x)
	}
}

// Who lists what is recorded is told of a stack that is half way (S-20).
func TestStateListTellsOfAHandover(t *testing.T) {
	f := formedThere(t)
	f.stopped("UpdateStack", 1)
	if _, err := f.takeOver(); err == nil {
		t.Fatal("the first run came to its end")
	}
	var told []string
	config := configOn(t, f.aws)
	config.Observe = func(ev engine.Event) {
		if ev.Kind == engine.Warning {
			told = append(told, ev.Stack+": "+ev.Text)
		}
	}
	refs, err := engine.New(config).StateList(t.Context())
	if err != nil || len(refs) != 2 || len(told) != 1 || !strings.HasPrefix(told[0], "Formed: stack Formed in us-east-1 is being taken over from CloudFormation stack Formed since ") {
		t.Errorf("%v: %v, told %q", err, refs, told)
	}
}

// A handover that cannot be understood is not written over, nor taken for none
// (S-15).
func TestHandoverOfANewerRelease(t *testing.T) {
	f := form(t, formed)
	f.aws.S3.PutObject(bucket, "cdkd/Formed/us-east-1/handover.json", []byte(`{"handoverVersion": 2}`))
	var version *state.VersionError
	if _, err := f.export(); !errors.As(err, &version) {
		t.Errorf("export: %v", err)
	}
	if run, _ := f.e.Deploy(t.Context(), deployAll(f.dir)); run.Outcome.ExitCode() == 0 {
		t.Error("deployed")
	}
}
