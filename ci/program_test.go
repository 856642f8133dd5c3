package ci

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// start runs the program with arguments and environment. It returns what the
// command was given, nil when it did not come to that.
func start(t *testing.T, environ []string, args ...string) (*Inputs, string, error) {
	t.Helper()
	var out bytes.Buffer
	var got *Inputs
	cmd := Program{
		Surface: New(environ, &out, &out),
		Run: func(_ context.Context, in *Inputs) error {
			got = in
			return nil
		},
	}.Command()
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return got, out.String(), err
}

// defaults are the inputs of a command that was given nothing.
func defaults(c Name, change func(*Inputs)) *Inputs {
	in := &Inputs{
		Command: c, WorkingDirectory: ".", SynthTimeout: time.Hour, SynthCredentials: true, ExpandMacros: true, StatePrefix: "cdkd", Rollback: true, OnPartial: PartialFail, Wait: WaitDefault, ExportsInUse: ExportsRefuse, RequireApproval: ApprovalNever,
		ResourceTimeout: TimeLimit{Each: 30 * time.Minute, Of: map[string]time.Duration{}}, StackConcurrency: 4, AssetPublishConcurrency: 8, ImageBuildConcurrency: 4, CFNFallback: true, AggressiveVPC: true, OwnershipTag: true, Progress: ProgressAuto, Comment: CommentUpdate, CaptureObservedState: true, Assets: true, For: "deploy",
	}
	if change != nil {
		change(in)
	}
	return in
}

func TestCommandLineAndActionAgree(t *testing.T) {
	tests := []struct {
		name    string
		args    []string
		environ []string
		want    *Inputs
	}{
		{"nothing given: deploy of the only stack (G-8.2)",
			[]string{"deploy"},
			[]string{"INPUT_COMMAND=", "INPUT_STACKS="},
			defaults(Deploy, nil)},
		{"positional stacks are the input stacks, one a line (G-8.1)",
			[]string{"deploy", "Shop", "Stage/Data*", "--app", "cdk.out", "--region", "eu-west-1", "--state-bucket", "B"},
			[]string{"INPUT_COMMAND=deploy", "INPUT_STACKS=Shop\r\n\n  Stage/Data*\n", "INPUT_APP=cdk.out", "INPUT_REGION=eu-west-1", "INPUT_STATE-BUCKET=B"},
			defaults(Deploy, func(in *Inputs) {
				in.Stacks, in.App, in.Region, in.StateBucket = []string{"Shop", "Stage/Data*"}, "cdk.out", "eu-west-1", "B"
			})},
		{"every type",
			[]string{"deploy", "--all", "--dry-run", "--concurrency", "3", "--lock-wait=90s", "--on-partial", "warn", "--rollback=false",
				"--parameters", "A=1", "--parameters", "Shop:B=x=y", "--allow-unsupported-types", "AWS::A::B", "--allow-unsupported-types", "AWS::C::D"},
			[]string{"INPUT_ALL=true", "INPUT_DRY-RUN=True", "INPUT_CONCURRENCY=3", "INPUT_LOCK-WAIT=90s", "INPUT_ON-PARTIAL=warn", "INPUT_ROLLBACK=FALSE",
				"INPUT_PARAMETERS=A=1\nShop:B=x=y", "INPUT_ALLOW-UNSUPPORTED-TYPES=AWS::A::B\nAWS::C::D"},
			defaults(Deploy, func(in *Inputs) {
				in.All, in.DryRun, in.Concurrency, in.LockWait, in.OnPartial, in.Rollback = true, true, 3, 90*time.Second, PartialWarn, false
				in.Parameters = map[string]string{"A": "1", "Shop:B": "x=y"}
				in.AllowUnsupportedTypes = []string{"AWS::A::B", "AWS::C::D"}
			})},
		{"rollback false is --no-rollback (G-8.3)",
			[]string{"deploy", "--no-rollback"},
			[]string{"INPUT_ROLLBACK=false"},
			defaults(Deploy, func(in *Inputs) { in.Rollback = false })},
		{"no ownership tag (S-213)",
			[]string{"deploy", "--no-ownership-tag"},
			[]string{"INPUT_OWNERSHIP-TAG=false"},
			defaults(Deploy, func(in *Inputs) { in.OwnershipTag = false })},
		{"what is waited for (T-1100)",
			[]string{"deploy", "--wait", "none"},
			[]string{"INPUT_WAIT=none"},
			defaults(Deploy, func(in *Inputs) { in.Wait = WaitNone })},
		{"how long types may take (T-340)",
			[]string{"deploy", "--resource-timeout", "AWS::RDS::DBInstance=2h", "--resource-timeout=45m"},
			[]string{"INPUT_RESOURCE-TIMEOUT=AWS::RDS::DBInstance=2h\n45m"},
			defaults(Deploy, func(in *Inputs) {
				in.ResourceTimeout = TimeLimit{Each: 45 * time.Minute, Of: map[string]time.Duration{"AWS::RDS::DBInstance": 2 * time.Hour}}
			})},
		{"one type only: the others have the default (T-340)",
			[]string{"deploy", "--resource-timeout", "AWS::SQS::Queue=1.5m"},
			[]string{"INPUT_RESOURCE-TIMEOUT=AWS::SQS::Queue=1.5m"},
			defaults(Deploy, func(in *Inputs) { in.ResourceTimeout.Of["AWS::SQS::Queue"] = 90 * time.Second })},
		{"rollback off, as YAML has it",
			[]string{"deploy", "--rollback=off"},
			[]string{"INPUT_ROLLBACK=Off"},
			defaults(Deploy, func(in *Inputs) { in.Rollback = false })},
		{"a command of two words",
			[]string{"state", "show", "Shop", "--json", "--stack-region", "us-east-1"},
			[]string{"INPUT_COMMAND=state show", "INPUT_STACKS=Shop", "INPUT_JSON=true", "INPUT_STACK-REGION=us-east-1"},
			defaults(StateShow, func(in *Inputs) { in.Stacks, in.JSON, in.StackRegion = []string{"Shop"}, true, "us-east-1" })},
		{"all is not always all stacks",
			[]string{"events", "prune", "Shop", "--all", "--yes"},
			[]string{"INPUT_COMMAND=events prune", "INPUT_STACKS=Shop", "INPUT_ALL=true", "INPUT_YES=true"},
			defaults(EventsPrune, func(in *Inputs) { in.Stacks, in.All, in.Yes = []string{"Shop"}, true, true })},
		{"a command whose name begins another's",
			[]string{"events", "Shop", "--run", "R"},
			[]string{"INPUT_COMMAND=events", "INPUT_STACKS=Shop", "INPUT_RUN=R"},
			defaults(Events, func(in *Inputs) { in.Stacks, in.Run = []string{"Shop"}, "R" })},
		{"force is consent to forgetting (S-310)",
			[]string{"state", "orphan", "Shop", "--force", "--resource", "A", "--resource", "B"},
			[]string{"INPUT_COMMAND=state orphan", "INPUT_STACKS=Shop", "INPUT_FORCE=true", "INPUT_RESOURCE=A\nB"},
			defaults(StateOrphan, func(in *Inputs) { in.Stacks, in.Force, in.Resources = []string{"Shop"}, true, []string{"A", "B"} })},
		{"destroy with consent (G-8.10)",
			[]string{"destroy", "--all", "--yes", "--remove-protection"},
			[]string{"INPUT_COMMAND=destroy", "INPUT_ALL=true", "INPUT_YES=true", "INPUT_REMOVE-PROTECTION=true"},
			defaults(Destroy, func(in *Inputs) { in.All, in.Yes, in.RemoveProtection = true, true, true })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for how, run := range map[string]func() (*Inputs, string, error){
				"command line": func() (*Inputs, string, error) { return start(t, nil, tt.args...) },
				"action": func() (*Inputs, string, error) {
					return start(t, append(tt.environ, "GITHUB_ACTIONS=true"), ActionCommand)
				},
			} {
				got, out, err := run()
				if err != nil {
					t.Fatalf("%s: %v", how, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
				if strings.Contains(out, "::warning") {
					t.Errorf("%s warned:\n%s", how, out)
				}
			}
		})
	}
}

// A value of several lines, such as a key, needs a form that has no lines.
func TestParametersAsAnObject(t *testing.T) {
	got, _, err := start(t, []string{"GITHUB_ACTIONS=true", `INPUT_PARAMETERS={"Pem": "a=1\nb\n", "Shop:Count": 3.0, "On": true}`}, ActionCommand)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"Pem": "a=1\nb\n", "Shop:Count": "3.0", "On": "true"}, got.Parameters); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name    string
		args    []string
		environ []string
		want    string
	}{
		{"all faults at once, each with what is wanted", nil,
			[]string{"INPUT_CONCURRENCY=many", "INPUT_ALL=yes", "INPUT_LOCK-WAIT=10", "INPUT_ON-PARTIAL=ignore", "INPUT_RESOURCE-TIMEOUT=AWS::SQS::Queue=0s"},
			`5 inputs cannot be used:
  all: want true or false (on or off), got "yes"
  on-partial: want one of fail, warn, got "ignore"
  lock-wait: want a duration such as 90s, 10m, 1h or 30d, got "10"
  resource-timeout: want a duration such as 90s, 10m or 1h above zero, one for a type as Type=duration, each on a line, got "AWS::SQS::Queue=0s"
  concurrency: want a whole number above zero, got "many"`},
		{"the same on a command line", []string{"deploy", "--concurrency", "0", "--all=yes"}, nil,
			`2 inputs cannot be used:
  all: want true or false (on or off), got "yes"
  concurrency: want a whole number above zero, got "0"`},
		{"an unknown command", nil, []string{"INPUT_COMMAND=deplyo"},
			`input command: want one of ` + strings.Join(actionCommands(), ", ") + `, got "deplyo"`},
		{"the demo is for terminals", nil, []string{"INPUT_COMMAND=demo"},
			`input command: want one of ` + strings.Join(actionCommands(), ", ") + `, got "demo"`},
		{"a secret is not repeated", nil, []string{"INPUT_PARAMETERS=DbPassword hunter2"},
			`input parameters: want a list of name=value, one entry a line, or a JSON object, entry 1 is not`},
		{"half an object", nil, []string{`INPUT_PARAMETERS={"A": "hunter2"`},
			`input parameters: want a list of name=value, one entry a line, or a JSON object: it begins like an object and is none`},
		{"an object in an object", nil, []string{`INPUT_PARAMETERS={"A": {"B": "hunter2"}}`},
			`input parameters: want a list of name=value, one entry a line, or a JSON object: "A" is neither a text nor a number nor a boolean`},
		{"a parameter twice", nil, []string{"INPUT_PARAMETERS=A=hunter2\nA=hunter3"},
			`input parameters: entry 2 gives "A" a second value`},
		{"what was given is one line of bounded length", nil, []string{"INPUT_CONCURRENCY=1\n::error::" + strings.Repeat("x", 100)},
			`input concurrency: want a whole number above zero, got "1 ::error::` + strings.Repeat("x", 69) + `…"`},
		{"destroy without a terminal and without consent (G-8.10)", nil, []string{"INPUT_COMMAND=destroy"},
			`input yes: destroy deletes the resources of the stacks and there is no terminal to ask on; set yes to true to agree`},
		{"destroy from a script: the same", []string{"destroy", "Shop"}, nil,
			`input yes: destroy deletes the resources of the stacks and there is no terminal to ask on; set yes to true to agree`},
		{"a dry run that the command cannot do is refused, not ignored", nil, []string{"INPUT_COMMAND=destroy", "INPUT_YES=true", "INPUT_DRY-RUN=true"},
			`input dry-run: destroy cannot honour it; leave it out`},
		{"a required stack", []string{"state", "show"}, nil, `input stacks: state show needs the name of a stack`},
		{"one stack too many", []string{"state", "show", "A", "B"}, nil, `input stacks: state show takes 1 at a time, got 2`},
		{"stacks for a command that takes none", []string{"state", "list", "A"}, nil, `input stacks: state list takes no stacks; leave them out`},
		{"a variable that is empty, in place of what restricts a command", []string{"deploy", "", "--approved-plan", "", "--dry-run"}, nil,
			`2 inputs cannot be used:
  stacks: it is given and empty, and what is empty restricts nothing; leave it out if that is meant
  approved-plan: it is given and empty, and what is empty restricts nothing; leave it out if that is meant`},
		{"all and stacks", []string{"diff", "A", "--all"}, nil, `input all: give either all or stacks, not both`},
		{"an unknown flag", []string{"deploy", "--rollbak"}, nil, `unknown flag: --rollbak; see cdkd-action deploy --help`},
		{"the value of a switch beside it", []string{"deploy", "--rollback", "off"}, nil,
			`"off" would be a stack: the value of a switch follows after =, as in --rollback=off`},
		{"another command's flag", []string{"diff", "--dry-run"}, nil, `unknown flag: --dry-run; see cdkd-action diff --help`},
		{"no such command", []string{"deplyo"}, nil, `want a command of cdkd-action --help, got "deplyo"`},
		{"no such command below state", []string{"state", "sow"}, nil, `want a command of cdkd-action state --help, got "sow"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args, environ := tt.args, tt.environ
			if args == nil {
				args, environ = []string{ActionCommand}, append(environ, "GITHUB_ACTIONS=true")
			}
			got, out, err := start(t, environ, args...)
			if got != nil {
				t.Error("the command ran all the same")
			}
			if _, ok := errors.AsType[*InputError](err); !ok {
				t.Fatalf("want an InputError, got %T: %v", err, err)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
			if strings.Contains(err.Error()+out, "hunter") {
				t.Errorf("a secret was repeated:\n%s\n%s", err, out)
			}
		})
	}
}

func TestUnknownAndIdleInputsAreWarnedAbout(t *testing.T) {
	got, out, err := start(t, []string{"GITHUB_ACTIONS=true",
		"INPUT_ROLLBAK=hunter2", "INPUT_ENTRYPOINT=x", "INPUT_ARGS=y", "INPUT_COMMAND=diff", "INPUT_ROLLBACK=false", "INPUT_ON-PARTIAL=fail"}, ActionCommand)
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	want := `::warning title=Unknown input::this action has no input "rollbak", so it is ignored
::warning title=Input without effect::input rollback has no effect on diff
`
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The values of parameters are not: most are no secrets, and a mask on "prod" would
// take it out of every output. NoEcho ones are, once the template is read.
func TestTheTokenIsMaskedBeforeTheCommandRuns(t *testing.T) {
	_, out, err := start(t, []string{"GITHUB_ACTIONS=true", "INPUT_GITHUB-TOKEN=ghs_secret", "INPUT_PARAMETERS=Stage=prod"}, ActionCommand)
	if err != nil {
		t.Fatal(err)
	}
	if want := "::add-mask::ghs_secret\n"; out != want {
		t.Errorf("want %q, got %q", want, out)
	}
}

func TestHelpNeverFails(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"state"}, {"deploy", "--help"}, {"state", "show", "-h"}} {
		_, out, err := start(t, nil, args...)
		if err != nil || !strings.Contains(out, "Usage:") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
}

// A step whose arguments were taken away does nothing, and must not look done.
func TestStepWithoutCommandFails(t *testing.T) {
	for _, args := range [][]string{{}, {"state"}} {
		in, out, err := start(t, []string{"GITHUB_ACTIONS=true", "INPUT_COMMAND=deploy", "INPUT_APP=cdk.out"}, args...)
		if in != nil || !errors.As(err, new(*InputError)) || !strings.Contains(err.Error(), "the input command") || out != "" {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
}

func TestTableIsSound(t *testing.T) {
	fields := map[any]string{}
	in := &Inputs{}
	for _, row := range Table() {
		row.Type() // panics for a field of a type without a parser
		p := row.Field(in)
		if other, taken := fields[p]; taken {
			t.Errorf("%s and %s fill the same field", row.Name, other)
		}
		fields[p] = row.Name
		if row.Default != "" {
			if f := row.fill(&Inputs{}, []string{row.Default}); f != nil {
				t.Errorf("%s: its own default is refused: %v", row.Name, f)
			}
		}
		for _, c := range row.Commands {
			if _, known := commandNamed(c); !known {
				t.Errorf("%s belongs to unknown command %q", row.Name, c)
			}
		}
		if row.Description == "" || !strings.HasSuffix(row.Description, ".") {
			t.Errorf("%s: the description is no sentence", row.Name)
		}
	}
}
