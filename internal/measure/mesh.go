package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A mesh is an app whose resources refer to each other, in groups of five that
// hang together: a role, a queue and a topic, a policy that names all three, a
// function that names the role and the queue, and the topic of the group before.
type mesh struct {
	resources int
	recorded  bool // it was deployed once, and every fifth resource was changed since
}

func (mesh) stack() string { return "Web" }

func (mesh) upstream() sandbox.Upstream { return sandbox.None } // it is only planned

func (m mesh) write(dir string) error {
	return layOut(dir, map[string]string{
		"manifest.json":     `{"version": "48.0.0", "artifacts": {"Web": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/us-east-1", "properties": {"templateFile": "Web.template.json"}}}}`,
		"Web.template.json": m.template("new"),
	})
}

// record is what a deploy of it would have recorded before, nil when there was none.
func (m mesh) record(ctx context.Context) (key string, body []byte, err error) {
	if m.recorded {
		body, err = recordOf(ctx, m.template("old"))
	}
	return "cdkd/Web/us-east-1/state.json", body, err
}

func (m mesh) template(stage string) string {
	var b strings.Builder
	b.WriteString(`{"Parameters": {"Stage": {"Type": "String", "Default": "` + stage + `"}}, "Resources": {`)
	for i := range m.resources / 5 {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `
"Role%[1]d": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}]},
	"ManagedPolicyArns": [{"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"]]}], "Tags": [{"Key": "a", "Value": "b"}]}},
"Queue%[1]d": {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 300, "Tags": [{"Key": "a", "Value": "b"}]}},
"Topic%[1]d": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Fn::Sub": "${AWS::StackName} %[1]d"}}},
"Policy%[1]d": {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": "p%[1]d", "Roles": [{"Ref": "Role%[1]d"}], "PolicyDocument": {"Version": "2012-10-17", "Statement": [
	{"Effect": "Allow", "Action": ["sqs:SendMessage", "sqs:ReceiveMessage"], "Resource": {"Fn::GetAtt": ["Queue%[1]d", "Arn"]}}, {"Effect": "Allow", "Action": "sns:Publish", "Resource": {"Ref": "Topic%[1]d"}}]}}},
"Function%[1]d": {"Type": "AWS::Lambda::Function", "DependsOn": ["Policy%[1]d", "Role%[1]d"], "Properties": {"Code": {"ZipFile": "exports.handler = async () => {}"}, "Handler": "index.handler", "Runtime": "nodejs22.x", "MemorySize": 256,
	"Role": {"Fn::GetAtt": ["Role%[1]d", "Arn"]}, "Environment": {"Variables": {"STAGE": {"Ref": "Stage"}, "QUEUE": {"Ref": "Queue%[1]d"}, "TOPIC": {"Ref": "Topic%[2]d"}}}}}`, i, max(i-1, 0))
	}
	b.WriteString("}}")
	return b.String()
}

// recordOf is what a deploy of a template would have recorded.
func recordOf(ctx context.Context, written string) ([]byte, error) {
	t, err := template.Parse("Web.template.json", []byte(written))
	if err != nil {
		return nil, err
	}
	s, err := t.Bind(ctx, template.Environment{AccountID: "123456789012", Region: "us-east-1", StackName: "Web"}, nil, made{})
	if err != nil {
		return nil, err
	}
	r := state.NewRecord("Web", "us-east-1")
	for _, want := range s.Resources() {
		properties, err := s.Properties(ctx, want.LogicalID)
		if err != nil {
			return nil, err
		}
		r.Set(want.LogicalID, &state.Resource{
			ResourceType: want.Type, PhysicalID: "id-" + want.LogicalID, Properties: properties,
			Attributes: value.NewObject("Arn", "arn-"+want.LogicalID), ProvisionedBy: state.BySDK,
		})
	}
	return r.Marshal()
}

// made answers for resources that are there.
type made struct{ template.World }

func (made) Ref(_ context.Context, id string) (any, error) { return "id-" + id, nil }

func (made) Attribute(_ context.Context, id, _ string) (any, error) { return "arn-" + id, nil }
