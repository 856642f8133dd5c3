package main

import (
	"testing"
	"time"
)

func BenchmarkFirstDeploy(b *testing.B) {
	g := newGround(b)
	var samples []sample
	for b.Loop() {
		samples = append(samples, g.must(b, first))
		b.StopTimer()
		g.must(b, gone)
		b.StartTimer()
	}
	figures(b, first, samples)
}

func BenchmarkNoChange(b *testing.B) {
	g := newGround(b)
	g.must(b, first)
	var samples []sample
	for b.Loop() {
		samples = append(samples, g.must(b, same))
	}
	figures(b, same, samples)
}

func BenchmarkUpdateOf8(b *testing.B) {
	g := newGround(b)
	g.must(b, first)
	back := first // to what was deployed first, and there again
	var samples []sample
	for i := 0; b.Loop(); i++ {
		samples = append(samples, g.must(b, []chapter{eight, back}[i%2]))
	}
	figures(b, eight, samples)
}

func BenchmarkDestroy(b *testing.B) {
	g := newGround(b)
	var samples []sample
	for b.Loop() {
		b.StopTimer()
		g.must(b, first)
		b.StartTimer()
		samples = append(samples, g.must(b, gone))
	}
	figures(b, gone, samples)
}

func newGround(b *testing.B) *ground {
	b.Helper()
	program, err := build(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	g, err := prepare(b.Context(), program, b.TempDir(), latency, wide.upstream())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { g.close() })
	return g
}

func (g *ground) must(b *testing.B, c chapter) sample {
	b.Helper()
	s, err := g.play(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func figures(b *testing.B, c chapter, samples []sample) {
	m := best(samples)
	b.ReportMetric(float64(len(m.log)), "requests")
	b.ReportMetric(float64(len(chain(m.log))), "chain")
	b.ReportMetric(float64(m.first)/float64(time.Millisecond), "first-request-ms")
	b.ReportMetric(float64(m.peak)/1e6, "peak-MB")
	if c.needs != nil {
		b.ReportMetric(float64(m.wall)/float64(least(c.needs, latency)), "wall/bound")
	}
}
