package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A stage is how far an operation had come that a cancelled run let go. Each has
// one stack for everything that may happen before the next run, and what then that
// run comes to and there is.
type stage struct {
	name   string
	before string // the resource as it is deployed first, STACK for its stack's name; "": not at all
	now    string // as the cancelled run deploys it, and the one after it
	hold   string // the action that has no answer; "": none
	began  string // the action that tells that it is where it is to be
	then   []string
}

const (
	gateway = `"X": {"Type": "AWS::EC2::CustomerGateway", "Properties": {"Type": "ipsec.1", "BgpAsn": 65000, "IpAddress": "192.0.2.1", "Tags": [{"Key": "of", "Value": "STACK"}]}}`
	group   = `"X": {"Type": "AWS::Athena::WorkGroup", "Properties": {"Name": "STACK", "Description": "one"}}`
	table   = `"X": {"Type": "AWS::DynamoDB::Table", "Properties": {"BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}}`
	thing   = `"X": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:handler"}}`
	mailbox = `"X": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "STACK-one"}}`
	none    = `"Y": {"Type": "AWS::CloudFormation::WaitConditionHandle"}`
)

func changed(resource string) string {
	return strings.NewReplacer(`192.0.2.1`, `192.0.2.2`, `"one"`, `"two"`, `STACK-one`, `STACK-two`).Replace(resource)
}

// What the cdkd command line may do in between. It takes a first deploy back by
// deleting all that is recorded, and then the record.
var between = []string{"Nothing", "Deployed", "RolledBack", "Destroyed", "Orphaned"}

var stages = []stage{
	{"AcceptedCreate", "", gateway, "", "CreateResource", []string{
		"no-change: gateway 1", "success: gateway 1", "failed: gateway 1", "failed: gateway 1", "failed: gateway 1"}},
	{"AcceptedNamedCreate", "", group, "", "CreateResource", []string{
		"no-change: group one", "no-change: group one", "failed: group one", "failed: group one", "failed: group one"}},
	{"SentCreate", "", gateway, "CreateResource", "CreateResource", []string{
		"no-change: gateway 1", "success: gateway 1", "failed: gateway 1", "failed: gateway 1", "failed: gateway 1"}},
	{"SentTable", "", table, "CreateTable", "CreateTable", []string{
		"success: table", "no-change: table", "failed: table", "failed: table", "failed: table"}},
	{"SettlingTable", "", table, "", "DescribeTable", []string{
		"no-change: table", "no-change: table", "success: table", "success: table", "failed: table"}},
	{"AskedHandler", "", thing, "", "Invoke", []string{
		"no-change: thing-1", "success: theirs", "failed: thing-1", "failed: thing-1", "failed: thing-1"}},
	{"AcceptedUpdate", group, changed(group), "", "UpdateResource", []string{
		"no-change: group two", "no-change: group two", "no-change: group two", "success: group two", "failed: group two"}},
	{"SentUpdate", group, changed(group), "UpdateResource", "UpdateResource", []string{
		"success: group two", "no-change: group two", "success: group two", "success: group two", "failed: group two"}},
	{"AcceptedDelete", group, none, "", "DeleteResource", []string{
		"no-change", "no-change", "no-change", "success", "success"}},
	{"SentDelete", group, none, "DeleteResource", "DeleteResource", []string{
		"no-change", "no-change", "no-change", "success", "success"}},
	{"AcceptedReplacement", gateway, changed(gateway), "", "CreateResource", []string{
		"success: gateway 2", "success: gateway 2", "success: gateway 2", "failed: gateway 2", "failed: gateway 1, gateway 2"}},
	{"OldCopy", mailbox, changed(mailbox), "DeleteQueue", "DeleteQueue", []string{
		"no-change: queue two", "no-change: queue two", "success: queue two", "success: queue two", "success: queue two"}},
}

// A meantime is what happens to the stacks of one stage.
type meantime struct {
	*slow
	stage
}

func (m *meantime) key(stack, name string) string { return "cdkd/" + stack + "/us-east-1/" + name }

// apps writes an app that has a stack of a resource for everything that may happen.
func (m *meantime) apps(resource string) {
	resources := map[string]string{}
	for _, happens := range between {
		stack := m.name + happens
		resources[stack] = strings.ReplaceAll(resource, "STACK", stack)
	}
	writeApp(m.t, m.dir, resources)
}

func (m *meantime) deployAll(r *slowRun) map[string]*result.Stack {
	m.t.Helper()
	run, err := r.e.Deploy(m.t.Context(), engine.DeployOptions{
		Selection:       engine.Selection{Assembly: m.dir, Selection: assembly.Selection{All: true}},
		ResourceTimeout: time.Hour, StackConcurrency: 10, NoRollback: true,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	stacks := map[string]*result.Stack{}
	for _, s := range run.Stacks {
		stacks[s.Name] = s
	}
	return stacks
}

// cancelAll deploys all stacks and sends a signal once each is where it is to be.
func (m *meantime) cancelAll() {
	m.t.Helper()
	if m.hold != "" {
		defer m.RemoveFault(m.AddFault(sandbox.Fault{Action: m.hold, Hold: true, After: true}))
	}
	r := m.run()
	done := make(chan map[string]*result.Stack, 1)
	go func() { done <- m.deployAll(r) }()
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute)
	defer cancel()
	if _, err := m.Await(ctx, len(between), func(r sandbox.Request) bool {
		return r.Action == m.began && (r.State == sandbox.Held || m.hold == "" && r.State != sandbox.Open)
	}); err != nil {
		m.t.Fatalf("%v\n%s", err, m.log.String())
	}
	r.signals <- syscall.SIGINT
	for _, s := range <-done {
		m.want(s, result.Cancelled)
	}
}

// function makes the handler, which answers later.
func (m *meantime) function() {
	m.t.Helper()
	_, err := lambda.NewFromConfig(m.Config()).CreateFunction(m.t.Context(), &lambda.CreateFunctionInput{
		FunctionName: aws.String("handler"), Role: aws.String("arn:aws:iam::123456789012:role/handler"), Runtime: "nodejs22.x",
		Handler: aws.String("index.handler"), Code: &lambdatypes.FunctionCode{ZipFile: []byte("zip")},
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// answerAtOnce has it answer at once from now on.
func (m *meantime) answerAtOnce() {
	m.Handle("handler", func(_ context.Context, event map[string]any) (any, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if event["RequestType"] == "Delete" {
			delete(m.things, stackOf(event)+" "+fmt.Sprint(event["PhysicalResourceId"]))
			return map[string]any{"Status": "SUCCESS"}, nil
		}
		m.things[stackOf(event)+" another"] = true
		return map[string]any{"Status": "SUCCESS", "PhysicalResourceId": "another"}, nil
	})
}

// edit changes a stack's record, as another engine would.
func (m *meantime) edit(stack string, edit func(*state.Record)) {
	m.t.Helper()
	key := m.key(stack, "state.json")
	r, err := state.ParseRecord(key, []byte(m.object(key)))
	if err != nil {
		m.t.Fatal(err)
	}
	edit(r)
	r.LastModified++
	b, err := r.Marshal()
	if err != nil {
		m.t.Fatal(err)
	}
	m.S3.PutObject(bucket, key, b)
}

func (m *meantime) remove(stack string, names ...string) {
	m.t.Helper()
	client := s3.NewFromConfig(m.Config())
	for _, n := range names {
		if _, err := client.DeleteObject(m.t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String(m.key(stack, n))}); err != nil {
			m.t.Fatal(err)
		}
	}
}

// delete deletes a resource in AWS.
func (m *meantime) delete(stack string, row *state.Resource) {
	m.t.Helper()
	var err error
	switch row.ResourceType {
	case "AWS::DynamoDB::Table":
		_, err = dynamodb.NewFromConfig(m.Config()).DeleteTable(m.t.Context(), &dynamodb.DeleteTableInput{TableName: &row.PhysicalID})
	case "AWS::SQS::Queue":
		_, err = sqs.NewFromConfig(m.Config()).DeleteQueue(m.t.Context(), &sqs.DeleteQueueInput{QueueUrl: &row.PhysicalID})
	case "Custom::Thing":
		delete(m.things, stack+" "+row.PhysicalID)
	default:
		m.CloudControl.Remove("us-east-1", row.ResourceType, row.PhysicalID)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// make makes the resource of a template in AWS, and returns its row.
func (m *meantime) make(stack string) *state.Resource {
	m.t.Helper()
	o := object(m.t, strings.ReplaceAll("{"+m.now+"}", "STACK", stack)).Object("X")
	row := &state.Resource{ResourceType: o.String("Type"), Properties: o.Object("Properties"), ProvisionedBy: state.BySDK}
	switch row.ResourceType {
	case "AWS::DynamoDB::Table":
		row.PhysicalID = stack + "-X" // the same, by its name
	case "AWS::SQS::Queue":
		m.t.Fatal("it is there")
	case "Custom::Thing":
		row.PhysicalID = "theirs"
		m.things[stack+" theirs"] = true
	default:
		row.ProvisionedBy = state.ByCloudControl
		model := map[string]any{}
		for name, v := range row.Properties.All() {
			if text, ok := v.(string); ok {
				model[name] = text
			}
		}
		model["Tags"] = []any{map[string]any{"Key": "of", "Value": stack}}
		id, err := m.CloudControl.Put("us-east-1", row.ResourceType, model)
		if err != nil {
			m.t.Fatal(err)
		}
		row.PhysicalID = id
	}
	return row
}

// happens plays what the other engine does.
func (m *meantime) happens(what string) {
	m.t.Helper()
	stack := m.name + what
	gone := func() { m.remove(stack, "create-tokens.json", "state.json", "rollback-journal.json") }
	switch what {
	case "Deployed":
		m.edit(stack, func(r *state.Record) {
			old := r.Row("X")
			switch {
			case m.hold == "DeleteQueue", m.name == "SettlingTable": // done already
			case m.now == none:
				if m.hold == "" {
					m.delete(stack, old)
				}
				r.Remove("X")
			default:
				if old != nil {
					m.delete(stack, old)
				}
				r.Set("X", m.make(stack))
			}
		})
		m.remove(stack, "rollback-journal.json")
	case "RolledBack":
		switch {
		case m.name == "OldCopy":
			p, err := state.ParsePending("", []byte(m.object(m.key(stack, "pending.json"))))
			if err != nil || len(p.Leftovers) != 1 {
				m.t.Fatalf("%v: %+v", err, p)
			}
			m.edit(stack, func(r *state.Record) {
				m.delete(stack, r.Row("X"))
				r.Set("X", p.Leftovers[0].Previous)
			})
		case m.before == "": // nothing is left then
			m.destroy(stack)
			gone()
			return
		default:
			m.edit(stack, func(*state.Record) {})
		}
		m.remove(stack, "rollback-journal.json")
	case "Destroyed":
		m.destroy(stack)
		gone()
	case "Orphaned":
		gone()
	}
}

// destroy deletes what is recorded of a stack.
func (m *meantime) destroy(stack string) {
	m.edit(stack, func(r *state.Record) {
		for _, id := range r.LogicalIDs() {
			m.delete(stack, r.Row(id))
		}
	})
}

// there is what AWS has of a stack.
func (m *meantime) there(stack string) string {
	m.t.Helper()
	var all []string
	for _, r := range m.CloudControl.Resources() {
		if !strings.Contains(fmt.Sprint(r.Model), stack) {
			continue
		}
		label := strings.Replace(fmt.Sprint(r.Model["IpAddress"]), "192.0.2.", "gateway ", 1)
		if r.TypeName == "AWS::Athena::WorkGroup" {
			label = "group"
			if d := r.Model["Description"]; d != nil {
				label += fmt.Sprint(" ", d)
			}
		}
		all = append(all, label)
	}
	tables, err := dynamodb.NewFromConfig(m.Config()).ListTables(m.t.Context(), &dynamodb.ListTablesInput{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, name := range tables.TableNames {
		if strings.HasPrefix(name, stack+"-") {
			all = append(all, "table")
		}
	}
	queues, err := sqs.NewFromConfig(m.Config()).ListQueues(m.t.Context(), &sqs.ListQueuesInput{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, url := range queues.QueueUrls {
		if _, name, ok := strings.Cut(url, "/"+stack+"-"); ok {
			all = append(all, "queue "+name)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.things {
		if of, thing, _ := strings.Cut(id, " "); of == stack {
			all = append(all, thing)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// The cdkd command line in between knows nothing of what is open. What it saved
// leaves the ledger, which proves what is open; what removed the record voids it.
// Nothing is then made twice, taken or deleted that nothing proves to be the
// stack's (P-11, P-13, P-29, P-35).
func TestAnotherEngineInBetween(t *testing.T) {
	var all sync.WaitGroup
	defer all.Wait()
	atOnce := make(chan struct{}, 4)
	for _, g := range stages { // side by side, since half of them only wait for the deadline, and few enough to meet it
		all.Go(func() {
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			t.Run(g.name, func(t *testing.T) {
				m := &meantime{startSlow(t, "{}"), g}
				m.tableReady.Store(g.name != "SettlingTable")
				m.function()
				if g.before != "" {
					m.CloudControl.SetDelay(0)
					m.apps(g.before)
					for _, s := range m.deployAll(m.run()) {
						m.want(s, result.Success)
					}
					m.CloudControl.SetDelay(10 * time.Minute)
					m.ClearLog()
				}
				m.apps(g.now)
				m.cancelAll()
				m.finish()
				m.answer(succeeded)
				m.answerAtOnce()
				for _, what := range between {
					m.happens(what)
				}
				got := map[string]string{}
				for name, s := range m.deployAll(m.run()) {
					what := strings.TrimPrefix(name, g.name)
					got[what] = strings.TrimSuffix(fmt.Sprintf("%s: %s", s.Outcome, m.there(name)), ": ")
					open := m.object(m.key(name, "pending.json")) != ""
					for _, f := range s.Failures {
						if f.Remedy == "" || open && !strings.Contains(f.Remedy, "--pending X") {
							t.Errorf("%s: %s, without saying what to do: %s", name, f.Message, f.Remedy)
						}
						if id, found := thereIs(f.Message); found && !strings.Contains(f.Remedy, "X="+id) {
							t.Errorf("%s: it names %s, and does not say how to import it: %s", name, id, f.Remedy)
						}
					}
					if open && s.Outcome != result.Failed {
						t.Errorf("%s: still open:\n%s", name, m.object(m.key(name, "pending.json")))
					}
				}
				want := map[string]string{}
				for i, what := range between {
					want[what] = g.then[i]
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("(-want +got)\n%s\n%s", d, m.log.String())
				}
			})
		})
	}
}

// thereIs is the id that a refusal names.
func thereIs(message string) (id string, found bool) {
	_, rest, found := strings.Cut(message, "there is ")
	id, _, _ = strings.Cut(rest, ",")
	return id, found
}
