package engine_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/org/cdkd-action/internal/sandbox"
)

// killedAt runs work as if the process died at its nth request: that one is
// answered to nobody, after it took effect or before, and so are all that come
// later. What the process held it holds until somebody unlocks. It tells whether
// there were as many requests.
func (f *handover) killedAt(nth int, after bool, work func()) bool {
	f.t.Helper()
	f.aws.ClearLog()
	dying := f.aws.AddFault(sandbox.Fault{Nth: nth, Count: 1, After: after, Status: 400, Code: "Gone", Message: "killed"})
	dead := f.aws.AddFault(sandbox.Fault{Nth: nth + 1, Status: 400, Code: "Gone", Message: "killed"})
	work()
	f.aws.RemoveFault(dying)
	f.aws.RemoveFault(dead)
	reached := len(f.aws.Log()) >= nth
	if _, err := f.e.ForceUnlock(f.t.Context(), []string{"Formed", "Formed~Inner"}, "us-east-1"); err != nil {
		f.t.Fatal(err)
	}
	return reached
}

// requestsToKill are where a run dies: at every request with
// CDKD_EVERY_REQUEST=true, otherwise at some of them.
func requestsToKill() (first, step int) {
	if os.Getenv("CDKD_EVERY_REQUEST") == "true" {
		return 1, 1
	}
	return 3, 11
}

// Wherever a migration dies, at each moment either CloudFormation has all of the
// stack, or its records do; no resource is touched; and another run finishes, or
// says that all is done (S-315, S-332).
func TestTakeOverKilledAtAnyRequest(t *testing.T) {
	first, step := requestsToKill()
	kills := 0
	for _, after := range []bool{false, true} {
		for n := first; ; n += step {
			f := formedThere(t)
			if !f.killedAt(n, after, func() { f.takeOver() }) {
				break
			}
			kills++
			at := fmt.Sprintf("killed at request %d, after its effect %t", n, after)
			records := strings.Join(f.recorded(), " ")
			both := strings.Contains(records, "Formed/us-east-1/state.json") && strings.Contains(records, "Formed~Inner/us-east-1/state.json")
			whole := slices.Contains([]string{"UPDATE_COMPLETE Topic Inner", "UPDATE_IN_PROGRESS Topic Inner"}, f.has("Formed")) && f.has("Formed-Inner") != ""
			if !both && !whole {
				t.Errorf("%s: CloudFormation has %q and %q, and recorded is %s", at, f.has("Formed"), f.has("Formed-Inner"), records)
			}
			if strings.Contains(records, "state.json") && (f.half() == "" && f.has("Formed") != "") {
				t.Errorf("%s: recorded is %s, CloudFormation has %q, and nothing says that it is half way", at, records, f.has("Formed"))
			}
			f.untouched(at)
			if i, err := f.takeOver(); err != nil || !i.Retired || f.half() != "" || f.has("Formed")+f.has("Formed-Inner") != "" {
				t.Fatalf("%s, and run again: %v; half way: %q; CloudFormation has %q", at, err, f.half(), f.has("Formed"))
			}
			f.untouched(at)
			f.unchanged()
		}
	}
	t.Logf("killed %d times", kills)
}

// Wherever an export dies, another run finishes it, with no resource touched; and
// nothing is deployed by mistake in between (S-316, S-332).
func TestExportKilledAtAnyRequest(t *testing.T) {
	first, step := requestsToKill()
	kills := 0
	for _, after := range []bool{false, true} {
		for n := first; ; n += step {
			f := form(t, formed)
			if !f.killedAt(n, after, func() { f.export() }) {
				break
			}
			kills++
			at := fmt.Sprintf("killed at request %d, after its effect %t", n, after)
			over := len(f.recorded()) == 0
			for _, name := range []string{"Formed", "Formed-Inner"} {
				if has := f.has(name); strings.Contains(has, " ") && f.half() == "" && !over {
					t.Errorf("%s: CloudFormation has %q, and nothing says that it is half way", at, has)
				}
			}
			f.untouched(at)
			if x, err := f.export(); err != nil || !x.Done && !x.Already || f.half() != "" || f.recorded() != nil || f.has("Formed") != "UPDATE_COMPLETE Topic Inner" {
				t.Fatalf("%s, and run again: %v; left are %v; CloudFormation has %q", at, err, f.recorded(), f.has("Formed"))
			}
			f.untouched(at)
		}
	}
	t.Logf("killed %d times", kills)
}

// untouched fails if anything but a read was asked of what the resources are made
// by.
func (f *handover) untouched(at string) {
	f.t.Helper()
	for _, r := range f.aws.Log() {
		if (r.Service == "sqs" || r.Service == "sns") && !strings.HasPrefix(r.Action, "Get") && !strings.HasPrefix(r.Action, "List") {
			f.t.Errorf("%s: a resource was touched: %s %s", at, r.Service, r.Action)
		}
	}
}
