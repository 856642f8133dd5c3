package awssdk

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func TestTopic(t *testing.T) {
	s := emulated(t)
	c := sns.NewFromConfig(s.Config)
	const id = "arn:aws:sns:eu-west-1:123456789012:Shop-News"
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &id})
		if err != nil {
			return nil, err
		}
		got := map[string]string{}
		for _, k := range []string{"DisplayName", "KmsMasterKeyId"} {
			if v := out.Attributes[k]; v != "" {
				got[k] = v
			}
		}
		tags, err := c.ListTagsForResource(ctx, &sns.ListTagsForResourceInput{ResourceArn: &id})
		if err != nil {
			return nil, err
		}
		for _, tag := range tags.Tags {
			got["tag:"+*tag.Key] = *tag.Value
		}
		subs, err := c.ListSubscriptionsByTopic(ctx, &sns.ListSubscriptionsByTopicInput{TopicArn: &id})
		if err != nil {
			return nil, err
		}
		for _, sub := range subs.Subscriptions {
			got["sub:"+*sub.Protocol] = *sub.Endpoint
		}
		return got, nil
	}
	const owner = "0123456789abcdef0123456789abcdef"
	life{
		typ: "AWS::SNS::Topic", physical: "Shop-News", id: id,
		attributes: map[string]string{"TopicArn": id, "TopicName": "Shop-News"},
		steps: []step{
			{"create", `{"DisplayName": "News", "KmsMasterKeyId": "alias/aws/sns", "Tags": [{"Key": "a", "Value": "1"}],
				"DeliveryStatusLogging": [{"Protocol": "lambda", "SuccessFeedbackRoleArn": "arn:aws:iam::123456789012:role/log"}],
				"Subscription": [{"Protocol": "email", "Endpoint": "x@example.com"}, {"Protocol": "https", "Endpoint": "https://example.com/a"}]}`, seen,
				map[string]string{"DisplayName": "News", "KmsMasterKeyId": "alias/aws/sns", "tag:a": "1", "tag:cdkd-action:create": owner, "sub:email": "x@example.com", "sub:https": "https://example.com/a"}},
			{"change", `{"DisplayName": "Old news", "KmsMasterKeyId": "alias/aws/sns", "Tags": [{"Key": "b", "Value": "2"}],
				"Subscription": [{"Protocol": "email", "Endpoint": "x@example.com"}]}`, seen,
				map[string]string{"DisplayName": "Old news", "KmsMasterKeyId": "alias/aws/sns", "tag:b": "2", "tag:cdkd-action:create": owner, "sub:email": "x@example.com"}},
			{"remove", `{}`, seen, map[string]string{"tag:cdkd-action:create": owner}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &id})
			return err
		},
		noRead: true,
	}.run(t, s)
}

// The emulator does not give these attributes back.
func TestDeliveryStatusLogging(t *testing.T) {
	logs := func(protocol string) string {
		return `{"DeliveryStatusLogging": [{"Protocol": "` + protocol + `", "SuccessFeedbackRoleArn": "role", "SuccessFeedbackSampleRate": "10"}]}`
	}
	for name, test := range map[string]struct {
		old, new string
		want     map[string]string
	}{
		"created":   {`{}`, logs("http/s"), map[string]string{"HTTPSuccessFeedbackRoleArn": "role", "HTTPSuccessFeedbackSampleRate": "10"}},
		"unchanged": {logs("sqs"), logs("SQS"), map[string]string{}},
		"moved to another protocol": {logs("sqs"), logs("lambda"), map[string]string{
			"SQSSuccessFeedbackRoleArn": "", "SQSSuccessFeedbackSampleRate": "0",
			"LambdaSuccessFeedbackRoleArn": "role", "LambdaSuccessFeedbackSampleRate": "10",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := loggingChanges(object(t, test.old), object(t, test.new))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := loggingChanges(nil, object(t, logs("pigeon"))); err == nil {
		t.Error("an unknown protocol is accepted")
	}
}

// Who holds a name (S-200).
func TestLookupTopic(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::SNS::Topic"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "T", Type: "AWS::SNS::Topic", Name: "Shop-HeldTopic"}
	if h, err := d.Lookup(t.Context(), r); h != nil || err != nil {
		t.Fatalf("a free name is held: %+v, %v", h, err)
	}
	out, err := sns.NewFromConfig(s.Config).CreateTopic(t.Context(), &sns.CreateTopicInput{Name: &r.Name})
	if err != nil {
		t.Fatal(err)
	}
	if h, err := d.Lookup(t.Context(), r); err != nil || h == nil || h.PhysicalID != *out.TopicArn {
		t.Errorf("holder is %+v, %v, want %s", h, err, *out.TopicArn)
	}
}

func TestSubscriptionAndTopicPolicy(t *testing.T) {
	s := emulated(t)
	c := sns.NewFromConfig(s.Config)
	topic, err := c.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("Shop-Subscribed")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqs.NewFromConfig(s.Config).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("Shop-Subscriber")}); err != nil {
		t.Fatal(err)
	}
	to := `"TopicArn": "` + *topic.TopicArn + `", "Protocol": "sqs", "Endpoint": "arn:aws:sqs:eu-west-1:123456789012:Shop-Subscriber"`
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.GetSubscriptionAttributes(ctx, &sns.GetSubscriptionAttributesInput{SubscriptionArn: &id})
		if err != nil {
			return nil, err
		}
		return []string{out.Attributes["RawMessageDelivery"], out.Attributes["FilterPolicy"], out.Attributes["RedrivePolicy"]}, nil
	}
	life{
		typ: "AWS::SNS::Subscription",
		steps: []step{
			{"create", `{` + to + `, "RawMessageDelivery": true, "FilterPolicy": {"kind": ["a"]}, "RedrivePolicy": {"deadLetterTargetArn": "arn:aws:sqs:eu-west-1:123456789012:Shop-Subscriber"}}`,
				seen, []string{"true", `{"kind":["a"]}`, `{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:123456789012:Shop-Subscriber"}`}},
			{"change", `{` + to + `, "FilterPolicy": {"kind": ["b"]}}`, seen, []string{"false", `{"kind":["b"]}`, ""}},
			{"remove", `{` + to + `}`, seen, []string{"false", "{}", ""}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetSubscriptionAttributes(ctx, &sns.GetSubscriptionAttributesInput{SubscriptionArn: &id})
			return err
		},
	}.run(t, s)

	sids := func(ctx context.Context, _ string) (any, error) {
		out, err := c.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: topic.TopicArn})
		if err != nil {
			return nil, err
		}
		p, err := value.ParseObject([]byte(out.Attributes["Policy"]))
		if err != nil {
			return nil, err
		}
		var all []string
		for _, st := range p.List("Statement") {
			all = append(all, st.(*value.Object).String("Sid"))
		}
		return all, nil
	}
	policy := func(sid string) string {
		return `{"Topics": ["` + *topic.TopicArn + `"], "PolicyDocument": {"Version": "2012-10-17", "Statement": [{"Sid": "` + sid + `",
			"Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"}, "Action": "sns:Publish", "Resource": "` + *topic.TopicArn + `"}]}}`
	}
	life{
		typ: "AWS::SNS::TopicPolicy", id: *topic.TopicArn,
		steps: []step{
			{"create", policy("one"), sids, []string{"one"}},
			{"change", policy("two"), sids, []string{"two"}},
		},
	}.run(t, s)
	if got, err := sids(t.Context(), ""); err != nil || len(got.([]string)) != 1 || got.([]string)[0] != "__default_statement_ID" {
		t.Errorf("after its policy was deleted the topic has %v, %v, want the default policy", got, err)
	}
}

// What an earlier deploy kept is used again (T-846). The emulator hands a topic
// out whatever its tags are, so the refusal is SNS's, made here.
func TestKeptTopicIsTakenBack(t *testing.T) {
	s := emulated(t)
	c := sns.NewFromConfig(s.Config)
	refusal := &smithy.GenericAPIError{Code: "InvalidParameter", Message: "Topic already exists with different tags"}
	take := func(name string) (provider.Created, error) {
		return takeTopicBack(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "T", Type: "AWS::SNS::Topic", Held: true,
			Properties: object(t, `{"TopicName": "`+name+`", "DisplayName": "new", "Tags": [{"Key": "a", "Value": "1"}]}`)}, refusal)
	}
	tags := []types.Tag{{Key: aws.String(provider.OwnerTagKey), Value: aws.String("of an earlier create")}}
	if _, err := c.CreateTopic(t.Context(), &sns.CreateTopicInput{Name: aws.String("Shop-KeptTopic"), Tags: tags}); err != nil {
		t.Fatal(err)
	}
	made, err := take("Shop-KeptTopic")
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.GetTopicAttributes(t.Context(), &sns.GetTopicAttributesInput{TopicArn: &made.PhysicalID})
	if err != nil || out.Attributes["DisplayName"] != "new" {
		t.Errorf("the topic taken back has %v, %v", out, err)
	}
	if made, err := take("Shop-NoTopic"); err != refusal {
		t.Errorf("a topic that is not there: %+v, %v, want the refusal", made, err)
	}
}
