package engine_test

import (
	"slices"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// What CloudFormation has is not advised to be imported, which would give it two
// owners: a first deploy of a stack of its is refused before anything is sent, and a
// create that is refused for a name says which stack has it (S-200, S-208, S-263).
// Nothing is asked for that where nothing is refused.
func TestCreateOfWhatCloudFormationHas(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("moto_server is not installed")
	}
	const (
		parameter = `"Word": {"Type": "AWS::SSM::Parameter", "DeletionPolicy": "Retain", "Properties": {"Name": "/formed/word", "Type": "String", "Value": "x"}}`
		policy    = `"Policy": {"Type": "AWS::IAM::ManagedPolicy", "Properties": {"ManagedPolicyName": "formed-policy", "PolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:ListAllMyBuckets", "Resource": "*"}]}}}`
		topic     = `"Topic": {"Type": "AWS::SNS::Topic"}`
		migrate   = "cdkd-action import Formed --migrate-from-cloudformation"
		plain     = "--resource Word=/formed/word"
	)
	_, aws := newEngineOn(t, sandbox.Options{Upstream: sandbox.Moto})
	denied := func(action string, count int) sandbox.Fault {
		return sandbox.Fault{Service: "cloudformation", Action: action, Status: 403, Code: "AccessDenied", Message: "no", Count: count}
	}
	for name, tt := range map[string]struct {
		stack, resource string // what CloudFormation has
		before          func(*handover)
		sent            bool
		message         string
		advice          []string
		never           []string
	}{
		"a stack of the same name": {"Formed", parameter, nil, false,
			"stack Formed in us-east-1 is CloudFormation's", []string{migrate + ";"}, []string{"--resource"}},
		"a stack of the same name, of a policy": {"Formed", policy, nil, false,
			"stack Formed in us-east-1 is CloudFormation's", []string{migrate + ";"}, []string{"--resource"}},
		"one that could not be asked after before": {"Formed", parameter, func(f *handover) { f.aws.AddFault(denied("DescribeStacks", 1)) }, true,
			"it is a resource of CloudFormation stack Formed, as Word", []string{migrate + ";"}, []string{"--resource", "cfn-stack-name"}},
		"one of the same name, by the logical id alone": {"Formed", policy, func(f *handover) { f.aws.AddFault(denied("DescribeStacks", 1)) }, true,
			"it is a resource of CloudFormation stack Formed, as Policy", []string{migrate + ";"}, []string{"--resource"}},
		"a stack of another name": {"Other", parameter, nil, true,
			"it is a resource of CloudFormation stack Other, as Word", []string{"another name", migrate + " --cfn-stack-name Other"}, []string{"--resource"}},
		"a stack of another name, where this one is recorded": {"Other", parameter, func(f *handover) {
			f.write("formed.json", `{"Resources": {`+topic+`}}`)
			f.deploy()
		}, true, "it is a resource of CloudFormation stack Other, as Word", []string{"let go of it first", plain}, []string{"--migrate-from-cloudformation"}},
		"nobody may be asked": {"Formed", parameter, func(f *handover) {
			f.aws.AddFault(denied("DescribeStacks", 0))
			f.aws.AddFault(denied("DescribeStackResources", 0))
		}, true, "already exists", []string{"could not be looked up", plain}, []string{"--migrate-from-cloudformation"}},
		"it has let go of it": {"Formed", parameter, func(f *handover) {
			if _, err := sdk.NewFromConfig(f.aws.Config()).DeleteStack(f.t.Context(), &sdk.DeleteStackInput{StackName: new("Formed")}); err != nil {
				f.t.Fatal(err)
			}
		}, true, "already exists", []string{plain}, []string{"CloudFormation", "--migrate-from-cloudformation"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := aws.Reset(t.Context()); err != nil {
				t.Fatal(err)
			}
			aws.S3.AddBucket(bucket, "us-east-1", "")
			f := &handover{t: t, dir: t.TempDir(), aws: aws, e: engine.New(configOn(t, aws))}
			f.write("manifest.json", `{"version": "48.0.0", "artifacts": {"Formed": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "properties": {"templateFile": "formed.json"}}}}`)
			if _, err := sdk.NewFromConfig(f.aws.Config()).CreateStack(t.Context(), &sdk.CreateStackInput{StackName: &tt.stack, TemplateBody: new(`{"Resources": {` + tt.resource + `}}`),
				Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam}}); err != nil {
				t.Fatal(err)
			}
			if tt.before != nil {
				tt.before(f)
			}
			f.write("formed.json", `{"Resources": {`+tt.resource+", "+topic+`}}`)
			f.aws.ClearLog()
			run, err := f.e.Deploy(t.Context(), deployAll(f.dir))
			if err != nil || run.Outcome != result.Failed {
				t.Fatalf("%v: %+v", err, run)
			}
			s := run.Stacks[0]
			message, remedy := s.Message, s.Remedy
			if tt.sent {
				if len(s.Failures) != 1 {
					t.Fatalf("%+v", s)
				}
				message, remedy = s.Failures[0].Message, s.Failures[0].Remedy
			}
			if !strings.Contains(message, tt.message) {
				t.Errorf("message: %s", message)
			}
			for _, want := range tt.advice {
				if !strings.Contains(remedy, want) {
					t.Errorf("remedy: %s\nwant %q", remedy, want)
				}
			}
			for _, never := range tt.never {
				if strings.Contains(remedy, never) {
					t.Errorf("remedy: %s\nnot %q", remedy, never)
				}
			}
			if sent := slices.ContainsFunc(f.aws.Log(), func(r sandbox.Request) bool { return r.Action == "PutParameter" || r.Action == "CreatePolicy" }); sent != tt.sent {
				t.Errorf("the create was sent: %t", sent)
			}
		})
	}
}

// A first deploy that meets nothing asks CloudFormation once, and one without
// declared names that could be had not at all: a policy's name in its role is
// nobody else's (S-263).
func TestFirstDeployAsksCloudFormationOnce(t *testing.T) {
	for template, want := range map[string]int{
		`{"Resources": {"Word": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": "/free/word", "Type": "String", "Value": "x"}}}}`: 1,
		`{"Resources": {"Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": []}}},
			"Policy": {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": "inline", "Roles": [{"Ref": "Role"}], "PolicyDocument": {"Version": "2012-10-17", "Statement": []}}}}}`: 0,
	} {
		f := assembled(t, template)
		f.deploy()
		asked := 0
		for _, r := range f.aws.Log() {
			if r.Service == "cloudformation" {
				asked++
			}
		}
		if asked != want {
			t.Errorf("CloudFormation was asked %d times, want %d: %s", asked, want, template)
		}
	}
}
