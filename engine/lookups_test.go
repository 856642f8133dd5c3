package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/internal/sandbox"
)

// All stacks of a run share the limit on look-ups of names (S-203).
func TestLookUpsShareTheirLimit(t *testing.T) {
	e, aws := newEngine(t)
	aws.SetLatency("sns", "GetTopicAttributes", 30*time.Millisecond)
	dir := t.TempDir()
	artifacts, topics := []string{}, []string{}
	for i := range 6 {
		topics = append(topics, fmt.Sprintf(`"T%d": {"Type": "AWS::SNS::Topic", "Properties": {}}`, i))
	}
	for _, name := range []string{"One", "Two"} {
		artifacts = append(artifacts, fmt.Sprintf(`%q: {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "t.json"}}`, name))
	}
	for name, text := range map[string]string{
		"manifest.json": `{"version": "48.0.0", "artifacts": {` + strings.Join(artifacts, ",") + `}}`,
		"t.json":        `{"Resources": {` + strings.Join(topics, ",") + `}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run, err := e.Deploy(t.Context(), engine.DeployOptions{
		Selection:       engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}},
		ResourceTimeout: time.Minute, StackConcurrency: 2,
	})
	if err != nil || len(run.Stacks) != 2 || run.Stacks[0].Counts.Created != 6 || run.Stacks[1].Counts.Created != 6 {
		t.Fatalf("%v: %+v", err, run)
	}
	var looks []sandbox.Request
	for _, r := range aws.Log() {
		if r.Action == "GetTopicAttributes" {
			looks = append(looks, r)
		}
	}
	if len(looks) != 12 {
		t.Fatalf("%d look-ups, want 12", len(looks))
	}
	for _, r := range looks {
		under := 0
		for _, o := range looks {
			if !o.Start.After(r.Start) && o.End.After(r.Start) {
				under++
			}
		}
		if under > 4 {
			t.Errorf("%d topics were looked up at once, want at most 4", under)
		}
	}
}
