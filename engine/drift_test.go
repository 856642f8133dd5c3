package engine_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A changed property is one of a type, and what it is changed to behind our back.
type changedProperty struct{ property, value string }

// Types that the emulator behind the sandbox reads back, with one value of each
// property to begin with, and another to find.
var driftTypes = []struct {
	upstream        sandbox.Upstream
	typ, properties string
	changes         []changedProperty
}{
	{sandbox.Kumo, "AWS::SQS::Queue", `"QueueName": "q", "VisibilityTimeout": 30, "DelaySeconds": 1, "MessageRetentionPeriod": 600, "MaximumMessageSize": 2048, "ReceiveMessageWaitTimeSeconds": 2`, []changedProperty{
		{"VisibilityTimeout", `31`}, {"DelaySeconds", `2`}, {"MessageRetentionPeriod", `700`}, {"MaximumMessageSize", `4096`}, {"ReceiveMessageWaitTimeSeconds", `3`},
	}},
	{sandbox.Kumo, "AWS::IAM::Role", `"RoleName": "r", "Description": "a", "MaxSessionDuration": 3600, "Policies": [{"PolicyName": "p", "PolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}]}}], "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}`, []changedProperty{
		{"Description", `"b"`}, {"MaxSessionDuration", `7200`},
		{"AssumeRolePolicyDocument", `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}`},
		{"Policies", `[{"PolicyName": "p", "PolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}}]`},
	}},
	{sandbox.Moto, "AWS::ECR::Repository", `"RepositoryName": "e", "ImageTagMutability": "MUTABLE", "ImageScanningConfiguration": {"ScanOnPush": false}, "Tags": [{"Key": "a", "Value": "1"}]`, []changedProperty{
		{"ImageTagMutability", `"IMMUTABLE"`}, {"Tags", `[{"Key": "a", "Value": "2"}]`},
		{"LifecyclePolicy", `{"LifecyclePolicyText": "{\"rules\":[{\"rulePriority\":1,\"selection\":{\"tagStatus\":\"any\",\"countType\":\"imageCountMoreThan\",\"countNumber\":3},\"action\":{\"type\":\"expire\"}}]}"}`},
	}},
	{sandbox.Moto, "AWS::Kinesis::Stream", `"Name": "k", "ShardCount": 1, "RetentionPeriodHours": 24`, []changedProperty{{"RetentionPeriodHours", `48`}, {"ShardCount", `2`}}},
	{sandbox.Moto, "AWS::EC2::VPC", `"CidrBlock": "10.0.0.0/16", "EnableDnsHostnames": false, "EnableDnsSupport": true, "Tags": [{"Key": "a", "Value": "1"}]`, []changedProperty{
		{"EnableDnsHostnames", `true`}, {"Tags", `[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]`},
	}},
	{sandbox.Moto, "AWS::IAM::ManagedPolicy", `"ManagedPolicyName": "p", "PolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:Get*", "Resource": "*"}]}`, []changedProperty{
		{"PolicyDocument", `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:Get*", "s3:Put*"], "Resource": "*"}]}`},
	}},
	{sandbox.Kumo, "AWS::Athena::WorkGroup", `"Name": "g", "Description": "a", "State": "ENABLED", "Tags": [{"Key": "a", "Value": "1"}]`, []changedProperty{
		{"Description", `"b"`}, {"State", `"DISABLED"`}, {"Tags", `[{"Key": "a", "Value": "2"}]`},
	}},
}

// Each property that is changed behind our back is found, alone, whichever
// baseline there is, and can be put back (S-317).
func TestDriftOfEachProperty(t *testing.T) {
	for _, upstream := range []sandbox.Upstream{sandbox.Kumo, sandbox.Moto} {
		t.Run(string(upstream), func(t *testing.T) {
			if _, err := exec.LookPath("moto_server"); err != nil && upstream == sandbox.Moto {
				t.Skip("moto_server is not installed")
			}
			e, aws := newEngineOn(t, sandbox.Options{Upstream: upstream})
			for i, typ := range driftTypes {
				if typ.upstream == upstream {
					t.Run(typ.typ, func(t *testing.T) { testDriftOfType(t, e, aws, i) })
				}
			}
		})
	}
}

func testDriftOfType(t *testing.T, e *engine.Engine, aws *sandbox.Sandbox, number int) {
	typ, stack := driftTypes[number], fmt.Sprint("Shop", number)
	deployed := func(properties string) {
		t.Helper()
		dir := t.TempDir()
		writeApp(t, dir, map[string]string{stack: fmt.Sprintf(`"It": {"Type": %q, "Properties": {%s}}`, typ.typ, properties)})
		if run, err := e.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome.ExitCode() != 0 {
			t.Fatalf("deploy %s: %v: %+v", properties, err, run.Stacks[0].Failures)
		}
		e.CaptureBaselines(t.Context())
	}
	deployed(typ.properties)
	key := "cdkd/" + stack + "/us-east-1/state.json"
	record, _ := aws.S3.Object(bucket, key)
	if !strings.Contains(string(record.Body), "observedProperties") {
		t.Fatalf("nothing was read back:\n%s", record.Body)
	}
	for _, c := range typ.changes {
		t.Run(c.property, func(t *testing.T) {
			var rest []string
			for _, p := range topLevel(typ.properties) {
				if !strings.HasPrefix(p, `"`+c.property+`"`) {
					rest = append(rest, p)
				}
			}
			deployed(strings.Join(append(rest, fmt.Sprintf("%q: %s", c.property, c.value)), ", "))
			aws.S3.PutObject(bucket, key, record.Body) // nobody knows of the change
			look := func(mode result.DriftMode, want []string) {
				t.Helper()
				run := e.Drift(t.Context(), engine.DriftOptions{Recorded: engine.RecordSelection{Stacks: []string{stack}}, Mode: mode})
				var got []string
				for _, s := range run.Stacks {
					for _, r := range s.Resources {
						got = append(got, r.Properties()...)
						if r.Left != "" {
							t.Errorf("left: %s", r.Left)
						}
					}
				}
				if diff := cmp.Diff(want, got); diff != "" || run.Message != "" {
					t.Errorf("%s (-want +got)\n%s", run.Message, diff)
				}
			}
			look(result.DriftDetect, []string{c.property})
			look(result.DriftRevert, []string{c.property})
			look(result.DriftDetect, nil)
		})
	}
}

// topLevel splits the members of an object.
func topLevel(members string) (all []string) {
	depth, from := 0, 0
	for i, r := range members {
		switch r {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				all, from = append(all, strings.TrimSpace(members[from:i])), i+1
			}
		}
	}
	return append(all, strings.TrimSpace(members[from:]))
}
