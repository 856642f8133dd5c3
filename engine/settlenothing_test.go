package engine_test

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// age makes what is written down as open as old as if it had been so long ago.
func (s *slow) age(d time.Duration) {
	s.t.Helper()
	times := regexp.MustCompile(`"(startedAt|writtenAt|sealedAt|firstSentAt|abandonedAt)": \d+`)
	for _, key := range []string{slowPending, slowKey + "create-tokens.json"} {
		body := times.ReplaceAllStringFunc(s.object(key), func(m string) string {
			name, text, _ := strings.Cut(m, ": ")
			ms, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return name + ": " + strconv.FormatInt(ms-d.Milliseconds(), 10)
		})
		s.S3.PutObject(bucket, key, []byte(body))
	}
}

// seen keeps the last request of an action.
func (s *slow) seen(action string, body *string) func(*http.Request) *http.Response {
	return func(r *http.Request) *http.Response {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), action) {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				s.t.Error(err)
			}
			*body = string(text)
			r.Body = io.NopCloser(strings.NewReader(*body))
		}
		return nil
	}
}

// That a create made nothing is concluded only two minutes after the end of the run
// that sent it: until then it may still arrive. The next is sent with the same token
// all the same (P-16).
func TestCreateThatNeverArrived(t *testing.T) {
	s := startSlow(t, only("Table"))
	s.tableReady.Store(true)
	fault := s.AddFault(sandbox.Fault{Action: "CreateTable", Hold: true, Drop: true})
	s.want(s.cancelled("CreateTable"), result.Cancelled)
	s.RemoveFault(fault)
	tag := regexp.MustCompile(`"clientToken": "(\w+)"`).FindStringSubmatch(s.object(slowPending))[1]

	waits := make(chan struct{})
	s.hear = func(ev engine.Event) {
		if ev.LogicalID == "Table" && strings.Contains(ev.Text, "as it may still arrive, it is looked for again at ") {
			close(waits)
		}
	}
	r := s.run()
	done := make(chan *result.Stack, 1)
	go func() { done <- r.deploy() }()
	<-waits
	r.signals <- syscall.SIGINT
	s.want(<-done, result.Cancelled)
	s.hear = nil
	s.wantOnce("CreateTable")
	if body := s.object(slowPending); !strings.Contains(body, `"stage": "sent"`) || !strings.Contains(body, tag) {
		t.Fatalf("it is forgotten:\n%s", body)
	}

	s.age(3 * time.Minute)
	var sent string
	s.instead = s.seen(".CreateTable", &sent)
	s.want(s.run().deploy(), result.Success)
	if !strings.Contains(sent, tag) {
		t.Errorf("the next create does not give the tag %s: %s", tag, sent)
	}
	s.wantSettled()
}

// A delete without an answer has had its effect when somebody made another of the
// same name since: that is not this stack's to delete (P-22).
func TestAnotherMadeAfterADelete(t *testing.T) {
	s := startSlow(t, `{"Resources": {"Queue": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "mine"}}, "Name": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "one"}}}}`)
	s.want(s.run().deploy(), result.Success)
	s.ClearLog()
	s.write("Slow.template.json", `{"Resources": {"Name": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": "one"}}}}`)
	fault := s.AddFault(sandbox.Fault{Action: "DeleteQueue", Hold: true, After: true})
	s.want(s.cancelled("DeleteQueue"), result.Cancelled)
	s.RemoveFault(fault)
	queues := sqs.NewFromConfig(s.Config())
	if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("mine")}); err != nil {
		t.Fatal(err)
	}
	s.age(3 * time.Minute)
	s.want(s.run().deploy(), result.NoChange)
	s.wantOnce("DeleteQueue")
	s.wantSettled()
	if strings.Contains(s.object(slowKey+"state.json"), "AWS::SQS::Queue") {
		t.Error("the record still names it")
	}
	if list, err := queues.ListQueues(t.Context(), &sqs.ListQueuesInput{}); err != nil || len(list.QueueUrls) != 1 {
		t.Errorf("%v: there is %v", err, list.QueueUrls)
	}
}
