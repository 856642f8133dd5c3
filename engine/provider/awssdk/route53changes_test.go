package awssdk

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
)

// What comes while a change is on its way goes as one request.
func TestRecordChangesAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var sizes []int
		q := &recordChanges{send: func(_ context.Context, _ string, changes []types.Change) error {
			sizes = append(sizes, len(changes))
			<-gate
			return nil
		}}
		results := make(chan error, 10)
		for range 10 {
			go func() { results <- q.change(t.Context(), "z", types.Change{}) }()
			synctest.Wait()
		}
		close(gate)
		for range 10 {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff([]int{1, 9}, sizes); diff != "" {
			t.Errorf("sizes of requests (-want +got):\n%s", diff)
		}
	})
}

// A change that is refused fails alone.
func TestRecordChangesFailAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		refusal := &smithy.GenericAPIError{Code: "InvalidChangeBatch"}
		q := &recordChanges{send: func(_ context.Context, _ string, changes []types.Change) error {
			<-gate
			for _, c := range changes {
				if c.Action == types.ChangeActionDelete {
					return refusal
				}
			}
			return nil
		}}
		good, bad := make(chan error, 3), make(chan error, 1)
		go func() { good <- q.change(t.Context(), "z", types.Change{Action: types.ChangeActionCreate}) }()
		synctest.Wait()
		go func() { bad <- q.change(t.Context(), "z", types.Change{Action: types.ChangeActionDelete}) }()
		for range 2 {
			go func() { good <- q.change(t.Context(), "z", types.Change{Action: types.ChangeActionCreate}) }()
		}
		synctest.Wait()
		close(gate)
		for range 3 {
			if err := <-good; err != nil {
				t.Error(err)
			}
		}
		if err := <-bad; err != refusal {
			t.Errorf("%v, want the refusal", err)
		}
	})
}

// Who gives up waiting has sent nothing.
func TestRecordChangeIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		sent := 0
		q := &recordChanges{send: func(_ context.Context, _ string, changes []types.Change) error {
			sent += len(changes)
			<-gate
			return nil
		}}
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- q.change(t.Context(), "z", types.Change{}) }()
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { second <- q.change(ctx, "z", types.Change{}) }()
		synctest.Wait()
		enough := errors.New("enough")
		cancel(enough)
		if err := <-second; err != enough {
			t.Errorf("%v, want the cause", err)
		}
		close(gate)
		if err := <-first; err != nil || sent != 1 {
			t.Errorf("%v, %d sent, want 1", err, sent)
		}
	})
}
