package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
)

// What a killed create may have made is not forgotten when its logical id is
// about something else by the next run: it goes when it is found, and when nobody
// can tell it stays written down until somebody had it forgotten (P-10, P-17).
func TestLogicalIDThatIsAboutSomethingElse(t *testing.T) {
	const (
		token     = "0123456789abcdef0123456789abcdef"
		parameter = `"X": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x"}}`
		named     = `"X": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "mine"}}`
		generated = `"X": {"Type": "AWS::SQS::Queue"}`
	)
	for name, tt := range map[string]struct {
		base, token string // of the killed create
		first       string // what was deployed before it; "": nothing
		now         string // what X is by now; "": the stack is destroyed
		left        string // of the entry in the ledger; "": nothing
	}{
		"a queue, and a parameter now":                          {"adopt-by-name:AWS::SQS::Queue", "Shop-X", "", parameter, ""},
		"a queue with a name that was made, and a declared one": {"adopt-by-name:AWS::SQS::Queue", "Shop-X", "", named, ""},
		"a topic of a name that is not known any more":          {"create:AWS::SNS::Topic", token, "", generated, "create:AWS::SNS::Topic"},
		"it was to replace what is there and still is":          {"adopt-by-name:AWS::SQS::Queue", "Shop-X", parameter, parameter, ""},
		"it was to replace what is destroyed now":               {"adopt-by-name:AWS::SQS::Queue", "Shop-X", parameter, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, cloud := newEngine(t)
			queues, topics := sqs.NewFromConfig(cloud.Config()), sns.NewFromConfig(cloud.Config())
			dir := t.TempDir()
			sel := engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}
			deploy := func(template string) *result.Stack {
				writeApp(t, dir, map[string]string{"Shop": template})
				run, err := e.Deploy(t.Context(), engine.DeployOptions{Selection: sel, ResourceTimeout: time.Minute, Concurrency: 10, StackConcurrency: 1})
				if err != nil || run.Stacks[0].Outcome == result.Failed {
					t.Fatalf("%v %+v", err, run.Stacks)
				}
				return run.Stacks[0]
			}
			if tt.first != "" {
				deploy(tt.first)
			}
			if strings.HasPrefix(tt.base, "adopt") {
				if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("Shop-X")}); err != nil {
					t.Fatal(err)
				}
			} else if _, err := topics.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("former"), Tags: []snstypes.Tag{{Key: aws.String(provider.OwnerTagKey), Value: aws.String(token)}}}); err != nil {
				t.Fatal(err)
			}
			cloud.S3.PutObject(bucket, shopKey+"create-tokens.json", fmt.Appendf(nil,
				`{"ledgerVersion": 1, "nonce": "7f8d7c0e-8d2f-4a9c-b5a5-3f1f1f3d2c11", "stateRecorded": %t,
				"sent": {"X": {"base": %q, "token": %q, "firstSentAt": %d}}}`, tt.first != "", tt.base, tt.token, time.Now().UnixMilli()))
			if tt.now == "" {
				if run, err := e.Destroy(t.Context(), engine.DestroyOptions{Selection: sel, ResourceTimeout: time.Minute}); err != nil || run.Outcome != result.Success {
					t.Fatalf("%v %+v", err, run)
				}
			} else {
				deploy(tt.now)
			}

			list, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{})
			if err != nil {
				t.Fatal(err)
			}
			for _, url := range list.QueueUrls {
				if strings.HasSuffix(url, "/Shop-X") && tt.now != generated {
					t.Error("the queue is left")
				}
			}
			ledger, _ := cloud.S3.Object(bucket, shopKey+"create-tokens.json")
			if tt.left == "" {
				if strings.Contains(string(ledger.Body), tt.base) {
					t.Errorf("still in the ledger: %s", ledger.Body)
				}
				return
			}
			if !strings.Contains(string(ledger.Body), tt.left) || !strings.Contains(string(ledger.Body), token) {
				t.Fatalf("forgotten: %s", ledger.Body)
			}
			if s := deploy(tt.now); s.Outcome != result.NoChange {
				t.Errorf("outcome %s of a deploy that changes nothing", s.Outcome)
			}
			if _, err := e.StateOrphan(t.Context(), engine.OrphanOptions{Stacks: []string{"Shop"}, Pending: []string{engine.AllPending}}); err != nil {
				t.Fatal(err)
			}
			if ledger, _ := cloud.S3.Object(bucket, shopKey+"create-tokens.json"); strings.Contains(string(ledger.Body), token) {
				t.Errorf("not forgotten though asked to: %s", ledger.Body)
			}
		})
	}
}
