package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

func TestCriticalPath(t *testing.T) {
	at := func(id string, start, took int) result.Span {
		return result.Span{LogicalID: id, Action: plan.Create, Start: time.Unix(int64(start), 0), Took: time.Duration(took) * time.Second}
	}
	gone := at("D", 14, 2)
	gone.Action = plan.Delete
	tests := []struct {
		name  string
		after map[string][]string
		spans []result.Span
		want  string
	}{
		{"back through what each waited for", map[string][]string{"C": {"A", "B"}}, []result.Span{at("A", 0, 2), at("X", 0, 9), at("B", 0, 8), at("C", 9, 5)}, "B C"},
		{"a delete comes after what was before it", map[string][]string{"C": {"B"}}, []result.Span{at("X", 0, 3), at("B", 0, 8), at("C", 9, 5), gone}, "B C D"},
		{"what waited for room waited for what made it", nil, []result.Span{at("A", 0, 4), at("B", 4, 4), at("C", 0, 3)}, "A B"},
		{"one that began at once waited for nothing", nil, []result.Span{at("A", 0, 4), at("B", 0, 9)}, "B"},
		{"nothing ran", nil, nil, ""},
	}
	for _, tt := range tests {
		s := &result.Stack{After: tt.after, Timeline: tt.spans}
		var got []string
		for i, critical := range criticalPath(s) {
			if critical {
				got = append(got, tt.spans[i].LogicalID)
			}
		}
		if d := cmp.Diff(tt.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// However much ran, the picture stays one that GitHub draws.
func TestPicturesStayWithinLimits(t *testing.T) {
	s := &result.Stack{Name: "Shop", After: map[string][]string{}}
	for i := range 1000 {
		id := fmt.Sprint("R", i, strings.Repeat("x", 100))
		s.Timeline = append(s.Timeline, result.Span{LogicalID: id, Action: plan.Create, Start: time.Unix(int64(i), 0), Took: time.Duration(i) * time.Second})
		s.After[fmt.Sprint("Held", i)] = []string{"Failed"}
	}
	s.Failures = []result.Failure{{LogicalID: "Failed"}}
	got := pictures(&result.Run{Stacks: []*result.Stack{s}})
	for _, block := range strings.Split(got, "```mermaid")[1:] {
		if len(block) > 50_000 {
			t.Errorf("a picture of %d characters", len(block))
		}
	}
	if bars := strings.Count(got, "create R"); bars < maxBars || bars > 2*maxBars || !strings.Contains(got, "shorter operations not shown") {
		t.Errorf("%d bars\n%.500s", bars, got)
	}
	if nodes := strings.Count(got, `"]:::`); nodes != maxNodes {
		t.Errorf("%d nodes", nodes)
	}
}

func TestNoPictureOfNothing(t *testing.T) {
	for _, run := range []*result.Run{diffRun(), unchangedRun("deploy"), lockedRun()} {
		if got := pictures(run); got != "" {
			t.Errorf("%s", got)
		}
	}
}
