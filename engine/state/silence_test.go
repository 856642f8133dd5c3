package state

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
				start := time.Now()
				released, err := k.ReleaseDead(ctx, owner, tt.dead)
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
