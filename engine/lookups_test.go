package engine_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// All stacks of a run share the limit on look-ups of names (S-203).
func TestLookUpsShareTheirLimit(t *testing.T) {
	e, aws := newEngine(t)
	aws.SetLatency("sns", "GetTopicAttributes", 30*time.Millisecond)
	dir := t.TempDir()
	var topics []string
	for i := range 6 {
		topics = append(topics, fmt.Sprintf(`"T%d": {"Type": "AWS::SNS::Topic", "Properties": {}}`, i))
	}
	writeApp(t, dir, map[string]string{"One": strings.Join(topics, ","), "Two": strings.Join(topics, ",")})
	run, err := e.Deploy(t.Context(), deployAll(dir))
	if err != nil || len(run.Stacks) != 2 || run.Stacks[0].Counts.Created != 6 || run.Stacks[1].Counts.Created != 6 {
		t.Fatalf("%v: %+v", err, run)
	}
	var looks []sandbox.Request
	for _, r := range aws.Log() {
		if r.Action == "GetTopicAttributes" {
			looks = append(looks, r)
		}
	}
	if len(looks) != 12 {
		t.Fatalf("%d look-ups, want 12", len(looks))
	}
	for _, r := range looks {
		under := 0
		for _, o := range looks {
			if !o.Start.After(r.Start) && o.End.After(r.Start) {
				under++
			}
		}
		if under > 4 {
			t.Errorf("%d topics were looked up at once, want at most 4", under)
		}
	}
}

// Names of a type whose service takes several are asked for at once; a refusal
// of the look-up is one warning, also where the service answers it with 400
// (S-201, S-203).
func TestLookUpsInBatches(t *testing.T) {
	for name, tt := range map[string]struct {
		deny bool
		held bool
		want int // look-ups of eight groups
	}{
		"free":   {want: 1},
		"held":   {held: true, want: 2}, // the rollback asks who made what it deletes
		"denied": {deny: true, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			e, aws := newEngine(t)
			var groups []string
			for i := range 8 {
				groups = append(groups, fmt.Sprintf(`"G%d": {"Type": "AWS::Logs::LogGroup", "Properties": {}}`, i))
			}
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": strings.Join(groups, ",")})
			if tt.held {
				c := cloudwatchlogs.NewFromConfig(aws.Config())
				if _, err := c.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: new("Shop-G3")}); err != nil {
					t.Fatal(err)
				}
				aws.ClearLog()
			}
			if tt.deny {
				aws.AddFault(sandbox.Fault{Service: "logs", Action: "DescribeLogGroups", Status: 400, Code: "AccessDeniedException"})
			}
			run, _ := e.Deploy(t.Context(), deployAll(dir))
			looks := 0
			for _, r := range aws.Log() {
				if r.Action == "DescribeLogGroups" {
					looks++
				}
			}
			if looks != tt.want {
				t.Errorf("%d look-ups, want %d", looks, tt.want)
			}
			s := run.Stacks[0]
			if got := len(s.Warnings); got != map[bool]int{true: 1}[tt.deny] {
				t.Errorf("warnings: %q", s.Warnings)
			}
			var refused []string
			for _, f := range s.Failures {
				refused = append(refused, f.LogicalID)
			}
			if tt.held && !slices.Equal(refused, []string{"G3"}) || !tt.held && s.Counts.Created != 8 {
				t.Errorf("refused %q, %d made: %s", refused, s.Counts.Created, s.Message)
			}
		})
	}
}

// Names are looked up once the answer to a question is there, so that none is
// out of date when its create comes (S-207).
func TestLookUpsComeAfterTheAnswer(t *testing.T) {
	e, aws := newEngine(t)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"T": {"Type": "AWS::SNS::Topic", "Properties": {}}`})
	looks := func() (n int) {
		for _, r := range aws.Log() {
			if r.Action == "GetTopicAttributes" {
				n++
			}
		}
		return n
	}
	opt := deployAll(dir)
	asked := false
	opt.Approve = func(*result.Run) error {
		if asked = true; looks() > 0 {
			t.Error("a name was looked up before the answer")
		}
		return nil
	}
	if run, err := e.Deploy(t.Context(), opt); err != nil || run.Outcome != result.Success || !asked || looks() == 0 {
		t.Errorf("%v %+v: asked %t, %d looks", err, run, asked, looks())
	}
}

// A rule whose bus is still to be made is looked up on that bus once it is
// there, and on no other (S-205).
func TestRuleIsLookedUpOnItsBus(t *testing.T) {
	e, aws := newEngine(t)
	dir := t.TempDir()
	aws.AddFault(sandbox.Fault{ID: "on its bus", Action: "DescribeRule", Mentions: `"EventBusName":"shop-bus"`, Delay: time.Nanosecond})
	aws.AddFault(sandbox.Fault{Action: "DescribeRule", Status: 400, Code: "ValidationException", Message: "asked of another bus"})
	writeApp(t, dir, map[string]string{"Shop": `"Bus": {"Type": "AWS::Events::EventBus", "Properties": {"Name": "shop-bus"}},
		"Rule": {"Type": "AWS::Events::Rule", "Properties": {"EventBusName": {"Ref": "Bus"}, "EventPattern": {"source": ["x"]}}}`})
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks)
	}
	tr := trace{t, aws.Log()}
	tr.inOrder(tr.first("CreateEventBus", ""), tr.first("DescribeRule", ""), tr.first("PutRule", ""))
}

// writeApp writes an assembly of stacks with the resources given.
func writeApp(t *testing.T, dir string, stacks map[string]string) {
	t.Helper()
	var artifacts []string
	files := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(stacks)) { // the assembly's order is that of its manifest
		artifacts = append(artifacts, fmt.Sprintf(`%q: {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": %q}}`, name, name+".json"))
		files[name+".json"] = `{"Resources": {` + stacks[name] + `}}`
	}
	files["manifest.json"] = `{"version": "48.0.0", "artifacts": {` + strings.Join(artifacts, ",") + `}}`
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func deployAll(dir string) engine.DeployOptions {
	return engine.DeployOptions{
		Selection:       engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}},
		ResourceTimeout: time.Minute, StackConcurrency: 2,
	}
}

// What may not be asked, and what may not be tagged, is said once a run and type,
// whichever of the stacks meets it, with the permission that is missing (S-202,
// S-213, S-400).
func TestDenialsAreSaidOnceARun(t *testing.T) {
	e, aws := newEngine(t)
	dir := t.TempDir()
	topics := `"A": {"Type": "AWS::SNS::Topic", "Properties": {}}, "B": {"Type": "AWS::SNS::Topic", "Properties": {}}`
	writeApp(t, dir, map[string]string{"One": topics, "Two": topics})
	aws.AddFault(sandbox.Fault{Service: "sns", Action: "GetTopicAttributes", Status: 403, Code: "AuthorizationError", Message: "no"})
	aws.AddFault(sandbox.Fault{Service: "sns", Action: "CreateTopic", Mentions: "cdkd-action%3Acreate", Status: 403, Code: "AuthorizationError",
		Message: "not authorized to perform: sns:TagResource"})
	for _, which := range []string{"first", "second"} {
		if which == "second" { // what is recorded is neither looked up nor made
			writeApp(t, dir, map[string]string{"One": strings.ReplaceAll(topics, `"B"`, `"C"`), "Two": strings.ReplaceAll(topics, `"B"`, `"C"`)})
		}
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil || run.Outcome != result.Success {
			t.Fatalf("%s run: %v %+v", which, err, run.Stacks)
		}
		warnings := slices.Concat(run.Stacks[0].Warnings, run.Stacks[1].Warnings)
		for _, permission := range []string{"sns:GetTopicAttributes", "sns:TagResource"} {
			said := 0
			for _, w := range warnings {
				if strings.Contains(w, permission) {
					said++
				}
			}
			if said != 1 {
				t.Errorf("%s run: %s was named %d times in %q", which, permission, said, warnings)
			}
		}
		if len(warnings) != 2 {
			t.Errorf("%s run: warnings %q", which, warnings)
		}
	}
}
