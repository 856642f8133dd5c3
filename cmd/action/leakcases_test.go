package main

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/cdkd-action/internal/sandbox"
)

type leakCase struct {
	name      string
	env       []string
	args      []string
	fails     bool
	first     func()
	meanwhile func(*os.Process)
	post      bool // it is the post step of the one before, as if that had been killed at its end
}

// Secrets stand wherever a run can meet them: in parameters, properties, outputs,
// dynamic references, environments, what the app prints, what AWS answers, and
// the process's own environment. No part of one, in any form, is in what a run
// prints, writes, records or tells GitHub (S-154, S-155, S-160, G-8.4, G-8.11).
func TestNoSecretInAnySink(t *testing.T) {
	w := newLeakWorld(t)
	base := []string{"INPUT_APP=app", "INPUT_ALL=true", "INPUT_VERBOSE=true",
		"INPUT_PARAMETERS=Planted:Password=" + planted["NoEcho"] + "\nPlanted:Pin=" + planted["pin"]}
	step := func(command string, env ...string) []string {
		return slices.Concat(base, []string{"INPUT_COMMAND=" + command, "INPUT_PLAN-FILE=plan.md"}, env)
	}
	asJSON := func(command string, env ...string) []string {
		return slices.Concat(base, []string{"INPUT_COMMAND=" + command, "INPUT_PLAN-FILE=plan.json", "INPUT_JSON=true"}, env)
	}
	one := func(command string, env ...string) []string {
		return step(command, append([]string{"INPUT_STACKS=Planted", "INPUT_ALL=", "INPUT_YES=true"}, env...)...)
	}
	clear := func() { w.aws.RemoveFault("") }
	for _, c := range []leakCase{
		{name: "diff of what is new", env: step("diff")},
		{name: "diff as JSON", env: asJSON("diff")},
		{name: "diff on a terminal", env: []string{"GITHUB_ACTIONS="}, args: []string{"diff", "--app", "app", "--all", "--verbose"}},
		{name: "synth of an app that prints", env: step("synth", "INPUT_APP=sh app.sh")},
		{name: "list of an app that prints", env: asJSON("list", "INPUT_APP=sh app.sh", "INPUT_LONG=true")},
		{name: "an app that fails", env: step("diff", "INPUT_APP=sh app.sh", "BROKEN=1"), fails: true},
		{name: "a deploy that fails", env: step("deploy", "INPUT_ROLLBACK=false"), fails: true, first: func() { w.echo("ssm", "PutParameter", "/planted/parts") }},
		{name: "what a deploy left", args: []string{"state", "show", "Planted", "--verbose"}},
		{name: "what a deploy left, as JSON", args: []string{"state", "show", "Planted", "--json"}},
		{name: "the resources that it left", args: []string{"state", "resources", "Planted", "--long"}},
		{name: "diff of what failed", env: step("diff")},
		{name: "a rollback that fails", env: step("rollback", "INPUT_STACKS=Planted", "INPUT_ALL=", "INPUT_YES=true"), fails: true, first: func() { w.echo("ssm", "DeleteParameter", "/planted/noecho") }},
		{name: "a rollback", env: step("rollback", "INPUT_STACKS=Planted", "INPUT_ALL=", "INPUT_YES=true"), first: clear},
		{name: "a deploy that is rolled back", env: step("deploy"), fails: true, first: func() { w.echo("ssm", "PutParameter", "/planted/parts") }},
		{name: "a deploy", env: step("deploy", "INPUT_ENVIRONMENT=production", "INPUT_ENVIRONMENT-URL=Planted.Joined"), first: clear},
		{name: "diff of other values", env: asJSON("diff", "INPUT_PARAMETERS=Planted:Password=wN8bO5eGq2HjL4kZ7xC")},
		{name: "history", args: []string{"events", "Planted"}},
		{name: "history as JSON", args: []string{"events", "Planted", "--json"}},
		{name: "drift", env: step("drift", "INPUT_DRIFT-ISSUES=true"), fails: true, first: w.drift},
		{name: "drift as JSON", env: asJSON("drift"), fails: true},
		{name: "drift that cannot be told", env: step("drift"), fails: true, first: func() { w.echo("sqs", "ListQueueTags", "planted") }},
		{name: "drift accepted", env: step("drift", "INPUT_ACCEPT=true", "INPUT_YES=true"), fails: true, first: clear}, // what the sandbox cannot read is not as it is recorded
		{name: "what is observed", args: []string{"state", "refresh-observed", "Planted", "--json"}, fails: true},
		{name: "scrub", args: []string{"scrub", "Planted", "--app", "app", "--dry-run", "--json"}},
		{name: "permissions", args: []string{"permissions", "--app", "app", "--all"}},
		{name: "doctor", env: step("doctor")},
		{name: "an input that is wrong", env: step("deploy", "INPUT_PARAMETERS="+planted["NoEcho"]), fails: true},
		{name: "what is recorded", args: []string{"state", "show", "Planted", "--json"}},
		{name: "import that is refused", env: step("import", "INPUT_STACKS=Planted", "INPUT_ALL=", "INPUT_YES=true"), fails: true},
		{name: "destroy that fails", env: step("destroy", "INPUT_YES=true"), fails: true, first: func() { w.echo("ssm", "DeleteParameter", "/planted/noecho") }},
		{name: "destroy", env: step("destroy", "INPUT_YES=true"), first: clear},

		{name: "a deploy that is cancelled", env: step("deploy"), fails: true, first: w.hold, meanwhile: w.cancel},
		{name: "its post step", env: step("deploy"), post: true},
		{name: "its post step, where AWS refuses", env: step("deploy"), post: true, first: func() { w.echo("sts", "GetCallerIdentity", "") }},
		{name: "a deploy again", env: step("deploy"), first: clear},
		{name: "orphan of a construct", env: one("orphan", "INPUT_STACKS=Planted/Queue")},
		{name: "import", env: one("import", "INPUT_RESOURCE=Queue=http://localhost:4566/123456789012/planted", "INPUT_RECORD-RESOURCE-MAPPING=mapping.json")},
		{name: "import as JSON", env: asJSON("import", "INPUT_STACKS=Planted", "INPUT_ALL=", "INPUT_DRY-RUN=true", "INPUT_FORCE=true")},
		{name: "a deploy of what was imported", env: step("deploy")},
		{name: "export that fails", env: one("export"), fails: true, first: func() { w.echo("cloudformation", "CreateChangeSet", "") }},
		{name: "export", env: one("export"), first: clear},
		// What the sandbox cannot read is not taken.
		{name: "taken over again, which is refused", env: one("import", "INPUT_MIGRATE-FROM-CLOUDFORMATION=true"), fails: true},
		{name: "bootstrap of asset storage", env: []string{"INPUT_COMMAND=bootstrap"}},
		{name: "gc that fails", env: []string{"INPUT_COMMAND=gc", "INPUT_YES=true"}, fails: true, first: func() { w.echo("s3", "GetObject", "Preview") }},
		{name: "gc", env: []string{"INPUT_COMMAND=gc", "INPUT_YES=true"}, first: clear},
		{name: "state orphan", args: []string{"state", "orphan", "Preview-7-Web", "--resource", "Queue", "--yes"}},
		{name: "sweep", env: []string{"INPUT_COMMAND=sweep", "INPUT_STACKS=Preview-{pr}-Web", "INPUT_YES=true"}, first: func() { w.hub.Pull(repository, 7, "closed") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			if c.first != nil {
				c.first()
			}
			args, program := c.args, "cdkd-action"
			if args == nil {
				args = []string{"action"}
			}
			if c.post {
				program = postName
				for name, v := range w.kept {
					if name != keptEnded && name != keptReported {
						c.env = append(c.env, "STATE_"+name+"="+v)
					}
				}
			}
			kept := w.kept
			out, err := w.run(program, c.meanwhile, c.env, args...)
			if c.post {
				w.kept = kept
			}
			if (err != nil) != c.fails {
				t.Fatalf("%v\n%s", err, out)
			}
			if c.post && !strings.Contains(out, "was cancelled") {
				t.Errorf("the post step said nothing of the deploy:\n%s", out)
			}
		})
	}
}

// hold keeps a deploy waiting, in the middle of secrets.
func (w *leakWorld) hold() {
	w.aws.AddFault(sandbox.Fault{Service: "sqs", Action: "CreateQueue", Mentions: "planted", Hold: true})
}

// cancel sends the signal that a cancelled job gets, once a call is held.
func (w *leakWorld) cancel(p *os.Process) {
	if _, err := w.aws.Await(w.t.Context(), 1, func(r sandbox.Request) bool { return r.State == sandbox.Held }); err != nil {
		w.t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGINT); err != nil {
		w.t.Fatal(err)
	}
}

// A name cannot be masked, so that whatever is done with a stack whose name holds a
// secret is refused, and nothing is touched: the log has the name without it
// (G-8.4, G-8.11).
func TestNoSecretInAName(t *testing.T) {
	w := newLeakWorld(t)
	name := "Named-" + planted["stack"]
	for _, tt := range []struct {
		name string
		env  []string
		want string
	}{
		{name: "deploy"}, {name: "diff"}, {name: "check"}, {name: "destroy"}, {name: "synth"}, {name: "list"}, {name: "publish-assets"},
		{name: "scrub"}, {name: "permissions"}, {name: "drift"}, {name: "import"}, {name: "export"}, {name: "doctor"},
		{name: "orphan", env: []string{"INPUT_STACKS=" + name + "/Queue"}},
		{name: "deploy", env: []string{"INPUT_STACKS=" + name}},
		{name: "state show", env: []string{"INPUT_APP=", "INPUT_STACKS=" + name}},
		{name: "state resources", env: []string{"INPUT_APP=", "INPUT_STACKS=" + name}},
		{name: "state orphan", env: []string{"INPUT_APP=", "INPUT_STACKS=" + name}},
		{name: "state destroy", env: []string{"INPUT_APP=", "INPUT_STACKS=" + name}},
		{name: "state refresh-observed", env: []string{"INPUT_APP=", "INPUT_STACKS=" + name}},
		{name: "rollback", env: []string{"INPUT_APP=", "INPUT_STACKS=" + name}},
		{name: "drift", env: []string{"INPUT_APP=", "INPUT_STACKS=" + name}},
		{name: "events", env: []string{"INPUT_APP=", "INPUT_STACKS=" + name}},
		{name: "events prune", env: []string{"INPUT_APP=", "INPUT_STACKS=" + name}},
		{name: "force-unlock", env: []string{"INPUT_APP=", "INPUT_STACKS=" + name}},
		{name: "sweep", env: []string{"INPUT_APP=", "INPUT_STACKS=" + name + "-{pr}-x"}},
		{name: "deploy", env: []string{"INPUT_APP=pinned", "INPUT_PARAMETERS=Pin=" + planted["pin"]}, want: "Shop-***"},
	} {
		want := tt.want
		if want == "" {
			want = "Named-***"
		}
		t.Run(tt.name, func(t *testing.T) {
			w.t = t
			w.aws.ClearLog()
			out, err := w.run("cdkd-action", nil, append([]string{"INPUT_APP=named", "INPUT_YES=true", "INPUT_COMMAND=" + tt.name}, tt.env...), "action")
			if err == nil || !strings.Contains(out, want) || !strings.Contains(out, "docs/errors/") {
				t.Errorf("%v\n%s", err, out)
			}
			for _, r := range w.aws.Log() {
				if !strings.HasPrefix(r.Action, "Get") && !strings.HasPrefix(r.Action, "Head") && !strings.HasPrefix(r.Action, "List") {
					t.Errorf("it asked for %s:%s", r.Service, r.Action)
				}
			}
		})
	}
}
