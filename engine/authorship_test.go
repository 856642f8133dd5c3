package engine_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
)

// upserts are resources whose create is answered with what has the name, and the
// calls that make and delete them. %s is a subnet and a network.
var upserts = map[string]struct{ resource, creates, deletes string }{
	"Queue":    {`"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "theirs"}`, "CreateQueue", "DeleteQueue"},
	"Topic":    {`"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "theirs"}`, "CreateTopic", "DeleteTopic"},
	"Log":      {`"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "theirs"}`, "CreateLogGroup", "DeleteLogGroup"},
	"Alarm":    {`"Type": "AWS::CloudWatch::Alarm", "Properties": {"AlarmName": "theirs", "ComparisonOperator": "GreaterThanThreshold", "EvaluationPeriods": 1, "MetricName": "m", "Namespace": "n", "Period": 60, "Statistic": "Sum", "Threshold": 1}`, "PutMetricAlarm", "DeleteAlarms"},
	"Board":    {`"Type": "AWS::CloudWatch::Dashboard", "Properties": {"DashboardName": "theirs", "DashboardBody": "{\"widgets\": []}"}`, "PutDashboard", "DeleteDashboards"},
	"Rule":     {`"Type": "AWS::Events::Rule", "Properties": {"Name": "theirs", "ScheduleExpression": "rate(1 day)"}`, "PutRule", "DeleteRule"},
	"Bucket":   {`"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "theirs"}`, "CreateBucket", "DeleteBucket"},
	"Tagged":   {`"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "theirs-tagged", "Tags": [{"Key": "a", "Value": "b"}]}`, "CreateBucket", "DeleteBucket"},
	"Cluster":  {`"Type": "AWS::ECS::Cluster", "Properties": {"ClusterName": "theirs"}`, "CreateCluster", "DeleteCluster"},
	"Balancer": {`"Type": "AWS::ElasticLoadBalancingV2::LoadBalancer", "Properties": {"Name": "theirs", "Subnets": [%[1]s]}`, "CreateLoadBalancer", "DeleteLoadBalancer"},
	"Targets":  {`"Type": "AWS::ElasticLoadBalancingV2::TargetGroup", "Properties": {"Name": "theirs", "Port": 80, "Protocol": "HTTP", "VpcId": %[2]q}`, "CreateTargetGroup", "DeleteTargetGroup"},
	"Machine":  {`"Type": "AWS::StepFunctions::StateMachine", "Properties": {"StateMachineName": "theirs", "RoleArn": "arn:aws:iam::123456789012:role/r", "DefinitionString": "{\"StartAt\": \"A\", \"States\": {\"A\": {\"Type\": \"Succeed\"}}}"}`, "CreateStateMachine", "DeleteStateMachine"},
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

// allUpserts is a template of them.
func allUpserts(t *testing.T, cloud *sandbox.Sandbox) string {
	t.Helper()
	subnets, vpc := network(t, cloud)
	var all []string
	for _, id := range sortedNames(upserts) {
		all = append(all, fmt.Sprintf(`%q: {%s}`, id, strings.NewReplacer("%[1]s", subnets, "%[2]q", fmt.Sprintf("%q", vpc)).Replace(upserts[id].resource)))
	}
	return strings.Join(all, ",")
}

// elsewhere is an engine with another state bucket.
func elsewhere(t *testing.T, cloud *sandbox.Sandbox) *engine.Engine {
	t.Helper()
	cloud.S3.AddBucket("others", "us-east-1", "")
	config := configOn(t, cloud)
	config.Bucket = state.Wanted{Input: "others"}
	return engine.New(config)
}

// undoers are what undoes a first deploy that failed; nil is its own rollback.
var undoers = map[string]func(context.Context, *engine.Engine, string) (*result.Run, error){
	"the automatic rollback": nil,
	"rollback": func(ctx context.Context, e *engine.Engine, _ string) (*result.Run, error) {
		return e.Rollback(ctx, engine.RollbackOptions{Stack: "Shop", ResourceTimeout: time.Minute})
	},
	"destroy": func(ctx context.Context, e *engine.Engine, dir string) (*result.Run, error) {
		return e.Destroy(ctx, engine.DestroyOptions{Selection: engine.Selection{Assembly: dir, Selection: deployAll(dir).Selection.Selection}, ResourceTimeout: time.Minute})
	},
}

// What a create under a declared name was answered with is deleted by who undoes
// that create only if it made it: somebody else's survives whatever undoes a first
// deploy that failed, and one's own does not (S-200, S-132, S-304).
func TestSomebodyElsesSurvives(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("moto_server is not installed")
	}
	e, cloud := newEngineOn(t, sandbox.Options{Upstream: sandbox.Moto})
	theirs := elsewhere(t, cloud)
	template := allUpserts(t, cloud)
	dir, other := t.TempDir(), t.TempDir()
	writeApp(t, other, map[string]string{"Other": template})
	writeApp(t, dir, map[string]string{"Shop": template + fmt.Sprintf(`, "Fails": {"Type": "AWS::SSM::Parameter", "DependsOn": [%s], "Properties": {"Type": "String", "Name": "/fails", "Value": "x"}}`, quoted(upserts))})
	cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})

	for _, there := range []bool{false, true} {
		for _, name := range sortedNames(undoers) {
			command := undoers[name]
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
					if run, err = command(t.Context(), e, dir); err != nil {
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

// Names that the engine makes are looked up before, and somebody else may make
// what has them in between: a deploy of the same stack from another state bucket.
// That survives whatever undoes the deploy that came second (S-132, S-200, S-209,
// S-304).
func TestMadeInBetweenSurvives(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("moto_server is not installed")
	}
	e, cloud := newEngineOn(t, sandbox.Options{Upstream: sandbox.Moto})
	theirs := elsewhere(t, cloud)
	declared := regexp.MustCompile(`"\w+": "theirs[^"]*"(, )?`)
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": declared.ReplaceAllString(allUpserts(t, cloud), "") +
		fmt.Sprintf(`, "Fails": {"Type": "AWS::SSM::Parameter", "DependsOn": [%s], "Properties": {"Type": "String", "Value": "x"}}`, quoted(upserts))})
	for _, name := range sortedNames(undoers) {
		t.Run(name, func(t *testing.T) {
			calls := map[string]int{}
			for _, u := range upserts {
				calls[u.creates]++
			}
			for action, n := range calls {
				cloud.AddFault(sandbox.Fault{Action: action, Hold: true, Count: n})
			}
			opt := deployAll(dir)
			opt.NoRollback = undoers[name] != nil
			var run *result.Run
			var err error
			var wg sync.WaitGroup
			wg.Go(func() { run, err = e.Deploy(t.Context(), opt) })
			held := func(r sandbox.Request) bool { return r.State == sandbox.Held }
			if _, err := cloud.Await(t.Context(), len(upserts), held); err != nil {
				t.Fatal(err)
			}
			if run, err := theirs.Deploy(t.Context(), deployAll(dir)); err != nil || run.Outcome != result.Success {
				t.Errorf("theirs: %v %+v", err, run.Stacks[0])
			}
			cloud.ClearLog()
			cloud.RemoveFault("")
			wg.Wait()
			if err != nil || run.Outcome != result.Failed {
				t.Fatalf("%v %+v", err, run.Stacks[0])
			}
			// Some services tell that it is there, or its tags do, and that fails their
			// creates.
			told := run.Stacks[0].Failures
			if command := undoers[name]; command != nil {
				if run, err = command(t.Context(), e, dir); err != nil {
					t.Fatal(err)
				}
			}
			var kept []string
			for _, f := range told {
				if f.LogicalID != "Fails" {
					kept = append(kept, f.LogicalID)
				}
			}
			for _, u := range run.Stacks[0].Unaddressed {
				kept = append(kept, u.LogicalID)
				if !strings.Contains(u.Reason, "it has the tag of another create") || !strings.Contains(u.Remedy, "from one place only") {
					t.Errorf("%s: %s; %s", u.LogicalID, u.Reason, u.Remedy)
				}
			}
			slices.Sort(kept)
			if diff := cmp.Diff(sortedNames(upserts), slices.Compact(kept)); diff != "" {
				t.Errorf("refused or kept (-want +got):\n%s", diff)
			}
			deletes := func() (calls []string) {
				for _, r := range cloud.Log() {
					if strings.HasPrefix(r.Action, "Delete") && r.Service != "s3" || r.Action == "DeleteBucket" {
						calls = append(calls, r.Action)
					}
				}
				return calls
			}
			if calls := deletes(); calls != nil {
				t.Errorf("deleted: %q", calls)
			}
			for _, key := range left(cloud) {
				if strings.Contains(key, "Shop") {
					t.Errorf("left of the stack: %s", key)
				}
			}
			// All of it still is theirs.
			run, err = undoers["destroy"](t.Context(), theirs, dir)
			if err != nil || run.Outcome != result.Success || len(deletes()) < len(upserts) {
				t.Errorf("theirs: %v %+v: %q", err, run.Stacks[0], deletes())
			}
		})
	}
}

// What a rollback that is not complete left as another's does not stay in the
// journal: it would be taken for this stack's own by the next deploy (S-210).
func TestLeftIsNoEvidence(t *testing.T) {
	e, cloud := newEngine(t)
	theirs := elsewhere(t, cloud)
	const topic = `"T": {"Type": "AWS::SNS::Topic"}`
	dir, other := t.TempDir(), t.TempDir()
	writeApp(t, other, map[string]string{"Shop": topic})
	writeApp(t, dir, map[string]string{"Shop": topic + `, "P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/p", "Value": "x"}},
		"Fails": {"Type": "AWS::SSM::Parameter", "DependsOn": ["T", "P"], "Properties": {"Type": "String", "Name": "/fails", "Value": "FAIL"}}`})
	cloud.AddFault(sandbox.Fault{Service: "ssm", Mentions: "FAIL", Status: 400, Code: "ValidationException"})
	cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "DeleteParameter", Status: 400, Code: "ValidationException"})
	held := cloud.AddFault(sandbox.Fault{Action: "CreateTopic", Hold: true, Count: 1})
	var run *result.Run
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { run, err = e.Deploy(t.Context(), deployAll(dir)) })
	if _, err := cloud.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.State == sandbox.Held }); err != nil {
		t.Fatal(err)
	}
	if run, err := theirs.Deploy(t.Context(), deployAll(other)); err != nil || run.Outcome != result.Success {
		t.Errorf("theirs: %v %+v", err, run.Stacks[0])
	}
	cloud.Release(held)
	wg.Wait()
	if err != nil || !run.Stacks[0].RollbackIncomplete {
		t.Fatalf("%v %+v", err, run.Stacks[0])
	}
	if run, err = e.Deploy(t.Context(), deployAll(dir)); err != nil || !strings.Contains(failures(run), "T was not created: its name is held by") {
		t.Errorf("the next deploy: %v %s", err, failures(run))
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

// Who may not look whose a resource is keeps it on record and in the journal when a
// create is undone, so that who may look undoes it (S-129, S-200).
func TestRollbackThatMayNotLook(t *testing.T) {
	for name, fault := range map[string]sandbox.Fault{
		"at the resource": {Service: "sns", Action: "GetTopicAttributes", Status: 403, Code: "AuthorizationError"},
		"at its tags":     {Service: "sns", Action: "ListTagsForResource", Status: 403, Code: "AuthorizationError"},
		"at the ledger":   {Service: "s3", Action: "GetObject", Mentions: "create-tokens.json", Status: 403, Code: "AccessDenied"},
	} {
		t.Run(name, func(t *testing.T) {
			e, cloud := newEngine(t)
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": `"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "declared"}},
				"Fails": {"Type": "AWS::SSM::Parameter", "DependsOn": "Topic", "Properties": {"Type": "String", "Name": "/fails", "Value": "x"}}`})
			cloud.AddFault(sandbox.Fault{Service: "ssm", Action: "PutParameter", Status: 400, Code: "ValidationException"})
			opt := deployAll(dir)
			opt.NoRollback = true
			if run, err := e.Deploy(t.Context(), opt); err != nil || run.Outcome != result.Failed {
				t.Fatalf("%v %+v", err, run)
			}
			rollBack := func() *result.Stack {
				t.Helper()
				run, err := e.Rollback(t.Context(), engine.RollbackOptions{Stack: "Shop", ResourceTimeout: time.Minute})
				if err != nil || len(run.Stacks) != 1 {
					t.Fatalf("%v %+v", err, run)
				}
				return run.Stacks[0]
			}
			id := cloud.AddFault(fault)
			st := rollBack()
			if u := st.Unaddressed; st.Outcome != result.Partial || len(u) != 1 || u[0].LogicalID != "Topic" ||
				!strings.Contains(u[0].Reason, "not rolled back: nothing proves that this stack made it: who made it could not be looked up") ||
				!strings.Contains(u[0].Remedy, "cdkd-action rollback Shop") {
				t.Errorf("%s: %+v", st.Outcome, u)
			}
			cloud.RemoveFault(id)
			if st := rollBack(); st.Outcome != result.Success {
				t.Errorf("%+v", st)
			}
			if !slices.ContainsFunc(cloud.Log(), func(r sandbox.Request) bool { return r.Action == "DeleteTopic" && r.Status == 200 }) {
				t.Error("the topic is there")
			}
		})
	}
}
