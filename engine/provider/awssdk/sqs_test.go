package awssdk

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

// attributesSeen reads some attributes of a queue, and its tags under "tag:".
func attributesSeen(c *sqs.Client, names ...string) func(context.Context, string) (any, error) {
	return func(ctx context.Context, url string) (any, error) {
		out, err := c.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}})
		if err != nil {
			return nil, err
		}
		seen := map[string]string{}
		for _, n := range names {
			if v, ok := out.Attributes[n]; ok {
				seen[n] = v
			}
		}
		tags, err := c.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &url})
		if err != nil {
			return nil, err
		}
		for k, v := range tags.Tags {
			seen["tag:"+k] = v
		}
		return seen, nil
	}
}

func TestQueue(t *testing.T) {
	s := emulated(t)
	c := sqs.NewFromConfig(s.Config)
	const owner = "0123456789abcdef0123456789abcdef"
	seen := attributesSeen(c, "DelaySeconds", "VisibilityTimeout", "RedrivePolicy", "MessageRetentionPeriod")
	life{
		typ: "AWS::SQS::Queue", physical: "Shop-Orders", id: moto.URL + "/123456789012/Shop-Orders",
		attributes: map[string]string{
			"Arn": "arn:aws:sqs:eu-west-1:123456789012:Shop-Orders", "QueueName": "Shop-Orders",
			"QueueUrl": moto.URL + "/123456789012/Shop-Orders",
		},
		steps: []step{
			{"create", `{"DelaySeconds": "5", "VisibilityTimeout": 60, "Tags": [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}],
				"MessageRetentionPeriod": 60}`, seen,
				map[string]string{"DelaySeconds": "5", "VisibilityTimeout": "60", "MessageRetentionPeriod": "60",
					"tag:a": "1", "tag:b": "2", "tag:cdkd-action:create": owner}},
			{"change", `{"DelaySeconds": 6, "VisibilityTimeout": 60, "Tags": [{"Key": "a", "Value": "3"}], "MessageRetentionPeriod": 60}`, seen,
				map[string]string{"DelaySeconds": "6", "VisibilityTimeout": "60", "MessageRetentionPeriod": "60",
					"tag:a": "3", "tag:cdkd-action:create": owner}},
			{"removed attributes go back to their defaults", `{}`, seen,
				map[string]string{"DelaySeconds": "0", "VisibilityTimeout": "30", "MessageRetentionPeriod": "345600",
					"tag:cdkd-action:create": owner}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &id})
			return err
		},
		noRead: true, // "5" is read back as 5; TestReadQueue compares
	}.run(t, s)
}

func TestReadQueue(t *testing.T) {
	s := emulated(t)
	life{
		typ: "AWS::SQS::Queue", physical: "Shop-Jobs.fifo",
		steps: []step{{name: "create", props: `{"QueueName": "Shop-Jobs.fifo", "FifoQueue": true, "ContentBasedDeduplication": true,
			"DelaySeconds": 3, "Tags": [{"Key": "a", "Value": "1"}]}`}},
	}.run(t, s)
}

// Who holds a name, since when, and by whose create (S-200, S-213).
func TestLookupQueue(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::SQS::Queue"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "Q", Type: "AWS::SQS::Queue", Name: "Shop-Held"}
	if h, err := d.Lookup(t.Context(), r); h != nil || err != nil {
		t.Fatalf("a free name is held: %+v, %v", h, err)
	}
	out, err := sqs.NewFromConfig(s.Config).CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: &r.Name, Tags: map[string]string{"x": "y"},
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := d.Lookup(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if h == nil || h.PhysicalID != *out.QueueUrl || h.Created.IsZero() || h.Tags["x"] != "y" {
		t.Errorf("holder is %+v, want %s with its time and tags", h, *out.QueueUrl)
	}
}

func TestQueueEncryption(t *testing.T) {
	for name, test := range map[string]struct {
		old, new string
		want     map[string]string
	}{
		"a key takes the place of the default encryption": {
			`{"SqsManagedSseEnabled": true}`, `{"KmsMasterKeyId": "alias/aws/sqs"}`, map[string]string{"KmsMasterKeyId": "alias/aws/sqs"}},
		"without a key the default encryption comes back": {
			`{"KmsMasterKeyId": "alias/aws/sqs", "SqsManagedSseEnabled": false}`, `{}`, map[string]string{"KmsMasterKeyId": "", "SqsManagedSseEnabled": "true"}},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := setQueueInput.Input(&provider.Request{PhysicalID: "u", Previous: object(t, test.old), Properties: object(t, test.new)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, in.Attributes); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQueuePolicy(t *testing.T) {
	s := emulated(t)
	c := sqs.NewFromConfig(s.Config)
	url := func(name string) string {
		out, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
		if err != nil {
			t.Fatal(err)
		}
		return *out.QueueUrl
	}
	a, b := url("Shop-PolicyA"), url("Shop-PolicyB")
	policies := func(ctx context.Context, _ string) (any, error) {
		var has []bool
		for _, u := range []string{a, b} {
			out, err := c.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &u, AttributeNames: []types.QueueAttributeName{"All"}})
			if err != nil {
				return nil, err
			}
			has = append(has, out.Attributes["Policy"] != "")
		}
		return has, nil
	}
	document := `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}]}`
	life{
		typ: "AWS::SQS::QueuePolicy", id: a,
		steps: []step{
			{"create", `{"Queues": ["` + a + `", "` + b + `"], "PolicyDocument": ` + document + `}`, policies, []bool{true, true}},
			{"a queue that is not named any more loses its policy", `{"Queues": ["` + a + `"], "PolicyDocument": ` + document + `}`, policies, []bool{true, false}},
		},
		gone: func(ctx context.Context, _ string) error {
			has, err := policies(ctx, "")
			if err == nil && cmp.Equal(has, []bool{false, false}) {
				err = provider.ErrNotFound
			}
			return err
		},
	}.run(t, s)
}

// What an earlier deploy kept is used again, whatever its settings were (T-846).
func TestKeptQueueIsTakenBack(t *testing.T) {
	s := emulated(t)
	c := sqs.NewFromConfig(s.Config)
	d := provider.Drive(describe(t, "AWS::SQS::Queue"), nil)
	create := func(name, props string) (provider.Created, error) {
		return d.Create(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "Q", Type: "AWS::SQS::Queue", Name: name,
			OwnerTag: "of this create", Properties: object(t, props)})
	}
	kept, err := create("Shop-Kept", `{"DelaySeconds": 1}`)
	if err != nil {
		t.Fatal(err)
	}
	back, err := create("Shop-Kept", `{"DelaySeconds": 2, "Tags": [{"Key": "a", "Value": "1"}]}`)
	if err != nil || back.PhysicalID != kept.PhysicalID {
		t.Fatalf("%+v, %v, want %s", back, err, kept.PhysicalID)
	}
	got, err := attributesSeen(c, "DelaySeconds")(t.Context(), back.PhysicalID)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"DelaySeconds": "2", "tag:a": "1", "tag:cdkd-action:create": "of this create"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in AWS (-want +got):\n%s", diff)
	}

	foreign := "Shop-Foreign"
	if _, err := c.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &foreign, Attributes: map[string]string{"DelaySeconds": "9"}}); err != nil {
		t.Fatal(err)
	}
	if made, err := create(foreign, `{"DelaySeconds": 2}`); err == nil {
		t.Errorf("somebody else's queue was taken: %+v", made)
	}
}
