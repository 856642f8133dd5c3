package main

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// BenchmarkPlan plans stacks of 500 to 5,000 resources that refer to each other, as
// a first deploy and against a record from which every fifth differs: reading the
// assembly and the record, evaluating, ordering, routing and comparing.
//
//	go test -run '^$' -bench Plan/ ./internal/measure
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{500, 1000, 2000, 5000} {
		for _, recorded := range []bool{false, true} {
			b.Run(fmt.Sprintf("resources=%d/recorded=%t", n, recorded), func(b *testing.B) {
				e, diff := web(b, n, recorded)
				start := processorTime()
				b.ReportAllocs()
				for b.Loop() {
					run, err := e.Diff(b.Context(), diff)
					check(b)(run, err)
					changes := run.Stacks[0].Plan.Counts()
					if recorded && changes[plan.Update] < n/5 || !recorded && changes[plan.Create] != n {
						b.Fatalf("%v", changes)
					}
				}
				used := processorTime() - start
				b.ReportMetric(float64(used.Microseconds())/1e3/float64(b.N), "cpu-ms/op")
				b.ReportMetric(float64(used.Microseconds())/float64(b.N)/float64(n), "cpu-µs/resource")
			})
		}
	}
}

// What a plan costs grows with the stack, and not faster: five times the resources
// take five times the memory. (Time is for the benchmark.)
func TestPlanGrowsWithTheStack(t *testing.T) {
	each := func(n int) float64 {
		e, diff := web(t, n, true)
		var before, after runtime.MemStats
		if _, err := e.Diff(t.Context(), diff); err != nil { // with what is decoded once
			t.Fatal(err)
		}
		runtime.ReadMemStats(&before)
		if _, err := e.Diff(t.Context(), diff); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	}
	small, large := each(500), each(2500)
	if small*500 > 100e6 {
		t.Errorf("a plan of 500 resources takes %.0f MB, want less than 100", small*500/1e6)
	}
	if large > 1.3*small {
		t.Errorf("a resource takes %.0f bytes among 500, and %.0f among 2500", small, large)
	}
}

// processorTime is what the process used of all processors so far. Other than the
// time of a clock it does not depend on what else the machine does.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// web is an engine on a mesh.
func web(b testing.TB, n int, recorded bool) (*engine.Engine, engine.DiffOptions) {
	b.Helper()
	m := mesh{resources: n, recorded: recorded}
	aws, err := sandbox.Start(b.Context(), sandbox.Options{Upstream: m.upstream()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { aws.Close() })
	aws.S3.AddBucket(bucket, aws.Config().Region, "")
	key, record, err := m.record(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if record != nil {
		aws.S3.PutObject(bucket, key, record)
	}
	dir := b.TempDir()
	if err := m.write(dir); err != nil {
		b.Fatal(err)
	}
	window := signals.Open(signals.Options{})
	b.Cleanup(window.Close)
	e := engine.New(engine.Config{
		AWS: aws.Config(), Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix, Owner: "measure", Version: "measure", Window: window,
	})
	return e, engine.DiffOptions{Selection: engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}, StackConcurrency: 1}
}
