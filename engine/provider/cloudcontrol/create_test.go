package cloudcontrol

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	emulator "github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

func TestFailedCreates(t *testing.T) {
	for _, c := range []struct {
		rule     string
		failure  emulator.Failure
		recorded bool
		deleted  bool
		class    retry.Class
	}{
		{"a remnant is deleted (T-1002)", emulator.Failure{Code: "NotStabilized", Remnant: true}, false, true, retry.Transient},
		{"not when the record has it (T-1003)", emulator.Failure{Code: "NotStabilized", Remnant: true}, true, false, retry.Transient},
		{"not when it was there before (T-1002)", emulator.Failure{Code: "AlreadyExists", Message: "taken", Remnant: true}, false, false, retry.Collision},
		{"not on a conflict (T-1002)", emulator.Failure{Code: "ResourceConflict", Remnant: true}, false, false, retry.Transient},
		{"throttled (T-1012)", emulator.Failure{Code: "Throttling"}, false, false, retry.Throttle},
		{"a quota is final (T-1012)", emulator.Failure{Code: "ServiceLimitExceeded", Message: "Rate exceeded"}, false, false, retry.Final},
		{"bad input is final (T-1012)", emulator.Failure{Code: "InvalidRequest", Message: "no such shape"}, false, false, retry.Final},
		{"bad input that is a role not seen yet (T-1012)", emulator.Failure{Code: "InvalidRequest", Message: "The role cannot be assumed"}, false, false, retry.Propagation},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, time.Second)
				c.failure.Operation = "CREATE"
				w.Fail(c.failure)
				p := New(Options{Recorded: func(s provider.Stack, typeName, id string) bool { return c.recorded && id == "w" }})
				_, err := p.Create(t.Context(), w.request(t, workgroup, `{"Name":"w"}`, ""))
				var failed *FailedError
				if !errors.As(err, &failed) {
					t.Fatalf("want a FailedError, got %v", err)
				}
				if !strings.HasPrefix(err.Error(), "CREATE failed for Thing: ") {
					t.Errorf("text (T-1011): %s", err)
				}
				if got := (retry.Classifier{}).Of(err); got != c.class {
					t.Errorf("class: want %s, got %s", c.class, got)
				}
				if got := len(w.times("DeleteResource")) > 0; got != c.deleted {
					t.Errorf("remnant deleted: want %t, got %t", c.deleted, got)
				}
			})
		})
	}
}

func TestAttemptsAfterAFailureHaveTokensOfTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, time.Second)
		w.Fail(emulator.Failure{Operation: "CREATE", Code: "Throttling", Times: 2})
		r := w.request(t, workgroup, `{"Name":"w"}`, "")
		r.Token = "tok"
		create := func(p *Provider) error {
			return retry.Do(t.Context(), retry.ForCreate(retry.Classifier{}), retry.Task{}, func(ctx context.Context) error {
				_, err := p.Create(ctx, r)
				return err
			})
		}
		if err := create(New(Options{})); err != nil {
			t.Fatal(err)
		}
		// Another run walks the same tokens to the same resource.
		if err := create(New(Options{})); err != nil {
			t.Fatal(err)
		}
		var tokens []string
		for _, b := range w.bodies("CreateResource") {
			tokens = append(tokens, b.String("ClientToken"))
		}
		if diff := cmp.Diff([]string{"tok", "tok-1", "tok-2", "tok", "tok-1", "tok-2"}, tokens); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if n := len(w.Resources()); n != 1 {
			t.Errorf("want one resource, got %d", n)
		}
	})
}
