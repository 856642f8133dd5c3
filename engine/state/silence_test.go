package state

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReleaseDead(t *testing.T) { // (S-440)
	const (
		owner = "runner@gha-1-1-abcdef01:1"
		limit = 3*time.Minute + 55*time.Second // between two looks
	)
	for _, tt := range []struct {
		name     string
		dead     bool
		hold     func(*testing.T, *cloud, *Stack)
		released bool
		after    time.Duration
		err      string
	}{
		{
			name: "no lock", hold: func(*testing.T, *cloud, *Stack) {},
		},
		{
			name: "another owner's, however silent",
			hold: func(_ *testing.T, c *cloud, _ *Stack) { c.holdBy("somebody", at(0)) },
			dead: true,
		},
		{
			name: "proof that the process is gone",
			hold: func(_ *testing.T, c *cloud, _ *Stack) { c.holdBy(owner, at(LockTTL)) },
			dead: true, released: true,
		},
		{
			name:     "silent for longer than a living holder",
			hold:     func(_ *testing.T, c *cloud, _ *Stack) { c.holdBy(owner, at(LockTTL)) },
			released: true, after: 150 * time.Second,
		},
		{
			name: "renewed once more: counted from then",
			hold: func(_ *testing.T, c *cloud, _ *Stack) {
				c.holdBy(owner, at(LockTTL))
				time.AfterFunc(45*time.Second, func() { c.holdBy(owner, at(LockTTL)) })
			},
			released: true, after: 200 * time.Second,
		},
		{
			name: "alive until the end",
			hold: func(t *testing.T, c *cloud, k *Stack) {
				l, err := k.Lock(t.Context(), LockOptions{Owner: owner})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Release(context.Background()) })
			},
			after: limit, err: "frees itself at 2000-01-01T00:32:00Z",
		},
		{
			name: "renewed at the last moment",
			hold: func(_ *testing.T, c *cloud, _ *Stack) {
				c.holdBy(owner, at(LockTTL))
				c.on("DeleteObject", lockName, 0, 1, first(func() { c.holdBy(owner, at(LockTTL)) }))
			},
			after: limit, err: "may still be alive",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				tt.hold(t, c, k)
				before := c.has(lockKey)
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				start, ended := time.Now(), time.Time{}
				if tt.dead {
					ended = start
				}
				released, err := k.ReleaseDead(ctx, owner, ended)
				if released != tt.released || time.Since(start) != tt.after {
					t.Errorf("released %v after %s, want %v after %s", released, time.Since(start), tt.released, tt.after)
				}
				if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				if c.has(lockKey) != (before && !tt.released) {
					t.Errorf("lock there: %v", c.has(lockKey))
				}
			})
		})
	}
}

// Whoever releases a dead run's lock bounds what that can have made (S-238).
func TestReleaseDeadBoundsTheLedger(t *testing.T) {
	const owner = "runner@gha-1-1-abcdef01:1"
	for _, tt := range []struct {
		name  string
		owner string
		ended time.Duration // before now; negative: not known
		want  func() time.Time
	}{
		{"by the end of its process", owner, time.Minute, func() time.Time { return at(-time.Minute) }},
		{"by its last renewal and an interval", owner, -1, func() time.Time { return at(-time.Minute).Add(-LockTTL + LockInterval) }},
		{"somebody else's lock: not at all", "somebody", time.Minute, func() time.Time { return time.UnixMilli(1) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, k := bubbleShop(t)
				c.holdBy(tt.owner, at(-time.Minute))
				c.PutObject(bucket, ledgerKey, fmt.Appendf(nil,
					`{"ledgerVersion":1,"nonce":"n","abandonedAt":1,"sent":{"A":{"base":%q,"token":"t","firstSentAt":5}}}`, adoptBase+typeQueue))
				want, ended := tt.want(), time.Time{}
				if tt.ended >= 0 {
					ended = time.Now().Add(-tt.ended)
				}
				if _, err := k.ReleaseDead(t.Context(), owner, ended); err != nil {
					t.Fatal(err)
				}
				if got := time.UnixMilli(c.ledger(t).abandonedAt); !got.Equal(want) {
					t.Errorf("bounded by %s, want %s", got.UTC(), want.UTC())
				}
			})
		})
	}
}

// What a post step says is open: what was let go, and what was about to be made.
func TestUnsettled(t *testing.T) { // (S-190, P-26)
	c, k := shop(t)
	if open, err := k.Unsettled(t.Context()); err != nil || len(open) > 0 {
		t.Errorf("of a stack that is not there: %v, %v", open, err)
	}
	c.PutObject(bucket, recordKey, []byte(`{"version":9,"stackName":"Shop","region":"eu-west-1","resources":{
		"Done":{"physicalId":"done","resourceType":"AWS::SQS::Queue","properties":{}}},"outputs":{},"lastModified":1}`))
	c.PutObject(bucket, ledgerKey, []byte(`{"ledgerVersion":1,"nonce":"n","sent":{
		"Done":{"base":"adopt-by-name:AWS::SQS::Queue","token":"done","firstSentAt":5},
		"Killed":{"base":"adopt-by-name:AWS::SQS::Queue","token":"killed","firstSentAt":6},
		"Sealed":{"base":"create:AWS::Logs::LogGroup","token":"t","firstSentAt":7}}}`))
	f, err := k.OpenPending(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Change(t.Context(), func(p *Pending) {
		p.LedgerNonce = "n"
		p.Enter(OpenOperation{LogicalID: "Sealed", ResourceType: "AWS::Logs::LogGroup", ChangeType: OpCreate, ProvisionedBy: BySDK, Stage: StageSent, StartedAt: 8})
		p.Enter(OpenOperation{LogicalID: "Gone", ResourceType: "AWS::SNS::Topic", ChangeType: OpDelete, ProvisionedBy: BySDK, Stage: StageAccepted, PhysicalID: "arn", StartedAt: 9})
	}); err != nil {
		t.Fatal(err)
	}
	got, err := k.Unsettled(t.Context())
	want := []Unsettled{
		{"Gone", "AWS::SNS::Topic", OpDelete, "arn", StageAccepted, time.UnixMilli(9)},
		{"Killed", "AWS::SQS::Queue", OpCreate, "", StageSent, time.UnixMilli(6)},
		{"Sealed", "AWS::Logs::LogGroup", OpCreate, "", StageSent, time.UnixMilli(8)},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
