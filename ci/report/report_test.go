package report

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// parse reads a JSON value.
func parse(text string) any {
	v, err := value.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

func changed(path, old, new string) plan.PropertyChange {
	return plan.PropertyChange{Path: path, Old: parse(old), New: parse(new), HasOld: true, HasNew: true}
}

// shop is a plan with every kind of row.
func shop() *plan.Plan {
	keySchema := changed("KeySchema", `[{"AttributeName":"id","KeyType":"HASH"}]`, `[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}]`)
	keySchema.Replaces = true
	fed := changed("Environment", `{"Variables":{"TABLE":"shop-1","API_KEY":"s3cr3t-old"}}`, `{"Variables":{"TABLE":{"Ref":"Table"},"API_KEY":"s3cr3t-new","EXTRA":"on"}}`)
	fed.Unresolved = true
	password := changed("MasterUserPassword", `"hunter2hunter2"`, `"hunter3hunter3"`)
	engine := changed("EngineVersion", `"14.1"`, `"16.3"`)
	engine.MayReplace = true
	roleName := changed("RoleName", `"shop-worker"`, `"shop-runner"`)
	roleName.Replaces = true
	fn := changed("Role", `"arn:aws:iam::123456789012:role/shop-worker"`, `{"Fn::GetAtt":["Role","Arn"]}`)
	fn.Propagated, fn.Unresolved = true, true
	rule := changed("SecurityGroupIngress", `[{"IpProtocol":"tcp","FromPort":443,"ToPort":443,"CidrIp":"10.0.0.0/8"}]`,
		`[{"IpProtocol":"tcp","FromPort":443,"ToPort":443,"CidrIp":"10.0.0.0/8"},{"IpProtocol":"tcp","FromPort":22,"ToPort":22,"CidrIp":"0.0.0.0/0"}]`)
	return &plan.Plan{
		Stack: "Shop", Region: "eu-west-1",
		Changes: []*plan.Change{
			{LogicalID: "Ingress", Type: "AWS::EC2::SecurityGroup", Action: plan.Update, Properties: []plan.PropertyChange{rule},
				Desired: value.NewObject("SecurityGroupIngress", rule.New)},
			{LogicalID: "WorkerPolicy", Type: "AWS::IAM::Policy", Action: plan.Create, Desired: parse(`{"Roles":[{"Ref":"Role"}],"PolicyDocument":{"Statement":[
				{"Effect":"Allow","Action":["dynamodb:GetItem","dynamodb:PutItem"],"Resource":{"Fn::GetAtt":["Table","Arn"]}},
				{"Effect":"Allow","Action":"sns:Publish","Resource":{"Ref":"Topic"},"Condition":{"StringEquals":{"aws:SourceAccount":"123456789012"}}}]}}`).(*value.Object)},
			{LogicalID: "Topic", Type: "AWS::SNS::Topic", Action: plan.Create, Route: plan.Route{Unhandled: []string{"ArchivePolicy", "Tracing"}}},
			{LogicalID: "Worker", Type: "AWS::Lambda::Function", Path: "Shop/Worker/Resource", Action: plan.Update,
				Properties: []plan.PropertyChange{changed("Runtime", `"nodejs20.x"`, `"nodejs22.x"`), fed, fn},
				Attributes: []plan.AttributeChange{{Name: "DeletionPolicy", New: "Retain"}}},
			{LogicalID: "Alarm", Type: "AWS::CloudWatch::Alarm", Action: plan.NoChange},
			{LogicalID: "Table", Type: "AWS::DynamoDB::Table", Path: "Shop/Table/Resource", Action: plan.Replace, PhysicalID: "shop-1",
				Properties: []plan.PropertyChange{keySchema}, Route: plan.Route{Sticky: true}},
			{LogicalID: "Listener", Type: "AWS::ElasticLoadBalancingV2::Listener", Action: plan.Update,
				Properties: []plan.PropertyChange{changed("Port", `80`, `443`)}, Route: plan.Route{Sticky: true, Returning: true}},
			{LogicalID: "Db", Type: "AWS::RDS::DBInstance", Action: plan.MayReplace,
				Properties: []plan.PropertyChange{engine, password}},
			{LogicalID: "Role", Type: "AWS::IAM::Role", Action: plan.Replace,
				Properties: []plan.PropertyChange{roleName}},
			{LogicalID: "OldQueue", Type: "AWS::SQS::Queue", Action: plan.Delete, Route: plan.Route{Sticky: true}},
			{LogicalID: "Logs", Type: "AWS::Logs::LogGroup", Action: plan.Retain, DeletionPolicy: "Retain"},
		},
		Outputs: []plan.OutputChange{
			{Name: "Url", Action: plan.Update, Old: "https://old.example", New: "https://new.example", HasOld: true, HasNew: true},
			{Name: "TableArn", Action: plan.Update, Old: "arn:aws:dynamodb:eu-west-1:123456789012:table/shop-1", HasOld: true, HasNew: true, New: parse(`{"Fn::GetAtt":["Table","Arn"]}`), Unresolved: true, Export: true},
			{Name: "DbPassword", Action: plan.Create, New: "hunter3hunter3", HasNew: true},
			{Name: "Gone", Action: plan.Delete, Old: "g", HasOld: true, OldRedacted: true},
		},
		Children: []*plan.Plan{{
			Stack: "Shop~Network", Region: "eu-west-1",
			Changes: []*plan.Change{{LogicalID: "Subnet", Type: "AWS::EC2::Subnet", Action: plan.Delete}},
		}},
	}
}

func diffRun() *result.Run {
	r := &result.Run{Command: "diff", RunID: "20261129T120000000Z-0a1b2c3d"}
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Success, Changed: true, Plan: shop(),
		Chain: []result.Link{{LogicalID: "Role", Expected: 10 * time.Second}, {LogicalID: "Db", Expected: 10 * time.Minute}, {LogicalID: "Worker", Expected: time.Second}}})
	return r
}

// templatesRun is of a pull request from a fork.
func templatesRun() *result.Run {
	variables := changed("Environment", `{"Variables":{"TABLE":{"Ref":"Orders"},"LEVEL":"info"}}`, `{"Variables":{"TABLE":{"Ref":"Archive"},"LEVEL":"debug"}}`)
	name := changed("TopicName", `"orders"`, `"orders-v2"`)
	name.Replaces = true
	r := &result.Run{Command: "diff"}
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Success, Changed: true,
		Plan: &plan.Plan{Stack: "Shop", Region: "eu-west-1", FromTemplates: true,
			Changes: []*plan.Change{
				{LogicalID: "Worker", Type: "AWS::Lambda::Function", Path: "Shop/Worker/Resource", Action: plan.Update, Properties: []plan.PropertyChange{variables}},
				{LogicalID: "Topic", Type: "AWS::SNS::Topic", Action: plan.Replace, Properties: []plan.PropertyChange{name}},
				{LogicalID: "Archive", Type: "AWS::DynamoDB::Table", Action: plan.Create},
				{LogicalID: "Queue", Type: "AWS::SQS::Queue", Action: plan.NoChange},
			},
			Outputs: []plan.OutputChange{{Name: "Table", Action: plan.Update, Old: parse(`{"Ref":"Orders"}`), New: parse(`{"Ref":"Archive"}`), HasOld: true, HasNew: true}}},
		Warnings: []string{"the template of Shop differs in more than is listed, and what that does to its resources was not worked out: Parameters (Size); Conditions (Prod)"}})
	return r
}

func guideTo(name guide.Page) string { return name.URL("1.2.3") }

func failedRun() *result.Run {
	r := &result.Run{Command: "deploy", RunID: "20261129T120000000Z-0a1b2c3d", Duration: 83*time.Second + 420*time.Millisecond}
	r.Add(&result.Stack{Name: "Network", Region: "eu-west-1", Outcome: result.Success, Changed: true,
		Plan:    &plan.Plan{Stack: "Network", Region: "eu-west-1", Changes: []*plan.Change{{LogicalID: "Vpc", Type: "AWS::EC2::VPC", Action: plan.Create}}},
		Counts:  result.Counts{Created: 1},
		Outputs: value.NewObject("VpcId", "vpc-0123", "Subnets", []any{"subnet-1", "subnet-2"})})
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Failed, Reason: result.ReasonResource, RolledBack: true,
		Plan: shop(), Counts: result.Counts{Failed: 1, Unchanged: 5}, After: shopOrder(), Timeline: shopTimeline(),
		Failures: []result.Failure{{LogicalID: "Topic", Type: "AWS::SNS::Topic", Path: "Shop/Topic/Resource", Action: plan.Create,
			Message: "InvalidParameter: Invalid parameter: Topic Name\nRequest id: 1234 (token=abcdef123456)",
			Remedy:  "choose a name of at most 256 characters; ask @platform about #42", Page: guideTo("aws-refused")}},
		Warnings: []string{"the record was written by an older version"}})
	return r
}

func shopOrder() map[string][]string {
	return map[string][]string{"Worker": {"Role", "Table"}, "WorkerPolicy": {"Role", "Table", "Topic"}, "Listener": {"Topic"}, "Db": {"WorkerPolicy"}}
}

func shopTimeline() []result.Span {
	begin := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	span := func(id string, action plan.Action, at, took time.Duration) result.Span {
		return result.Span{LogicalID: id, Action: action, Start: begin.Add(at * time.Millisecond), Took: took * time.Millisecond}
	}
	failed, undone := span("Topic", plan.Create, 0, 9_100), span("Table", plan.Delete, 31_000, 6_400)
	failed.Failed, undone.Rollback = true, true
	return []result.Span{span("Role", plan.Replace, 0, 2_300), failed, span("Table", plan.Replace, 10, 11_900), span("Worker", plan.Update, 11_910, 18_500), undone}
}

// unawaitedRun made something without waiting for it.
func unawaitedRun() *result.Run {
	r := &result.Run{Command: "deploy"}
	r.Add(&result.Stack{Name: "Network", Region: "eu-west-1", Outcome: result.Success, Changed: true, Counts: result.Counts{Created: 1},
		Plan: &plan.Plan{Stack: "Network", Region: "eu-west-1", Changes: []*plan.Change{{LogicalID: "Nat", Type: "AWS::EC2::NatGateway", Action: plan.Create}}},
		Unawaited: []result.Unawaited{{Stack: "Network", LogicalID: "Nat", Type: "AWS::EC2::NatGateway", PhysicalID: "nat-0123",
			Command: "aws ec2 describe-nat-gateways --nat-gateway-ids nat-0123 --query NatGateways[].State"}}})
	return r
}

func partialRun() *result.Run {
	r := &result.Run{Command: "destroy", Duration: 4 * time.Second}
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Partial, Changed: true, Counts: result.Counts{Deleted: 3, Skipped: 1}, Page: guideTo("left-over"),
		Unaddressed: []result.Unaddressed{{Stack: "Shop", LogicalID: "Bucket", Type: "AWS::S3::Bucket", PhysicalID: "shop-bucket",
			Reason: "it is not empty", Remedy: "empty it and run destroy again"}}})
	return r
}

// destroyedRun took down two stacks, one of which keeps something.
func destroyedRun() *result.Run {
	r := &result.Run{Command: "destroy", RunID: "20261129T120000000Z-0a1b2c3d", Duration: 21 * time.Second}
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Success, Changed: true, Counts: result.Counts{Deleted: 2, Skipped: 1},
		Plan: &plan.Plan{Stack: "Shop", Region: "eu-west-1", Changes: []*plan.Change{
			{LogicalID: "Queue", Type: "AWS::SQS::Queue", Action: plan.Delete, PhysicalID: "https://sqs.eu-west-1.amazonaws.com/123456789012/shop-queue"},
			{LogicalID: "Orders", Type: "AWS::DynamoDB::Table", Action: plan.Delete, PhysicalID: "shop-orders"},
			{LogicalID: "Logs", Type: "AWS::Logs::LogGroup", Action: plan.Retain, DeletionPolicy: "Retain", PhysicalID: "/shop"},
		}}})
	r.Add(&result.Stack{Name: "Network", Region: "eu-west-1", Outcome: result.Success, Changed: true, Counts: result.Counts{Deleted: 1},
		Plan: &plan.Plan{Stack: "Network", Region: "eu-west-1", Changes: []*plan.Change{{LogicalID: "Vpc", Type: "AWS::EC2::VPC", Action: plan.Delete, PhysicalID: "vpc-0123"}}}})
	return r
}

// severalRun is a diff of stacks of which most do little.
func severalRun() *result.Run {
	r := &result.Run{Command: "diff", PlanDigest: "0123456789abcdef0123456789abcdef"}
	table := changed("KeySchema", `[{"AttributeName":"id","KeyType":"HASH"}]`, `[{"AttributeName":"pk","KeyType":"HASH"}]`)
	table.Replaces = true
	for _, s := range []*plan.Plan{
		{Stack: "Network", Changes: []*plan.Change{{LogicalID: "Vpc", Type: "AWS::EC2::VPC", Action: plan.NoChange}}},
		{Stack: "Storage", Changes: []*plan.Change{{LogicalID: "Orders", Type: "AWS::DynamoDB::Table", Path: "Storage/Orders/Resource", Action: plan.Replace, Properties: []plan.PropertyChange{table}}}},
		{Stack: "Web", Changes: []*plan.Change{{LogicalID: "Handler", Type: "AWS::Lambda::Function", Path: "Web/Handler/Resource", Action: plan.Update, Properties: []plan.PropertyChange{changed("Timeout", `3`, `30`)}},
			{LogicalID: "Errors", Type: "AWS::CloudWatch::Alarm", Action: plan.Create}}},
		{Stack: "Alarms"},
	} {
		s.Region = "eu-west-1"
		st := &result.Stack{Name: s.Stack, Region: s.Region, Outcome: result.Success, Plan: s, Changed: s.Changed()}
		if !st.Changed {
			st.Outcome = result.NoChange
		}
		r.Add(st)
	}
	r.Stacks[2].Warnings = []string{"stack Web in eu-west-1 is locked by another run: this plan may be out of date"}
	return r
}

func refusedRun() *result.Run {
	r := &result.Run{Command: "destroy"}
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Partial, Page: guideTo("export-in-use"),
		Unaddressed: []result.Unaddressed{{Stack: "Shop", Reason: "stack Shop exports what other stacks import: Web in eu-west-1 (Url)",
			Remedy: "destroy those stacks first, or in the same run"}}})
	return r
}

func lockedRun() *result.Run {
	r := &result.Run{Command: "deploy"}
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Locked, Reason: result.ReasonLock,
		Message: "stack Shop in eu-west-1 is locked", Remedy: "wait for the other run, or unlock when it is known to be dead", Page: guideTo("lock-held"),
		Lock: &result.Lock{Owner: "gh-123-1-abc", Operation: "deploy", Stack: "Shop", Region: "eu-west-1", ExpiresAt: 1795953600000, RunURL: "https://github.com/acme/shop/actions/runs/123"}})
	return r
}

func unchangedRun(command string) *result.Run {
	r := &result.Run{Command: command}
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.NoChange,
		Plan: &plan.Plan{Stack: "Shop", Region: "eu-west-1", Changes: []*plan.Change{{LogicalID: "A", Type: "AWS::SQS::Queue", Action: plan.NoChange}}}, Counts: result.Counts{Unchanged: 1}})
	return r
}

func TestGolden(t *testing.T) {
	for name, run := range map[string]*result.Run{
		"diff": diffRun(), "failed": failedRun(), "partial": partialRun(), "refused": refusedRun(), "locked": lockedRun(),
		"templates": templatesRun(), "destroyed": destroyedRun(), "unawaited": unawaitedRun(), "several": severalRun(),
		"diff-unchanged": unchangedRun("diff"), "deploy-unchanged": unchangedRun("deploy"),
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name+".md", Markdown(run))
			golden(t, name+".txt", Text(run))
			if g := pictures(run); g != "" {
				golden(t, name+".pictures.md", g)
			}
		})
	}
	for name, run := range map[string]*result.Run{"diff": diffRun(), "failed": failedRun(), "partial": partialRun(), "locked": lockedRun(), "unawaited": unawaitedRun()} {
		text, err := JSON(run)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", text)
	}
}

// What a comment is as a whole: the sections of a matrix's jobs, and one that was cut.
func TestGoldenComments(t *testing.T) {
	of := func(name string, run *result.Run) Section {
		s := NewSection(run)
		s.Leg, s.Name, s.Head = name, name, "abc"
		return s
	}
	const rest = "The whole report is in [the summary of the workflow run](https://github.com/acme/shop/actions/runs/7)."
	golden(t, "matrix.md", Compose([]Section{of("Data", unchangedRun("diff")), of("Shop", templatesRun()), of("Web", lockedRun())}, "abc", CommentLimit, rest))
	golden(t, "truncated.md", Compose([]Section{of("Shop", diffRun())}, "abc", 3_200, rest))
}

func TestRoutingAnnotations(t *testing.T) {
	tests := []struct {
		name   string
		action plan.Action
		route  plan.Route
		want   string
	}{
		{"unhandled properties (T-435)", plan.Create, plan.Route{Unhandled: []string{"A", "B"}}, " [via CC API: A, B]"},
		{"recorded on Cloud Control (T-435)", plan.Update, plan.Route{Sticky: true}, " [via CC API: sticky]"},
		{"returning has no via prefix (T-436)", plan.Update, plan.Route{Sticky: true, Returning: true}, " [returning to SDK provider]"},
		{"a property takes precedence (T-436)", plan.Update, plan.Route{Unhandled: []string{"A"}, Sticky: true, Returning: true}, " [via CC API: A]"},
		{"a replacement is an update row (T-437)", plan.Replace, plan.Route{Sticky: true}, " [via CC API: sticky]"},
		{"none on deletes (T-437)", plan.Delete, plan.Route{Sticky: true}, ""},
		{"none on what stays in AWS (T-437)", plan.Retain, plan.Route{Sticky: true}, " [kept in AWS: DeletionPolicy Retain]"},
		{"none on unchanged rows (T-437)", plan.NoChange, plan.Route{Sticky: true}, ""},
		{"the SDK needs no note", plan.Create, plan.Route{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := annotation(&plan.Change{Action: tt.action, Route: tt.route, DeletionPolicy: "Retain"}); got != tt.want {
				t.Errorf("want %q, got %q", tt.want, got)
			}
		})
	}
}
