package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/org/cdkd-action/internal/sandbox"
)

//go:embed all:apps/cdk.out
var assemblies embed.FS

// A shape is an app of apps/apps.ts, as the CDK synthesized it.
type shape string

// The shapes of apps that are measured beside the wide one.
var shapes = []shape{"serverless", "webapp", "ecs", "ec2", "cloudfront", "nested"}

func (s shape) write(dir string) error {
	sub, err := fs.Sub(assemblies, "apps/cdk.out/"+string(s))
	if err != nil {
		return fmt.Errorf("lay out the app %s: %w", s, err)
	}
	if err := os.CopyFS(dir, sub); err != nil {
		return fmt.Errorf("lay out the app %s: %w", s, err)
	}
	return nil
}

func (shape) stack() string { return "Measured" }

func (s shape) upstream() sandbox.Upstream {
	if slices.Contains([]shape{"webapp", "ecs", "ec2"}, s) {
		return sandbox.Moto // kumo has no networks
	}
	return sandbox.Kumo
}

func (s shape) chapters() []chapter {
	wanted := "time ≤ 1.1 × needed"
	if s == "cloudfront" || s == "nested" {
		wanted = ""
	}
	return []chapter{
		{name: string(s) + ", first deploy", command: "deploy", app: s, limit: wanted},
		{name: string(s) + ", no change", command: "deploy", app: s},
		{name: string(s) + ", destroy", command: "destroy", app: s},
	}
}

// needed is what is left of a log without what the result could do without. Of
// the saves that go on beside the work the last one is needed, of the questions
// whether something is ready the one that was answered with yes. What a service
// refused for now was sent in vain.
func needed(log []sandbox.Request) []sandbox.Request {
	left := slices.DeleteFunc(withoutPartial(log), func(r sandbox.Request) bool { return r.Fault != "" })
	type question struct{ service, action, about string }
	asked := map[question]int{}
	of := func(r sandbox.Request) question { return question{r.Service, r.Action, r.Resource} }
	for _, r := range left {
		if asksAgain(r) {
			asked[of(r)]++
		}
	}
	return slices.DeleteFunc(left, func(r sandbox.Request) bool {
		if !asksAgain(r) {
			return false
		}
		asked[of(r)]--
		return asked[of(r)] > 0
	})
}

// asksAgain tells whether a request waits for something to be ready.
func asksAgain(r sandbox.Request) bool {
	return r.Resource != "" && r.Action != "GetResource" && !change(r) && !asksForName(r) && r.Service != "s3" && r.Service != "sts"
}

// withoutPartial leaves out what is written while a run goes on, whose number
// depends on how long that takes: the record and the history, except the last
// time.
func withoutPartial(log []sandbox.Request) []sandbox.Request {
	written := map[string]int{}
	for _, r := range log {
		if partial(r) {
			written[r.Resource]++
		}
	}
	return slices.DeleteFunc(slices.Clone(log), func(r sandbox.Request) bool {
		if !partial(r) {
			return false
		}
		written[r.Resource]--
		return written[r.Resource] > 0
	})
}

func partial(r sandbox.Request) bool {
	return r.Action == "PutObject" && strings.HasPrefix(r.Resource, bucket+"/") &&
		(strings.HasSuffix(r.Resource, "/state.json") || strings.HasSuffix(r.Resource, ".jsonl"))
}
