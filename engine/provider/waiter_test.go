package provider

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Who follows a wait is told of every look; the log has a line a minute, from
// one of the two.
func TestWaitsTellWhatTheyAreFor(t *testing.T) {
	const line = "Orders: waiting for table ACTIVE for 1m0s (CREATING)"
	for name, tt := range map[string]struct {
		follow        bool
		told, noticed []string
	}{
		"followed": {true, []string{
			"waiting for table ACTIVE (CREATING)|", "waiting for table ACTIVE (CREATING)|",
			"waiting for table ACTIVE (CREATING)|" + line, "waiting for table ACTIVE (UPDATING)|",
		}, nil},
		"not followed": {false, nil, []string{line}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told, noticed []string
				r := &Request{LogicalID: "Orders", Notice: func(text string) { noticed = append(noticed, text) }}
				if tt.follow {
					r.Waiting = func(what, line string) { told = append(told, what+"|"+line) }
				}
				states := []string{"CREATING", "CREATING", "CREATING", "UPDATING", "ACTIVE"}
				w := &Waiter{What: "table ACTIVE", OK: []string{"ACTIVE"}, First: 30 * time.Second, Cap: 30 * time.Second,
					Read: func(context.Context, *Request) (state, detail string, err error) {
						state, states = states[0], states[1:]
						return state, "", nil
					}}
				if err := w.Wait(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([][]string{tt.told, tt.noticed}, [][]string{told, noticed}); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
