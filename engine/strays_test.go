package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
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
