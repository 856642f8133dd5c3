package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	smtypes "github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A destroy finds what a deploy made that died before it recorded it, also when
// that was the first and nothing is recorded at all; what is somebody else's it
// leaves alone (S-230, P-10).
func TestDestroyTakesWhatADeadDeployMade(t *testing.T) {
	for name, tt := range map[string]struct {
		record []byte
		sent   time.Duration // when the dead deploy began to create, from now
		gone   bool
	}{
		"beside what is recorded":             {shop("P"), 0, true},
		"nothing is recorded":                 {nil, 0, true},
		"there before that deploy: another's": {shop("P"), time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			e, cloud := newEngine(t)
			queues := sqs.NewFromConfig(cloud.Config())
			if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("Shop-Q")}); err != nil {
				t.Fatal(err)
			}
			if tt.record != nil {
				cloud.S3.PutObject(bucket, shopKey+"state.json", tt.record)
			}
			cloud.S3.PutObject(bucket, shopKey+"create-tokens.json", fmt.Appendf(nil,
				`{"ledgerVersion": 1, "nonce": "n", "sent": {"Q": {"base": "adopt-by-name:AWS::SQS::Queue", "token": "Shop-Q", "firstSentAt": %d}}}`,
				time.Now().Add(tt.sent).UnixMilli()))
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x"}}`})
			run, err := e.Destroy(t.Context(), engine.DestroyOptions{
				Selection:       engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}},
				ResourceTimeout: time.Minute, Concurrency: 10, StackConcurrency: 1,
			})
			if err != nil || run.Outcome != result.Success {
				t.Fatalf("%s %s %v", run.Outcome, run.Stacks[0].Message, err)
			}
			left, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{})
			if err != nil {
				t.Fatal(err)
			}
			if gone := len(left.QueueUrls) == 0; gone != tt.gone {
				t.Errorf("the queue is gone: %t, want %t", gone, tt.gone)
			}
			for _, o := range cloud.S3.Objects(bucket) {
				if strings.HasSuffix(o.Key, "/state.json") || strings.HasSuffix(o.Key, "/create-tokens.json") || strings.HasSuffix(o.Key, "/lock.json") {
					t.Errorf("%s is left: %s", o.Key, o.Body)
				}
			}
		})
	}
}

// To know of a name that it was about to be taken lets a deploy take it back, and
// nobody delete what has it: a topic does not tell when it was made, and one with
// the tag of another create is another's (S-213, S-236).
func TestDestroyLeavesWhatItKnowsByNameOnly(t *testing.T) {
	for name, tag := range map[string]string{"it has no tag": "", "it has another tag": "another"} {
		t.Run(name, func(t *testing.T) {
			e, cloud := newEngine(t)
			topics := sns.NewFromConfig(cloud.Config())
			in := &sns.CreateTopicInput{Name: aws.String("Shop-T")}
			if tag != "" {
				in.Tags = []snstypes.Tag{{Key: aws.String(provider.OwnerTagKey), Value: &tag}}
			}
			if _, err := topics.CreateTopic(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			cloud.S3.PutObject(bucket, shopKey+"state.json", shop("P"))
			cloud.S3.PutObject(bucket, shopKey+"create-tokens.json", fmt.Appendf(nil,
				`{"ledgerVersion": 1, "nonce": "n", "sent": {"T": {"base": "adopt-by-name:AWS::SNS::Topic", "token": "Shop-T", "firstSentAt": %d}}}`, time.Now().UnixMilli()))
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x"}}`})
			run, err := e.Destroy(t.Context(), engine.DestroyOptions{
				Selection: engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}, ResourceTimeout: time.Minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := run.Stacks[0].Unaddressed; (tag == "") != (len(got) == 1 && strings.Contains(got[0].Reason, "nothing proves that the create made it")) {
				t.Errorf("%s %+v", run.Outcome, got)
			}
			if left, err := topics.ListTopics(t.Context(), &sns.ListTopicsInput{}); err != nil || len(left.Topics) != 1 {
				t.Errorf("%v, topics left: %d", err, len(left.Topics))
			}
		})
	}
}

// What was kept by its policy is not found again as what a killed create may have
// made (S-213, S-247).
func TestKeptIsNoStray(t *testing.T) {
	const (
		queue = `"Q": {"Type": "AWS::SQS::Queue", "DeletionPolicy": "Retain"}`
		other = `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/p", "Value": "%s"}}`
		fails = `, "Fails": {"Type": "AWS::SSM::Parameter", "DependsOn": "Q", "Properties": {"Type": "String", "Name": "/fails", "Value": "FAIL"}}`
	)
	e, cloud := newEngine(t)
	cloud.AddFault(sandbox.Fault{Service: "ssm", Mentions: "FAIL", Status: 400, Code: "ValidationException"})
	dir := t.TempDir()
	for _, step := range []struct {
		app  string
		want result.Outcome
	}{
		{queue + "," + fmt.Sprintf(other, "a") + fails, result.Failed}, // the queue is on trial
		{fmt.Sprintf(other, "a"), result.Success},                      // and kept
		{fmt.Sprintf(other, "b"), result.Success},
	} {
		writeApp(t, dir, map[string]string{"Shop": step.app})
		opt := deployAll(dir)
		opt.NoRollback = true
		if run, err := e.Deploy(t.Context(), opt); err != nil || run.Outcome != step.want || step.want == result.Success && run.Stacks[0].Warnings != nil {
			t.Errorf("%s: %v %s %+v", step.app, err, run.Outcome, run.Stacks[0])
		}
	}
	queues, err := sqs.NewFromConfig(cloud.Config()).ListQueues(t.Context(), &sqs.ListQueuesInput{})
	if err != nil || len(queues.QueueUrls) != 1 {
		t.Errorf("%v: %v are left", err, queues)
	}
}

// What a killed create of a declared name made is found under that name by its
// tag, and a secret by the name that was made for it (S-230, P-10).
func TestDestroyTakesWhatAKilledCreateTagged(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	for typ, declared := range map[string]string{
		"AWS::SQS::Queue":             `{"QueueName": "mine"}`,
		"AWS::SNS::Topic":             `{"TopicName": {"Fn::Sub": "mine-${AWS::Region}"}}`,
		"AWS::SecretsManager::Secret": `{"GenerateSecretString": {}}`,
	} {
		for _, proof := range []string{token, "another's"} {
			t.Run(typ+" "+proof, func(t *testing.T) {
				e, cloud := newEngine(t)
				secrets, queues, topics := secretsmanager.NewFromConfig(cloud.Config()), sqs.NewFromConfig(cloud.Config()), sns.NewFromConfig(cloud.Config())
				key := aws.String(provider.OwnerTagKey)
				_, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("mine"), Tags: map[string]string{*key: proof}})
				_, err2 := topics.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("mine-us-east-1"), Tags: []snstypes.Tag{{Key: key, Value: &proof}}})
				_, err3 := secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: aws.String("Shop-X"), SecretString: aws.String("s"), Tags: []smtypes.Tag{{Key: key, Value: &proof}}})
				if err := errors.Join(err, err2, err3); err != nil {
					t.Fatal(err)
				}
				cloud.S3.PutObject(bucket, shopKey+"create-tokens.json", fmt.Appendf(nil,
					`{"ledgerVersion": 1, "nonce": "n", "sent": {"X": {"base": "create:%s", "token": "%s", "firstSentAt": %d}}}`, typ, token, time.Now().UnixMilli()))
				dir := t.TempDir()
				writeApp(t, dir, map[string]string{"Shop": fmt.Sprintf(`"X": {"Type": %q, "Properties": %s}`, typ, declared)})
				run, err := e.Destroy(t.Context(), engine.DestroyOptions{
					Selection:       engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}},
					ResourceTimeout: time.Minute, Concurrency: 10, StackConcurrency: 1,
				})
				if err != nil || run.Outcome != result.Success {
					t.Fatalf("%s %s %v", run.Outcome, run.Stacks[0].Message, err)
				}
				q, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{})
				s, err2 := topics.ListTopics(t.Context(), &sns.ListTopicsInput{})
				m, err3 := secrets.ListSecrets(t.Context(), &secretsmanager.ListSecretsInput{})
				if err := errors.Join(err, err2, err3); err != nil {
					t.Fatal(err)
				}
				left := map[string]int{"AWS::SQS::Queue": len(q.QueueUrls), "AWS::SNS::Topic": len(s.Topics), "AWS::SecretsManager::Secret": len(m.SecretList)}
				if gone := left[typ] == 0; gone != (proof == token) {
					t.Errorf("it is gone: %t", gone)
				}
			})
		}
	}
}

// What has the name of a create that was sent without the tag, and no tag itself,
// proves nothing: a destroy leaves it, and says so (S-213, P-15).
func TestDestroyLeavesWhatNobodyTagged(t *testing.T) {
	e, cloud := newEngine(t)
	queues := sqs.NewFromConfig(cloud.Config())
	if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("mine")}); err != nil {
		t.Fatal(err)
	}
	cloud.S3.PutObject(bucket, shopKey+"create-tokens.json", fmt.Appendf(nil,
		`{"ledgerVersion": 1, "nonce": "n", "sent": {"X": {"base": "create:AWS::SQS::Queue", "token": "F123456789abcdef0123456789abcdef", "firstSentAt": %d}}}`, time.Now().UnixMilli()))
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"X": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "mine"}}`})
	run, err := e.Destroy(t.Context(), engine.DestroyOptions{
		Selection:       engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}},
		ResourceTimeout: time.Minute, Concurrency: 10, StackConcurrency: 1,
	})
	if err != nil || run.Outcome != result.Partial || len(run.Stacks[0].Unaddressed) != 1 || !strings.Contains(run.Stacks[0].Unaddressed[0].Reason, "QueueName mine") {
		t.Errorf("%s %+v %v", run.Outcome, run.Stacks[0].Unaddressed, err)
	}
	if q, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{}); err != nil || len(q.QueueUrls) != 1 {
		t.Errorf("%v: queues left: %v", err, q)
	}
}

// What nobody can tell of keeps a destroyed stack's record and its ledger until
// a person had it forgotten; what is part of another resource does not (P-17,
// P-28).
func TestDestroyForgetsNothing(t *testing.T) {
	for typ, kept := range map[string]bool{
		"AWS::IAM::Group":         true,
		"AWS::Lambda::Permission": false,
	} {
		t.Run(typ, func(t *testing.T) {
			e, cloud := newEngine(t)
			cloud.S3.PutObject(bucket, shopKey+"create-tokens.json", fmt.Appendf(nil,
				`{"ledgerVersion": 1, "nonce": "n", "sent": {"X": {"base": "create:%s", "token": "0123456789abcdef0123456789abcdef", "firstSentAt": %d}}}`, typ, time.Now().UnixMilli()))
			dir := t.TempDir()
			writeApp(t, dir, map[string]string{"Shop": `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x"}}`})
			destroy := func() *result.Stack {
				run, err := e.Destroy(t.Context(), engine.DestroyOptions{
					Selection:       engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}},
					ResourceTimeout: time.Minute, Concurrency: 10, StackConcurrency: 1,
				})
				if err != nil {
					t.Fatal(err)
				}
				return run.Stacks[0]
			}
			there := func() bool {
				_, record := cloud.S3.Object(bucket, shopKey+"state.json")
				ledger, ok := cloud.S3.Object(bucket, shopKey+"create-tokens.json")
				return record && ok && strings.Contains(string(ledger.Body), typ)
			}
			s := destroy()
			if there() != kept || (s.Outcome == result.Partial) != kept {
				t.Fatalf("kept: %t, outcome %s", there(), s.Outcome)
			}
			if !kept {
				return
			}
			if want := "cdkd-action state orphan Shop --pending X --yes"; !strings.HasSuffix(s.Unaddressed[0].Remedy, want) {
				t.Errorf("remedy %q, want %q", s.Unaddressed[0].Remedy, want)
			}
			if _, err := e.StateOrphan(t.Context(), engine.OrphanOptions{Stacks: []string{"Shop"}, Pending: []string{"X"}}); err != nil {
				t.Fatal(err)
			}
			if s := destroy(); s.Outcome != result.Success || there() {
				t.Errorf("once forgotten: %s, still there: %t", s.Outcome, there())
			}
		})
	}
}

// What a ledger that cannot be read knows of is not forgotten with the stack: its
// resources go, and the ledger stays, under a record that is empty (S-232, S-243).
func TestDestroyKeepsALedgerThatCannotBeRead(t *testing.T) {
	e, cloud := newEngine(t)
	const broken = `{"ledgerVersion": 1, "nonce": "n", "sent": []}`
	cloud.S3.PutObject(bucket, shopKey+"state.json", shop("P"))
	cloud.S3.PutObject(bucket, shopKey+"create-tokens.json", []byte(broken))
	dir := t.TempDir()
	writeApp(t, dir, map[string]string{"Shop": `"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "x"}}`})
	destroy := func() *result.Run {
		t.Helper()
		run, err := e.Destroy(t.Context(), engine.DestroyOptions{
			Selection: engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}, ResourceTimeout: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	run := destroy()
	if left := run.Stacks[0].Unaddressed; run.Outcome != result.Partial || len(left) != 1 || !strings.Contains(left[0].Reason, "create-tokens.json") || left[0].Remedy == "" {
		t.Errorf("%s %+v", run.Outcome, left)
	}
	ledger, _ := cloud.S3.Object(bucket, shopKey+"create-tokens.json")
	record, _ := cloud.S3.Object(bucket, shopKey+"state.json")
	if string(ledger.Body) != broken || !strings.Contains(string(record.Body), `"resources": {}`) {
		t.Errorf("ledger %s\nrecord %s", ledger.Body, record.Body)
	}
	if _, err := s3.NewFromConfig(cloud.Config()).DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String(shopKey + "create-tokens.json")}); err != nil {
		t.Fatal(err)
	}
	if run := destroy(); run.Outcome != result.Success && run.Outcome != result.NoChange {
		t.Errorf("%s %+v", run.Outcome, run.Stacks[0])
	}
	if _, there := cloud.S3.Object(bucket, shopKey+"state.json"); there {
		t.Error("the record is left")
	}
}

// An open operation of which nothing can be understood is named as that, with a
// command that has it forgotten (P-31).
func TestUnresolvedOfNothing(t *testing.T) {
	e := &engine.UnresolvedError{Stack: "Shop", Because: "its entry cannot be understood: operations[0] is a number"}
	if said := e.Error(); !strings.HasPrefix(said, "an earlier run left something open, about what is not said: its entry") {
		t.Error(said)
	}
	if said := e.Remedy(); !strings.HasSuffix(said, "cdkd-action state orphan Shop --pending all --yes") {
		t.Error(said)
	}
}
