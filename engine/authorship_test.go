package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// upserts are resources whose create is answered with what has the name, and the
// call that deletes them. %s is a subnet and a network.
var upserts = map[string]struct{ resource, deletes string }{
	"Queue":    {`"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "theirs"}`, "DeleteQueue"},
	"Topic":    {`"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "theirs"}`, "DeleteTopic"},
	"Log":      {`"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "theirs"}`, "DeleteLogGroup"},
	"Alarm":    {`"Type": "AWS::CloudWatch::Alarm", "Properties": {"AlarmName": "theirs", "ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "MetricName": "m", "Namespace": "n", "Period": 60, "Statistic": "Sum", "Threshold": 1}`, "DeleteAlarms"},
	"Board":    {`"Type": "AWS::CloudWatch::Dashboard", "Properties": {"DashboardName": "theirs", "DashboardBody": "{\"widgets\": []}"}`, "DeleteDashboards"},
	"Rule":     {`"Type": "AWS::Events::Rule", "Properties": {"Name": "theirs", "ScheduleExpression": "rate(1 day)"}`, "DeleteRule"},
	"Bucket":   {`"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "theirs"}`, "DeleteBucket"},
	"Tagged":   {`"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "theirs-tagged", "Tags": [{"Key": "a", "Value": "b"}]}`, "DeleteBucket"},
	"Cluster":  {`"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": "theirs"}`, "DeleteCluster"},
	"Balancer": {`"Type": "AWS::ElasticLoadBalancingV2::LoadBalancer", "Properties": {"Name": "theirs", "Subnets": [%[1]s]}`, "DeleteLoadBalancer"},
	"Targets":  {`"Type": "AWS::ElasticLoadBalancingV2::TargetGroup", "Properties": {"Name": "theirs", "Port": 80, "Protocol": "HTTP", "VpcId": %[2]q}`, "DeleteTargetGroup"},
	"Machine":  {`"Type": "AWS::StepFunctions::StateMachine", "Properties": {"StateMachineName": "theirs", "RoleArn": "arn:aws:iam::123456789012:role/r", "DefinitionString": "{\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Succeed\"}}}"}`, "DeleteStateMachine"},
}

// network gives the subnets and the network that an account has from the start.
func network(t *testing.T, cloud *sandbox.Sandbox) (subnets, vpc string) {
	t.Helper()
	out, err := ec2.NewFromConfig(cloud.Config()).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil || len(out.Subnets) < 2 {
		t.Fatal(err)
	}
	for _, s := range out.Subnets[:2] {
		subnets += fmt.Sprintf(", %q", aws.ToString(s.SubnetId))
	}
	return subnets[2:], aws.ToString(out.Subnets[0].VpcId)
}

// What a create under a declared name was answered with is deleted by who undoes
// that create only if it made it: somebody else's survives whatever undoes a first
// deploy that failed, and one's own does not (S-200, S-132, S-304).
func TestSomebodyElsesSurvives(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("moto_server is not installed")
	}
	undo := map[string]func(*engine.Engine, string) (*result.Run, error){
		"the automatic rollback": nil,
		"rollback": func(e *engine.Engine, _ string) (*result.Run, error) {
			return e.Rollback(t.Context(), engine.RollbackOptions{Stack: "Shop", ResourceTimeout: time.Minute})
		},
		"destroy": func(e *engine.Engine, dir string) (*result.Run, error) {
			return e.Destroy(t.Context(), engine.DestroyOptions{Selection: engine.Selection{Assembly: dir, Selection: deployAll(dir).Selection.Selection}, ResourceTimeout: time.Minute})
		},
	}
	e, cloud := newEngineOn(t, sandbox.Options{Upstream: sandbox.Moto})
	others := configOn(t, cloud)
	others.Prefix = "others"
	theirs := engine.New(others)
	subnets, vpc := network(t, cloud)
	var all []string
	for id, u := range upserts {
		all = append(all, fmt.Sprintf(`%q: {%s}`, id, strings.NewReplacer("%[1]s", subnets, "%[2]q", fmt.Sprintf("%q", vpc)).Replace(u.resource)))
	}
	template := strings.Join(all, ",")
	dir, other := t.TempDir(), t.TempDir()
	writeApp(t, other, map[string]string{"Other": template})
	writeApp(t, dir, map[string]string{"Shop": template + fmt.Sprintf(`, "Fails": {"Type": "AWS::SSM::Parameter", "DependsOn": [%s], "Properties": {"Type": "String", "Name": "/fails", "Value": "x"}}`, quoted(upserts))})
	cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})

	for _, there := range []bool{false, true} {
		for _, name := range sortedNames(undo) {
			command := undo[name]
			t.Run(fmt.Sprintf("%s, somebody else's %t", name, there), func(t *testing.T) {
				if there {
					if run, err := theirs.Deploy(t.Context(), deployAll(other)); err != nil || run.Outcome != result.Success && run.Outcome != result.NoChange {
						t.Fatalf("%v %+v", err, run)
					}
				}
				cloud.ClearLog()
				opt := deployAll(dir)
				opt.NoRollback = command != nil
				run, err := e.Deploy(t.Context(), opt)
				if err != nil || run.Outcome != result.Failed || len(run.Stacks[0].Failures) != 1 || run.Stacks[0].Failures[0].LogicalID != "Fails" {
					t.Fatalf("%v %+v", err, run.Stacks[0].Failures)
				}
				exit := 1
				if command != nil {
					if run, err = command(e, dir); err != nil {
						t.Fatal(err)
					}
					exit = 0
					if there {
						exit = 2
					}
				}
				if run.Outcome.ExitCode() != exit {
					t.Errorf("exit code %d, want %d: %+v", run.Outcome.ExitCode(), exit, run.Stacks[0].Failures)
				}
				var kept, deleted []string
				for _, u := range run.Stacks[0].Unaddressed {
					kept = append(kept, u.LogicalID)
					if !strings.Contains(u.Reason, "was there before") && !strings.Contains(u.Reason, "nothing proves that this stack made it") || !strings.Contains(u.Remedy, "cdkd-action import Shop --resource "+u.LogicalID) {
						t.Errorf("%s: %s; %s", u.LogicalID, u.Reason, u.Remedy)
					}
				}
				for id, u := range upserts {
					if slices.ContainsFunc(cloud.Log(), func(r sandbox.Request) bool {
						return r.Action == u.deletes && (u.deletes != "DeleteBucket" || strings.HasPrefix(r.Resource, "theirs-tagged") == (id == "Tagged"))
					}) {
						deleted = append(deleted, id)
					}
				}
				slices.Sort(kept)
				slices.Sort(deleted)
				wantKept, wantDeleted := []string(nil), sortedNames(upserts)
				if there {
					wantKept, wantDeleted = wantDeleted, wantKept
				}
				if diff := cmp.Diff(wantKept, kept); diff != "" {
					t.Errorf("said to be kept (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(wantDeleted, deleted); diff != "" {
					t.Errorf("deleted (-want +got):\n%s", diff)
				}
				for _, key := range left(cloud) {
					if strings.Contains(key, "Shop") {
						t.Errorf("left of the stack: %s", key)
					}
				}
			})
		}
	}
}

func sortedNames[V any](m map[string]V) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func quoted[V any](m map[string]V) string { return `"` + strings.Join(sortedNames(m), `", "`) + `"` }

// What is put on somebody else's resource may have been there before, and stays;
// what is put on one's own goes (S-200).
func TestPutOnSomebodyElses(t *testing.T) {
	e, cloud := newEngine(t)
	others := configOn(t, cloud)
	others.Prefix = "others"
	dir, other := t.TempDir(), t.TempDir()
	writeApp(t, other, map[string]string{"Other": `"T": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "theirs"}}, "U": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "elsewhere"}}`})
	if run, err := engine.New(others).Deploy(t.Context(), deployAll(other)); err != nil || run.Outcome != result.Success {
		t.Fatalf("%v %+v", err, run)
	}
	const policy = `"Type": "AWS::SNS::TopicPolicy", "Properties": {"PolicyDocument": {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sns:Publish", "Resource": "*"}]}, "Topics": [%s]}`
	writeApp(t, dir, map[string]string{"Shop": `"Mine": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "mine"}},
		"Theirs": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "theirs"}},
		"OnMine": {` + fmt.Sprintf(policy, `{"Ref": "Mine"}`) + `},
		"OnTheirs": {` + fmt.Sprintf(policy, `{"Ref": "Theirs"}`) + `},
		"Elsewhere": {` + fmt.Sprintf(policy, `"arn:aws:sns:us-east-1:123456789012:elsewhere"`) + `, "DependsOn": "OnTheirs"},
		"Inbox": {"Type": "AWS::SQS::Queue"},
		"Follows": {"Type": "AWS::SNS::Subscription", "Properties": {"Protocol": "sqs", "TopicArn": "arn:aws:sns:us-east-1:123456789012:elsewhere", "Endpoint": {"Fn::GetAtt": ["Inbox", "Arn"]}}},
		"Fails": {"Type": "AWS::SSM::Parameter", "DependsOn": ["OnMine", "Elsewhere", "Follows"], "Properties": {"Type": "String", "Name": "/fails", "Value": "x"}}`})
	cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})
	cloud.ClearLog()
	run, err := e.Deploy(t.Context(), deployAll(dir))
	if err != nil || run.Outcome != result.Failed || !run.Stacks[0].RolledBack || run.Stacks[0].Counts.Created != 0 {
		t.Fatalf("%v %+v", err, run.Stacks[0])
	}
	var kept []string
	for _, u := range run.Stacks[0].Unaddressed {
		kept = append(kept, u.LogicalID)
	}
	slices.Sort(kept)
	if diff := cmp.Diff([]string{"Elsewhere", "OnTheirs", "Theirs"}, kept); diff != "" {
		t.Errorf("said to be kept (-want +got):\n%s\n%+v", diff, run.Stacks[0].Unaddressed)
	}
	var topics []string
	for _, r := range cloud.Log() {
		if r.Action == "DeleteTopic" {
			topics = append(topics, r.Resource)
		}
	}
	if len(topics) != 1 || !strings.HasSuffix(topics[0], "mine") {
		t.Errorf("deleted: %q", topics)
	}
}
