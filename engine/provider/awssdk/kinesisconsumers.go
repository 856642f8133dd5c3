package awssdk

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

var registerConsumerInput = provider.Bind[kinesis.RegisterStreamConsumerInput]()

// A consumer is known by its ARN; its name is unique on its stream.
func streamConsumer() provider.Resource {
	describe := func(ctx context.Context, r *provider.Request, in *kinesis.DescribeStreamConsumerInput) (*types.ConsumerDescription, error) {
		out, err := kinesisClient(r.Session).DescribeStreamConsumer(ctx, in)
		if err != nil {
			return nil, err
		}
		return out.ConsumerDescription, nil
	}
	status := func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		c, err := describe(ctx, r, &kinesis.DescribeStreamConsumerInput{ConsumerARN: &r.PhysicalID})
		if err != nil {
			return "", "", err
		}
		return string(c.ConsumerStatus), "", nil
	}
	return provider.Resource{
		Type:   "AWS::Kinesis::StreamConsumer",
		Inputs: []provider.Input{registerConsumerInput},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := kinesisClient(r.Session).TagResource(ctx, &kinesis.TagResourceInput{ResourceARN: &r.PhysicalID, Tags: tags})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := kinesisClient(r.Session).UntagResource(ctx, &kinesis.UntagResourceInput{ResourceARN: &r.PhysicalID, TagKeys: keys})
				return err
			},
		},
		Create: createBy(kinesisOnce, (*kinesis.Client).RegisterStreamConsumer, registerConsumerInput, func(o *kinesis.RegisterStreamConsumerOutput) *string { return o.Consumer.ConsumerARN }),
		Delete: provider.Call(kinesisClient, (*kinesis.Client).DeregisterStreamConsumer, byID[kinesis.DeregisterStreamConsumerInput]("ConsumerARN")),
		Gone:   streamGone,
		// What reads the stream through it needs it active.
		Wait:       &provider.Waiter{From: provider.WaitNone, What: "the consumer to be ACTIVE", OK: []string{string(types.ConsumerStatusActive)}, First: 500 * time.Millisecond, Cap: 5 * time.Second, Read: status},
		DeleteWait: &provider.Waiter{What: "the consumer to be gone", First: 500 * time.Millisecond, Cap: 5 * time.Second, Read: status},
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			c, err := describe(ctx, r, &kinesis.DescribeStreamConsumerInput{StreamARN: optional(text(r.Properties, "StreamARN")), ConsumerName: optional(text(r.Properties, "ConsumerName"))})
			if err != nil {
				return "", unlessGone(err, streamGone)
			}
			return aws.ToString(c.ConsumerARN), nil
		},
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			c, err := describe(ctx, r, &kinesis.DescribeStreamConsumerInput{ConsumerARN: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			return value.NewObject("ConsumerARN", aws.ToString(c.ConsumerARN), "ConsumerName", aws.ToString(c.ConsumerName), "ConsumerStatus", string(c.ConsumerStatus),
				"StreamARN", aws.ToString(c.StreamARN), "ConsumerCreationTimestamp", aws.ToTime(c.ConsumerCreationTimestamp).UTC().Format(time.RFC3339)), nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			c, err := describe(ctx, r, &kinesis.DescribeStreamConsumerInput{ConsumerARN: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			props := provider.Unbind(c, shape)
			if !r.Properties.Has("Tags") {
				return props, nil
			}
			out, err := kinesisClient(r.Session).ListTagsForResource(ctx, &kinesis.ListTagsForResourceInput{ResourceARN: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			tags := tagMap(out.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
			props.Set("Tags", tagList(tags))
			return props, nil
		},
	}
}
