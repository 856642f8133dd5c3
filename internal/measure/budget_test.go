package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestBudgets(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the released binary")
	}
	program, err := build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	holdSize(t, program)
	// Slow enough for requests that do not wait for each other to overlap, on a
	// busy machine too.
	const latency = 200 * time.Millisecond
	g, err := prepare(t.Context(), program, t.TempDir(), latency, wide.upstream())
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	play := func(c chapter) sample {
		t.Helper()
		s, err := g.play(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	within := func(name string, want budget, s sample) {
		t.Helper()
		log := withoutPartial(s.log)
		sequence := chain(log)
		t.Logf("%s: %d requests, %d one after another", name, len(log), len(sequence))
		if len(log) <= want.requests && len(sequence) <= want.chain {
			return
		}
		var text strings.Builder
		list(&text, log)
		t.Errorf("%s: %d requests, %d one after another; at most %d and %d are in the budget. All that was sent, with the longest sequence marked:\n%s",
			name, len(log), len(sequence), want.requests, want.chain, text.String())
	}
	for _, c := range []chapter{first, same} {
		s := play(c)
		within(c.name, budgets[c.name], s)
		before, after := around(withoutPartial(s.log))
		if c.name == first.name && (before > 3 || after > 3) {
			t.Errorf("%s: %d requests one after another before the first create and %d after the last; at most 3 each are in the budget", c.name, before, after)
		}
		if i := slices.IndexFunc(s.log, asksForName); c.name == same.name && i >= 0 {
			t.Errorf("%s: %s %s looks a name up", c.name, s.log[i].Service, s.log[i].Action)
		}
	}
	// Most deploys find a history of twenty runs, of which the oldest goes.
	g.aws.SetLatency("", "", 0)
	for range 20 {
		play(same)
	}
	g.aws.SetLatency("", "", latency)
	for _, c := range []chapter{same, eight, gone} {
		within(c.name+", after many runs", budgets[c.name], play(c))
	}
}

// holdSize holds the size of the released binary, and that it is measured as it
// is released.
func holdSize(t *testing.T, program string) {
	t.Helper()
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(binary); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const mega = 1e6
	t.Logf("the binary: %.1f MB, %.1f MB compressed", float64(len(binary))/mega, float64(packed.Len())/mega)
	if len(binary) > 60*mega || packed.Len() > 20*mega {
		t.Errorf("the binary has %.1f MB, %.1f MB compressed; at most 60 and 20 are in the budget", float64(len(binary))/mega, float64(packed.Len())/mega)
	}
	image, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"-trimpath -buildvcs=false -tags release,timetzdata", "-gcflags=github.com/aws/aws-sdk-go-v2/service/...=-l", "-s -w -buildid="} {
		if !strings.Contains(string(image), flags) {
			t.Errorf("the Dockerfile does not build with %s, which is measured", flags)
		}
	}
}
