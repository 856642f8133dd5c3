package ci

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

func TestEndings(t *testing.T) { // T-804, T-863
	run := func(o result.Outcome) *result.Run { return &result.Run{Outcome: o} }
	tests := []struct {
		name string
		run  *result.Run
		in   Inputs
		want Ending
	}{
		{"nothing to do (G-8.5)", run(""), Inputs{}, Ending{Outcome: result.NoChange, ExitCode: 0, StepCode: 0}},
		{"success (G-8.5)", run(result.Success), Inputs{}, Ending{Outcome: result.Success, ExitCode: 0, StepCode: 0}},
		{"failed (S-191)", run(result.Failed), Inputs{}, Ending{Outcome: result.Failed, ExitCode: 1, StepCode: 1}},
		{"partial is 2 (S-191)", run(result.Partial), Inputs{OnPartial: PartialFail}, Ending{Outcome: result.Partial, ExitCode: 2, StepCode: 2}},
		{"on-partial warn keeps the step green and says 2 (G-8.3)", run(result.Partial), Inputs{OnPartial: PartialWarn}, Ending{Outcome: result.Partial, ExitCode: 2, StepCode: 0}},
		{"allow-unaddressed changes the code and not the outcome (S-192)", run(result.Partial), Inputs{AllowUnaddressed: true}, Ending{Outcome: result.Partial, ExitCode: 0, StepCode: 0}},
		{"allow-unaddressed hides no failure (S-192)", run(result.Failed), Inputs{AllowUnaddressed: true, OnPartial: PartialWarn}, Ending{Outcome: result.Failed, ExitCode: 1, StepCode: 1}},
		{"interrupted is 130 (S-441)", run(result.Cancelled), Inputs{OnPartial: PartialWarn}, Ending{Outcome: result.Cancelled, ExitCode: 130, StepCode: 130}},
		{"a diff with changes is no failure (T-452)", run(result.Success), Inputs{Command: Diff}, Ending{Outcome: result.Success, ExitCode: 0, StepCode: 0}},
		{"a diff with changes and fail is (T-452, T-453)", run(result.Success), Inputs{Command: Diff, Fail: true}, Ending{Outcome: result.Failed, Reason: result.ReasonInput, ExitCode: 1, StepCode: 1}},
		{"a diff without changes and fail is none (T-452)", run(result.NoChange), Inputs{Command: Diff, Fail: true}, Ending{Outcome: result.NoChange, ExitCode: 0, StepCode: 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := End(tt.run, &tt.in); got != tt.want {
				t.Errorf("want %+v, got %+v", tt.want, got)
			}
		})
	}
}

func TestOutputsOfARun(t *testing.T) { // (T-1206)
	r := &result.Run{Command: "deploy", RunID: "r1", PlanDigest: "d1"}
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Success, Changed: true,
		Counts: result.Counts{Created: 2, Updated: 1}, Outputs: value.NewObject("Url", "https://x/?a=1&b=2", "Ids", []any{"a", "b"})})
	r.Add(&result.Stack{Name: "Shop", Region: "us-east-1", Outcome: result.NoChange, Counts: result.Counts{Unchanged: 3}, Outputs: value.NewObject("Url", "u")})
	r.Add(&result.Stack{Name: "Data", Region: "eu-west-1", Outcome: result.Partial, Changed: true, Counts: result.Counts{Deleted: 1, Skipped: 1},
		Pending:     []result.Pending{{Stack: "Data", LogicalID: "G", Type: "T", Change: "create", Stage: "accepted", StartedAt: 7}},
		Unaddressed: []result.Unaddressed{{Stack: "Data", LogicalID: "B", Type: "AWS::S3::Bucket", PhysicalID: "b", Reason: "not empty", Remedy: "empty it"}}})
	r.Add(&result.Stack{Name: "Net", Region: "eu-west-1", Outcome: result.Locked, Reason: result.ReasonLock,
		Lock: &result.Lock{Owner: "o", Operation: "deploy", Stack: "Net", Region: "eu-west-1", ExpiresAt: 5}})
	s := newStep(t)
	if err := s.SetRun(r, End(r, &Inputs{})); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"outcome": "locked", "exit-code": "1", "changed": "true",
		"created": "2", "updated": "1", "deleted": "1", "skipped": "1", "failed": "0", "unchanged": "3",
		"failure-reason": "lock", "run-id": "r1", "plan-digest": "d1",
		"lock":              `{"owner":"o","operation":"deploy","stack":"Net","region":"eu-west-1","expiresAt":5}`,
		"pending":           `[{"stack":"Data","logicalId":"G","type":"T","change":"create","stage":"accepted","startedAt":7}]`,
		"unaddressed":       `[{"stack":"Data","logicalId":"B","type":"AWS::S3::Bucket","physicalId":"b","reason":"not empty","remedy":"empty it"}]`,
		"Shop_3add1adc.Url": "https://x/?a=1&b=2", "Shop_3add1adc.Ids": `["a","b"]`, "Shop_027ae47d.Url": "u",
		"outputs": `{"Shop (eu-west-1)":{"Url":"https://x/?a=1&b=2","Ids":["a","b"]},"Shop (us-east-1)":{"Url":"u"}}`,
	}
	got := readEntries(t, s.file(t, "GITHUB_OUTPUT"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(G-8.4) (-want +got):\n%s", diff)
	}
	others := []string{"comment-url", "plan-file", "stacks", "waves", "matrix", "assembly", "drifted"} // no run of the engine's has them
	for _, o := range Outputs() {
		if _, written := got[o.Name]; !written && !slices.Contains(others, o.Name) {
			t.Errorf("%s is documented and not written", o.Name)
		}
	}

	empty := newStep(t)
	if err := empty.SetRun(&result.Run{}, End(&result.Run{}, &Inputs{})); err != nil {
		t.Fatal(err)
	}
	got = readEntries(t, empty.file(t, "GITHUB_OUTPUT"))
	if got["unaddressed"] != "[]" || got["outputs"] != "{}" || got["lock"] != "" {
		t.Errorf("empty values: %q", got)
	}
}

func TestOutputsOfAStack(t *testing.T) {
	s := newStep(t)
	names := NewOutputNames([]StackID{{Name: "Shop", Region: "eu-west-1"}})
	err := s.SetStack(names, &result.Stack{Name: "Shop", Region: "eu-west-1", Plan: &plan.Plan{},
		Outputs: value.NewObject("Url", "u", "Port", value.Int(80), "Ids", []any{"a"}, "On", true)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"Shop.Url": "u", "Shop.Port": "80", "Shop.Ids": `["a"]`, "Shop.On": "true"}
	if diff := cmp.Diff(want, readEntries(t, s.file(t, "GITHUB_OUTPUT"))); diff != "" {
		t.Errorf("(G-8.4) (-want +got):\n%s", diff)
	}
}

func TestOutputNames(t *testing.T) {
	tests := []struct {
		name   string
		stacks []StackID
		of     StackID
		output []string
		want   map[string]string
	}{
		{"what GitHub accepts stays", []StackID{{Name: "My-Shop", Region: "r"}}, StackID{Name: "My-Shop", Region: "r"}, []string{"ApiUrl1"},
			map[string]string{"ApiUrl1": "My-Shop.ApiUrl1"}},
		{"what it does not becomes _", []StackID{{Name: "A~B", Region: "r"}}, StackID{Name: "A~B", Region: "r"}, []string{"ü.x\n<<E", "ok"},
			map[string]string{"ü.x\n<<E": "A_B.__x___E", "ok": "A_B.ok"}},
		{"outputs that differ in case", []StackID{{Name: "S", Region: "r"}}, StackID{Name: "S", Region: "r"}, []string{"url", "Url", "x"},
			map[string]string{"url": "S.url_28e5ebab", "Url": "S.Url_157ce98b", "x": "S.x"}},
		{"one stack in two regions", []StackID{{Name: "S", Region: "eu-west-1"}, {Name: "S", Region: "us-east-1"}}, StackID{Name: "S", Region: "us-east-1"}, []string{"x"}, nil},
		{"a stack that was not announced", nil, StackID{Name: "S", Region: "r"}, []string{"x"}, map[string]string{"x": "S.x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := NewOutputNames(tt.stacks).Of(tt.of, tt.output)
			if tt.want != nil {
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			seen := map[string]bool{}
			for _, n := range got {
				if seen[strings.ToLower(n)] || strings.Count(n, ".") != 1 {
					t.Errorf("%q is not unique, or has not one dot", n)
				}
				seen[strings.ToLower(n)] = true
			}
		})
	}
	two := NewOutputNames([]StackID{{Name: "S", Region: "eu-west-1"}, {Name: "S", Region: "us-east-1"}, {Name: "s", Region: "eu-west-1"}, {Name: "S", Region: "eu-west-1", Account: "222222222222"}})
	seen := map[string]bool{}
	for _, id := range []StackID{{Name: "S", Region: "eu-west-1"}, {Name: "S", Region: "us-east-1"}, {Name: "s", Region: "eu-west-1"}, {Name: "S", Region: "eu-west-1", Account: "222222222222"}} {
		seen[strings.ToLower(two.Of(id, []string{"x"})["x"])] = true
	}
	if len(seen) != 4 {
		t.Errorf("stacks share names: %v", seen)
	}
}

// What is too long to be an output is told of, and costs nothing but itself (G-8.4).
func TestOutputsOfStacksLeaveRoom(t *testing.T) {
	s := newStep(t)
	r := &result.Run{Command: "deploy"}
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Success, Changed: true,
		Outputs: value.NewObject("Long", strings.Repeat("x", maxStackUnits/2), "Url", "https://x", "Vast", strings.Repeat("y", maxOutputUnits))})
	if err := s.SetStack(NewOutputNames([]StackID{{Name: "Shop", Region: "eu-west-1"}}), r.Stacks[0]); err == nil || !strings.Contains(err.Error(), "set output Shop.Vast") {
		t.Errorf("of the output that is too long: %v", err)
	}
	err := s.SetRun(r, End(r, &Inputs{}))
	if err == nil || !strings.Contains(err.Error(), "set output outputs: ") {
		t.Errorf("of outputs: %v", err)
	}
	got := readEntries(t, s.file(t, "GITHUB_OUTPUT"))
	if got["outcome"] != "success" || got["unaddressed"] != "[]" || got["Shop.Url"] != "https://x" || len(got["Shop.Long"]) != maxStackUnits/2 {
		t.Errorf("there are %q", slices.Sorted(maps.Keys(got)))
	}
	if _, there := got["outputs"]; there {
		t.Error("outputs is there")
	}
}
