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
	"github.com/org/cdkd-action/internal/sandbox"
)

// What became of a delete without an answer stays open while it cannot be read, and
// its row is kept. An app that has the resource back is warned (P-17, P-22).
func TestDeleteThatCannotBeRead(t *testing.T) {
	queueB60 := strings.Replace(queueB0, `"b"`, `"b", "VisibilityTimeout": 60`, 1)
	for name, tt := range map[string]struct {
		gone   bool
		next   []string
		denied result.Outcome // of a deploy that may not read it
		open   bool           // after that
		want   string
	}{
		"it is deleted, and stays out of the app": {true, []string{queueA}, result.Success, false, "a 30"},
		"it is deleted, and back in the app":      {true, []string{queueA, queueB0}, result.NoChange, true, "a 30, b 30"},
		"it is there, and stays out of the app":   {false, []string{queueA}, result.Success, false, "a 30"},
		"it is there, and the app changes it":     {false, []string{queueA, queueB60}, result.Success, false, "a 30, b 60"},
	} {
		t.Run(name, func(t *testing.T) {
			_, cloud := newEngine(t)
			f := &forsaken{t: t, aws: cloud, dir: t.TempDir()}
			f.deploy(result.Success, queueA, queueB0)
			f.dies("DeleteQueue", 1, sandbox.Fault{Status: 400, Code: "Gone", Message: "killed"}, func() { _, _ = f.try(false, false, queueA) })
			if !tt.gone {
				if _, err := sqs.NewFromConfig(cloud.Config()).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("b")}); err != nil {
					t.Fatal(err)
				}
			}
			denied := cloud.AddFault(sandbox.Fault{Service: "sqs", Action: "GetQueueAttributes", Status: 403, Code: "AccessDenied", Message: "no"})
			st := f.deploy(tt.denied, tt.next...)
			cloud.RemoveFault(denied)
			if !strings.Contains(fmt.Sprint(st.Warnings), "whether it is deleted could not be read") {
				t.Errorf("nothing is said: %v", st.Warnings)
			}
			left, _ := cloud.S3.Object(bucket, shopKey+"pending.json")
			if open := strings.Contains(string(left.Body), `"changeType": "DELETE"`); open != tt.open {
				t.Errorf("open is %s", left.Body)
			}
			if tt.open {
				f.deploy(result.Success, tt.next...)
			}
			f.deploy(result.NoChange, tt.next...)
			if _, there := cloud.S3.Object(bucket, shopKey+"pending.json"); there || f.timeouts() != tt.want {
				t.Errorf("there is %s, want %s; something is open: %t", f.timeouts(), tt.want, there)
			}
		})
	}
}

// A resource whose wait was let go stays open while it may not be read, also where
// the deploy that meets it is rolled back (P-19).
func TestSettlingThatCannotBeRead(t *testing.T) {
	for _, keep := range []bool{true, false} {
		t.Run(fmt.Sprintf("kept %t", keep), func(t *testing.T) {
			s := startSlow(t, only("Table"))
			s.want(s.cancelled("DescribeTable"), result.Cancelled)
			denied := s.AddFault(sandbox.Fault{Service: "dynamodb", Action: "DescribeTable", Status: 403, Code: "AccessDeniedException", Message: "no"})
			for range 2 {
				run, err := s.run().e.Deploy(t.Context(), engine.DeployOptions{
					Selection: engine.Selection{Assembly: s.dir, Selection: assembly.Selection{All: true}}, ResourceTimeout: time.Hour, NoRollback: keep,
				})
				if err != nil {
					t.Fatal(err)
				}
				s.want(run.Stacks[0], result.Failed)
				if body := s.object(slowPending); !strings.Contains(body, `"stage": "settling"`) || !strings.Contains(s.object(slowKey+"state.json"), "AWS::DynamoDB::Table") {
					t.Errorf("open is %s\n%s", body, s.log.String())
				}
			}
			s.RemoveFault(denied)
			s.finish()
			st := s.run().deploy()
			if st.Outcome != result.NoChange && st.Outcome != result.Success {
				t.Errorf("%s %v", st.Outcome, st.Failures)
			}
			s.wantOnce("CreateTable")
			s.wantSettled()
		})
	}
}
