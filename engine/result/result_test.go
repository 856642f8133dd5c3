package result

import "testing"

// Of several stacks' outcomes the first of these is the run's, in whatever order
// they come (G-8.5).
func TestWorse(t *testing.T) {
	order := []Outcome{Cancelled, Failed, Locked, PlanChanged, ApprovalRequired, Drifted, Partial, Success, NoChange}
	codes := map[Outcome]int{Cancelled: 130, Failed: 1, Locked: 1, PlanChanged: 1, ApprovalRequired: 1, Drifted: 1, Partial: 2, Success: 0, NoChange: 0}
	for i, a := range order {
		if code := a.ExitCode(); code != codes[a] {
			t.Errorf("%s exits with %d, want %d", a, code, codes[a])
		}
		if Worse("", a) != a || Worse(a, "") != a {
			t.Errorf("%s does not win over nothing", a)
		}
		for _, b := range order[i:] {
			if Worse(a, b) != a || Worse(b, a) != a {
				t.Errorf("of %s and %s the outcome is %s or %s, want %s", a, b, Worse(a, b), Worse(b, a), a)
			}
		}
	}
}
