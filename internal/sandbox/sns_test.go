package sandbox_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/org/cdkd-action/internal/sandbox"
)

// A custom resource whose service token is a topic gets its answer too, also
// when a function is subscribed that moto cannot run.
func TestCustomResourceByTopic(t *testing.T) {
	upstreams(t, func(t *testing.T, s *sandbox.Sandbox) {
		event, err := json.Marshal(request(t, s))
		if err != nil {
			t.Fatal(err)
		}
		topics := sns.NewFromConfig(once(s))
		topic, err := topics.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("answers"), Tags: []snstypes.Tag{{Key: aws.String("a"), Value: aws.String("one")}}})
		if err != nil {
			t.Fatal(err)
		}
		// Kumo's own answer to this lacks a result.
		_, err = topics.TagResource(t.Context(), &sns.TagResourceInput{ResourceArn: topic.TopicArn, Tags: []snstypes.Tag{{Key: aws.String("b"), Value: aws.String("two")}}})
		if err != nil {
			t.Error(err)
		}
		_, err = topics.Publish(t.Context(), &sns.PublishInput{TopicArn: topic.TopicArn, Message: aws.String(string(event))})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.Action == "PutObject" && r.State == sandbox.Done })
		if err != nil {
			t.Fatal(err)
		}
		if got := response(t, s)["Status"]; got != "SUCCESS" {
			t.Errorf("status %v", got)
		}
	})
}
