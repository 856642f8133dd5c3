package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// An output of another account is read from that account's bucket through a
// role, which is assumed once; nothing is locked there, and the reading is not
// recorded. A secret does not cross (S-151).
func TestStackOutputOfAnotherAccount(t *testing.T) {
	const theirs = "cdkd-state-123456789012"
	e, cloud := newEngine(t)
	cloud.S3.AddBucket(theirs, "eu-west-1", "")
	r := state.NewRecord("Net", "eu-west-1")
	r.Outputs = value.NewObject("Zone", "z-1", "Name", "net", "Key", "{{resolve:secretsmanager:db}}", "Pin", state.Masked)
	body, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	cloud.S3.PutObject(theirs, "cdkd/Net/eu-west-1/state.json", body)
	read := func(output, role string) string {
		return `{"Fn::GetStackOutput": {"StackName": "Net", "Region": "eu-west-1", "OutputName": "` + output + `", "RoleArn": "` + role + `"}}`
	}
	const role = "arn:aws:iam::123456789012:role/reader"
	deploy := func(value string) *result.Stack {
		dir := t.TempDir()
		writeApp(t, dir, map[string]string{"Shop": `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/shop/p", "Type": "String", "Value": ` + value + `}}`})
		run, _ := e.Deploy(t.Context(), engine.DeployOptions{
			Selection:       engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}},
			ResourceTimeout: time.Minute, Concurrency: 10, StackConcurrency: 1,
		})
		if len(run.Stacks) == 0 { // refused before any stack was begun
			return &result.Stack{Outcome: run.Outcome, Message: run.Message}
		}
		return run.Stacks[0]
	}
	if s := deploy(`{"Fn::Join": ["/", [` + read("Zone", role) + `, ` + read("Name", role) + `]]}`); s.Outcome != result.Success {
		t.Fatal(s.Outcome, s.Message)
	}
	out, err := ssm.NewFromConfig(cloud.Config()).GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/shop/p")})
	if err != nil || *out.Parameter.Value != "z-1/net" {
		t.Errorf("the parameter is %v, %v", out, err)
	}
	ours, _ := cloud.S3.Object(bucket, shopKey+"state.json")
	if strings.Contains(string(ours.Body), "outputReads") {
		t.Errorf("recorded: %s", ours.Body)
	}
	assumed := 0
	for _, q := range cloud.Log() {
		if q.Action == "AssumeRole" {
			assumed++
		}
		if strings.HasPrefix(q.Resource, theirs) && q.Action != "GetObject" && q.Action != "GetBucketLocation" {
			t.Errorf("%s of %s", q.Action, q.Resource)
		}
	}
	if assumed != 1 {
		t.Errorf("the role was assumed %d times", assumed)
	}
	for value, want := range map[string]string{
		read("Key", role):                           "secret of account 123456789012",
		read("Pin", role):                           "secret of account 123456789012",
		read("None", role):                          "has no output None; it has Zone, Name, Key, Pin",
		read("Zone", "arn:aws:iam::1:user/someone"): "RoleArn must be the ARN of a role",
	} {
		if s := deploy(value); s.Outcome == result.Success || s.Outcome == result.NoChange || !strings.Contains(s.Message, want) {
			t.Errorf("%s: %s %q, want %q", value, s.Outcome, s.Message, want)
		}
	}
}

// A secret that another region's stack puts out is resolved there, and the one
// that uses it records the reference (S-152).
func TestSecretOutputOfAnotherRegion(t *testing.T) {
	const expression = "{{resolve:secretsmanager:db}}"
	e, cloud := newEngine(t)
	r := state.NewRecord("Net", "eu-west-1")
	r.Outputs = value.NewObject("Key", expression)
	body, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	cloud.S3.PutObject(bucket, "cdkd/Net/eu-west-1/state.json", body)
	in := &secretsmanager.CreateSecretInput{Name: aws.String("db"), SecretString: aws.String("theirs-in-clear")}
	if _, err := secretsmanager.NewFromConfig(cloud.Config()).CreateSecret(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/shop/p", "Type": "String",
		"Value": {"Fn::GetStackOutput": {"StackName": "Net", "Region": "eu-west-1", "OutputName": "Key"}}}}`})
	if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run.Stacks)
	}
	out, err := ssm.NewFromConfig(cloud.Config()).GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/shop/p")})
	if err != nil || *out.Parameter.Value != "theirs-in-clear" {
		t.Errorf("the parameter is %v, %v", out, err)
	}
	for _, r := range cloud.Log() {
		if r.Action == "GetSecretValue" && r.Region != "eu-west-1" {
			t.Errorf("the secret was asked for in %s", r.Region)
		}
	}
	o, _ := cloud.S3.Object(bucket, shopKey+"state.json")
	if text := string(o.Body); !strings.Contains(text, `"Value": "`+expression+`"`) || strings.Contains(text, "in-clear") {
		t.Errorf("recorded: %s", text)
	}
}
