package report

import (
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// What came of each stack is told: how many resources were made, changed, deleted,
// left and not touched, how long it took, and its outputs. The log tells the same of
// the run (T-1205).
func TestSummaryOfEachStack(t *testing.T) {
	run := &result.Run{Command: "deploy", Duration: 2500 * time.Millisecond}
	run.Add(&result.Stack{Name: "Net", Region: "eu-west-1", Outcome: result.Success, Changed: true, Duration: 1250 * time.Millisecond,
		Counts: result.Counts{Created: 1, Updated: 2}, Outputs: value.NewObject("VpcId", "vpc-1")})
	run.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Success, Changed: true, Duration: 2 * time.Second,
		Counts: result.Counts{Updated: 1, Deleted: 3, Skipped: 4, Unchanged: 5}, Outputs: value.NewObject("Url", "https://shop")})
	text, err := JSON(run)
	if err != nil {
		t.Fatal(err)
	}
	o, err := value.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range o.Value("stacks").([]any) {
		s := s.(*value.Object)
		took, _ := value.Text(s.Value("durationMs"))
		got = append(got, s.String("stack")+" "+value.JSON(s.Value("counts"))+" "+took+" "+value.JSON(s.Value("outputs")))
	}
	want := `Net {"created":1,"updated":2,"deleted":0,"skipped":0,"failed":0,"unchanged":0} 1250 {"VpcId":"vpc-1"}
Shop {"created":0,"updated":1,"deleted":3,"skipped":4,"failed":0,"unchanged":5} 2000 {"Url":"https://shop"}`
	if told := strings.Join(got, "\n"); told != want {
		t.Errorf("want\n%s\ngot\n%s", want, told)
	}
	log := Text(run)
	for _, want := range []string{"3 deleted, 3 updated, 1 created, 4 left", "(2.5s)", "Net in eu-west-1: outputs\n  VpcId = vpc-1\n", "Shop in eu-west-1: outputs\n  Url = https://shop\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
}
