package state

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRetention(t *testing.T) { // (S-145)
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	id := func(age time.Duration) string { return NewRunID(now.Add(-age)) }
	hour, day, week := id(time.Hour), id(24*time.Hour), id(7*24*time.Hour)
	ids := []string{week, day, hour, "by-hand"}
	many := []string{}
	for i := range 22 {
		many = append(many, id(time.Duration(22-i)*time.Minute))
	}
	for name, tt := range map[string]struct {
		ids  []string
		keep Retention
		want []string
	}{
		"nothing said: twenty are kept":            {ids: many, want: []string{many[1], many[0]}},
		"a number":                                 {ids: ids, keep: Retention{Newest: 1}, want: []string{day, week}},
		"an age":                                   {ids: ids, keep: Retention{OlderThan: 24 * time.Hour}, want: []string{week}},
		"both: only what neither keeps":            {ids: ids, keep: Retention{Newest: 2, OlderThan: time.Minute}, want: []string{week}},
		"both, the other way round":                {ids: ids, keep: Retention{Newest: 1, OlderThan: 48 * time.Hour}, want: []string{week}},
		"nothing is kept: unknown names go too":    {ids: ids, keep: Retention{Nothing: true}, want: ids},
		"more to keep than there are":              {ids: ids, keep: Retention{Newest: 9}},
		"what is not the name of a run stays":      {ids: []string{"x", "20260101-y", "20260101T000000000-z"}, keep: Retention{OlderThan: time.Second}},
		"a name as the command line also wrote it": {ids: []string{"20250101T000000000Z-aa"}, keep: Retention{OlderThan: time.Hour}, want: []string{"20250101T000000000Z-aa"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := tt.keep.drops(tt.ids, now)
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPruneRuns(t *testing.T) { // (S-145, S-19)
	id := func(n int) string { return fmt.Sprintf("2026010%dT000000000Z-00000000", n) }
	fill := func(t *testing.T) (*cloud, *Stack) {
		c, k := shop(t)
		versioned(t, k.store)
		for n := range 4 {
			k.StartRun(t.Context(), RunOptions{ID: id(n + 1), Command: "deploy"}).Finish(t.Context(), Succeeded, nil, nil)
		}
		c.requests()
		return c, k
	}

	t.Run("the index goes first, then the histories with their earlier versions", func(t *testing.T) {
		c, k := fill(t)
		if err := k.PruneRuns(t.Context(), []string{id(1), id(3)}); err != nil {
			t.Fatal(err)
		}
		c.wantRequests(t, "GetObject "+indexKey, "PutObject "+indexKey, "DeleteObjects", "ListObjectVersions", "DeleteObjects")
		runs, err := allRuns(t, k)
		if err != nil || len(runs) != 2 || runs[0].RunID != id(4) || runs[1].RunID != id(2) {
			t.Errorf("runs %+v, %v", runs, err)
		}
		for _, v := range c.Versions(bucket, runKey(id(1))) {
			if len(v.Body) > 0 {
				t.Errorf("version %s of a pruned history is still readable", v.VersionID)
			}
		}
		if len(c.Versions(bucket, runKey(id(2)))) == 0 {
			t.Error("a history that was to stay is gone")
		}
	})

	t.Run("a run that ends meanwhile stays in the index", func(t *testing.T) {
		c, k := fill(t)
		c.on("PutObject", indexKey, 0, 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			c.PutObject(bucket, indexKey, []byte(strings.Replace(c.body(t, indexKey), id(2), id(5), 1)))
			next.ServeHTTP(w, r)
		})
		if err := k.PruneRuns(t.Context(), []string{id(1)}); err != nil {
			t.Fatal(err)
		}
		if body := c.body(t, indexKey); strings.Contains(body, id(1)) || !strings.Contains(body, id(5)) {
			t.Errorf("the index is %s", body)
		}
	})

	t.Run("an index that cannot be written keeps the histories", func(t *testing.T) {
		c, k := fill(t)
		c.on("PutObject", indexKey, 0, 0, answer(http.StatusForbidden, "AccessDenied"))
		err := k.PruneRuns(t.Context(), []string{id(1)})
		as[*AccessError](t, err)
		if !c.has(runKey(id(1))) {
			t.Error("the history is gone")
		}
	})
}
