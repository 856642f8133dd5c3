package main

import (
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/signals"
)

// The engine in this process, on a stack of the largest size that apps have,
// for the profiles of the processor and of memory:
//
//	go test -run '^$' -bench Large -cpuprofile cpu.out -memprofile mem.out ./internal/measure

func BenchmarkLargePlan(b *testing.B) {
	e, deploy, diff := largeStack(b)
	check(b)(e.Deploy(b.Context(), deploy))
	b.ReportAllocs()
	for b.Loop() {
		check(b)(e.Diff(b.Context(), diff))
	}
}

func BenchmarkLargeDeploy(b *testing.B) {
	e, deploy, _ := largeStack(b)
	b.ReportAllocs()
	for b.Loop() {
		check(b)(e.Deploy(b.Context(), deploy))
		b.StopTimer()
		run, err := e.Destroy(b.Context(), engine.DestroyOptions{
			Selection: deploy.Selection, ResourceTimeout: deploy.ResourceTimeout, Concurrency: deploy.Concurrency, StackConcurrency: 1,
		})
		check(b)(run, err)
		b.StartTimer()
	}
}

// BenchmarkThrottledDeploy deploys while a service takes fewer calls than the
// stack makes: the fewer are refused, the sooner the account has its rate back.
func BenchmarkThrottledDeploy(b *testing.B) {
	e, deploy, _, aws := largeSandbox(b)
	deploy.Concurrency = 0
	aws.SetLatency("", "", latency)
	aws.AddFault(sandbox.Fault{ID: "slow down", Service: "sqs", Code: "ThrottlingException", Rate: 20, Burst: 20})
	for b.Loop() {
		check(b)(e.Deploy(b.Context(), deploy))
	}
	refused, calls := 0, 0
	for _, r := range aws.Log() {
		if r.Service == "sqs" {
			calls++
		}
		if r.Fault != "" {
			refused++
		}
	}
	b.ReportMetric(float64(calls), "sqs-calls")
	b.ReportMetric(float64(refused), "refused")
}

func largeStack(b *testing.B) (*engine.Engine, engine.DeployOptions, engine.DiffOptions) {
	e, deploy, diff, _ := largeSandbox(b)
	return e, deploy, diff
}

func largeSandbox(b *testing.B) (*engine.Engine, engine.DeployOptions, engine.DiffOptions, *sandbox.Sandbox) {
	aws, err := sandbox.Start(b.Context(), sandbox.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { aws.Close() })
	aws.S3.AddBucket(bucket, aws.Config().Region, "")
	dir := b.TempDir()
	if err := large.write(dir); err != nil {
		b.Fatal(err)
	}
	window := signals.Open(signals.Options{})
	b.Cleanup(window.Close)
	e := engine.New(engine.Config{
		AWS: aws.Config(), Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix, Owner: "measure", Version: "measure", Window: window,
	})
	sel := engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}
	return e,
		engine.DeployOptions{Selection: sel, ResourceTimeout: time.Minute, Concurrency: 64, StackConcurrency: 1},
		engine.DiffOptions{Selection: sel, StackConcurrency: 1},
		aws
}

func check(b *testing.B) func(*result.Run, error) {
	b.Helper()
	return func(run *result.Run, err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range run.Stacks {
			if s.Outcome != result.Success && s.Outcome != result.NoChange {
				b.Fatalf("%s: %s: %s %+v", s.Name, s.Outcome, s.Message, s.Failures)
			}
		}
	}
}
