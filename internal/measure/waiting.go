package main

import "github.com/org/cdkd-action/internal/sandbox"

// waiting is an app of one resource, which takes Cloud Control a while.
type waiting struct{}

func (waiting) stack() string { return "Waiting" }

func (waiting) upstream() sandbox.Upstream { return sandbox.Kumo }

func (waiting) write(dir string) error {
	return layOut(dir, map[string]string{
		"manifest.json":         `{"version": "48.0.0", "artifacts": {"Waiting": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/us-east-1", "properties": {"templateFile": "Waiting.template.json"}}}}`,
		"Waiting.template.json": `{"Resources": {"Group": {"Type": "AWS::Athena::WorkGroup", "Properties": {"Name": "waiting"}}}}`,
	})
}
