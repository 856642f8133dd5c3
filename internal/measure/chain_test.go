package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/internal/sandbox"
)

func TestChain(t *testing.T) {
	type span struct {
		name       string
		start, end int
	}
	for _, test := range []struct {
		name string
		log  []span
		want string
	}{
		{"nothing was sent", nil, ""},
		{"one", []span{{"a", 0, 10}}, "a"},
		{"side by side is one", []span{{"a", 0, 10}, {"b", 1, 11}, {"c", 2, 9}}, "c"},
		{"one after the other", []span{{"a", 0, 10}, {"b", 10, 20}, {"c", 21, 30}}, "a b c"},
		{"an overlap is no sequence", []span{{"a", 0, 10}, {"b", 9, 20}, {"c", 20, 30}}, "a c"},
		{"the longest of several", []span{{"a", 0, 10}, {"x", 0, 50}, {"b", 11, 20}, {"c", 21, 30}, {"y", 51, 60}}, "a b c y"},
		{"in the order of the answers, not of the log", []span{{"c", 21, 30}, {"b", 11, 20}, {"a", 0, 10}}, "a b c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log []sandbox.Request
			at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
			for _, s := range test.log {
				log = append(log, sandbox.Request{Action: s.name, Start: at(s.start), End: at(s.end)})
			}
			var got []string
			for _, r := range chain(log) {
				got = append(got, r.Action)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("chain (-want +got):\n%s", diff)
			}
		})
	}
}
