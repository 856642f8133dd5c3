package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
)

// The tags of a stack are in the manifest, and CloudFormation puts them on what takes
// tags. That they are not put on anything is said, and not where the app has done so.
func TestTagsOfAStackThatNothingHas(t *testing.T) {
	const (
		queue = `{"Type": "AWS::SQS::Queue"`
		topic = `"T": {"Type": "AWS::SNS::Topic", "Properties": {"Tags": [{"Key": "team", "Value": {"Ref": "AWS::StackName"}}]}}`
	)
	nested := func(tags string) string {
		return `"N": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "https://s3.amazonaws.com/x/below.json"` + tags + `}, "Metadata": {"aws:asset:path": "below.json"}}`
	}
	for rule, c := range map[string]struct {
		tags, resources, below string
		want                   []string
	}{
		"a resource without it is named": {tags: `{"team": "a"}`, resources: topic + `, "Q": ` + queue + `}`,
			want: []string{"tag team of the stack is not put on Q, as CloudFormation would: have the app give it to the resources, with Tags.of(app).add"}},
		"of many the first two are, and only the tags that one lacks": {tags: `{"team": "a", "cost": "b"}`,
			resources: topic + `, "A": ` + queue + `}, "B": ` + queue + `}, "C": ` + queue + `}`,
			want:      []string{"tags cost, team of the stack are not put on T, A and 2 more, as CloudFormation would: have the app give them to the resources, with Tags.of(app).add"}},
		"what the app has put on all of them is not talked about": {tags: `{"team": "other value"}`, resources: topic},
		"a type that takes no tags is not either":                 {tags: `{"team": "a"}`, resources: `"P": {"Type": "AWS::SNS::TopicPolicy", "Properties": {"Topics": [], "PolicyDocument": {}}}`},
		"nor is what depends on a condition that is false":        {tags: `{"team": "a"}`, resources: `"Q": ` + queue + `, "Condition": "Never"}`},
		"nor are tags of a resource that cannot be told yet":      {tags: `{"team": "a"}`, resources: topic + `, "Q": ` + queue + `, "Properties": {"Tags": [{"Key": {"Ref": "T"}, "Value": "x"}]}}`},
		"nor is what the CDK adds where its Tags do not reach":    {tags: `{"team": "a"}`, resources: topic + `, "CustomS3AutoDeleteObjectsCustomResourceProviderRole3B1BD092": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": []}}}`},
		"tags may be a map": {tags: `{"team": "a"}`, resources: `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x", "Tags": {"team": "b"}}}`},
		"a resource of a nested stack is named by its path": {tags: `{"team": "a"}`, resources: nested(``), below: `"Q": ` + queue + `}`, want: []string{"tag team of the stack is not put on N/Q, as CloudFormation would: have the app give it to the resources, with Tags.of(app).add"}},
		"a nested stack hands on its own tags":              {resources: nested(`, "Tags": [{"Key": "mine", "Value": "x"}]`), below: `"Q": ` + queue + `}`, want: []string{"tag mine of the stack is not put on N/Q, as CloudFormation would: have the app give it to the resources, with Tags.of(app).add"}},
		"and nothing is said where what is in it has them":  {tags: `{"team": "a"}`, resources: nested(`, "Tags": [{"Key": "team", "Value": "x"}]`), below: topic},
	} {
		t.Run(rule, func(t *testing.T) {
			e, cloud := newEngine(t)
			cloud.S3.AddBucket("x", "us-east-1", "")
			if c.tags == "" {
				c.tags = `{}`
			}
			dir := t.TempDir()
			for name, text := range map[string]string{
				"manifest.json": fmt.Sprintf(`{"version": "48.0.0", "artifacts": {"Shop": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "shop.json", "tags": %s}}}}`, c.tags),
				"shop.json":     `{"Conditions": {"Never": {"Fn::Equals": ["a", "b"]}}, "Resources": {` + c.resources + `}}`,
				"below.json":    `{"Resources": {` + c.below + `}}`,
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			diff, err := e.Diff(t.Context(), engine.DiffOptions{Selection: engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}, StackConcurrency: 1})
			if err != nil || diff.Stacks[0].Outcome.ExitCode() != 0 {
				t.Fatalf("diff: %v, %+v", err, diff.Stacks)
			}
			deploy, err := e.Deploy(t.Context(), deployAll(dir))
			if err != nil {
				t.Fatalf("deploy: %v", err)
			}
			for command, got := range map[string][]string{"diff": diff.Stacks[0].Warnings, "deploy": deploy.Stacks[0].Warnings} {
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("warnings of %s (-want +got):\n%s", command, d)
				}
			}
		})
	}
}
