package awssdk

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func snsClient(s *provider.Session) *sns.Client { return provider.Client(s, sns.NewFromConfig) }

func snsResources() []provider.Resource {
	return []provider.Resource{topic(), subscription(), topicPolicy()}
}

var snsGone = []string{"NotFound", "NotFoundException"}

var (
	createTopicInput = provider.Bind[sns.CreateTopicInput](
		provider.Rename{"TopicName": "Name"},
		provider.Bag("Attributes", "ArchivePolicy", "ContentBasedDeduplication", "DisplayName", "FifoThroughputScope",
			"FifoTopic", "KmsMasterKeyId", "SignatureVersion", "TracingConfig"),
		provider.JSON("DataProtectionPolicy"),
		provider.Finish(func(r *provider.Request, in *sns.CreateTopicInput) error {
			if in.Attributes["FifoTopic"] == "false" {
				delete(in.Attributes, "FifoTopic") // refused on a standard topic
			}
			return nil
		}))

	// topicDefaults are the changeable attributes, with what they are set to when
	// they leave the template.
	topicDefaults = []attribute{
		{"ArchivePolicy", "{}"}, {"ContentBasedDeduplication", "false"}, {"DisplayName", ""}, {"FifoThroughputScope", "Topic"},
		{"KmsMasterKeyId", ""}, {"SignatureVersion", "1"}, {"TracingConfig", "PassThrough"},
	}
)

// An attribute is a property that is set by a call of its own.
type attribute struct{ property, reset string }

// topic: CreateTopic hands back a topic that has the name and the same
// attributes; there is one call for each attribute afterwards.
func topic() provider.Resource {
	return provider.Resource{
		Type:   "AWS::SNS::Topic",
		Name:   "TopicName",
		Inputs: []provider.Input{createTopicInput},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: tagTopic,
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := snsClient(r.Session).UntagResource(ctx, &sns.UntagResourceInput{ResourceArn: &r.PhysicalID, TagKeys: keys})
				return err
			},
		},
		Satellites: []provider.Satellite{
			{Properties: []string{"DeliveryStatusLogging"}, Put: putDeliveryStatusLogging},
			{Properties: []string{"Subscription"}, Put: putInlineSubscriptions},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, snsClient, (*sns.Client).CreateTopic, createTopicInput)
			if provider.HasCode(err, "InvalidParameter", "InvalidParameterException") {
				return takeTopicBack(ctx, r, err)
			}
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.TopicArn}, nil
		},
		Update: updateTopic,
		Delete: func(ctx context.Context, r *provider.Request) error {
			if r.Properties.Has("ArchivePolicy") { // a topic that archives is not deleted
				if err := setTopicAttribute(ctx, r, "ArchivePolicy", "{}"); err != nil {
					return err
				}
			}
			_, err := snsClient(r.Session).DeleteTopic(ctx, &sns.DeleteTopicInput{TopicArn: &r.PhysicalID})
			return err
		},
		Gone:   snsGone,
		Lookup: lookupTopic,
		Known: func(r *provider.Request) *value.Object {
			id := r.PhysicalID
			if id == "" {
				id = arn(r, "sns", r.Name)
			}
			return value.NewObject("TopicArn", id, "TopicName", lastSegment(id, ":"))
		},
	}
}

func tagTopic(ctx context.Context, r *provider.Request, tags map[string]string) error {
	in := &sns.TagResourceInput{ResourceArn: &r.PhysicalID}
	for k, v := range tags {
		in.Tags = append(in.Tags, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	_, err := snsClient(r.Session).TagResource(ctx, in)
	return err
}

func lookupTopic(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
	id := arn(r, "sns", r.Name)
	_, err := snsClient(r.Session).GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &id})
	if provider.HasCode(err, snsGone...) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	h := &provider.Holder{PhysicalID: id}
	out, err := snsClient(r.Session).ListTagsForResource(ctx, &sns.ListTagsForResourceInput{ResourceArn: &id})
	if err != nil {
		return withTags(h, nil, err)
	}
	return withTags(h, tagMap(out.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value }), nil)
}

// takeTopicBack brings a topic that was kept to the attributes wanted now. SNS
// refuses to hand one out that has other attributes or tags than asked for,
// and the tag of the create that made it is another one than this create's.
func takeTopicBack(ctx context.Context, r *provider.Request, refusal error) (provider.Created, error) {
	named := *r
	named.Name = text(r.Properties, "TopicName")
	h, err := lookupTopic(ctx, &named)
	if err != nil || h == nil {
		return provider.Created{}, refusal
	}
	if !mayTake(r, h) {
		return provider.Created{}, taken(refusal)
	}
	if !takenBack(r, h) {
		// One that was made without such a tag is handed out to who asks without.
		in, err := createTopicInput.Input(r)
		if err != nil {
			return provider.Created{}, err
		}
		in.Tags = slices.DeleteFunc(in.Tags, func(t types.Tag) bool { return aws.ToString(t.Key) == provider.OwnerTagKey })
		out, err := snsClient(r.Session).CreateTopic(ctx, in)
		if err != nil {
			return provider.Created{}, refusal
		}
		return provider.Created{PhysicalID: *out.TopicArn}, nil
	}
	kept := asExisting(r, h.PhysicalID)
	if _, err := updateTopic(ctx, kept, provider.Compare(kept.Previous, kept.Properties)); err != nil {
		return provider.Created{}, err
	}
	if tags := tagsOfFound(r); len(tags) > 0 {
		if err := tagTopic(ctx, kept, tags); err != nil {
			return provider.Created{}, err
		}
	}
	return provider.Created{PhysicalID: h.PhysicalID}, nil
}

func setTopicAttribute(ctx context.Context, r *provider.Request, name, v string) error {
	_, err := snsClient(r.Session).SetTopicAttributes(ctx, &sns.SetTopicAttributesInput{
		TopicArn: &r.PhysicalID, AttributeName: &name, AttributeValue: &v,
	})
	if err != nil {
		return fmt.Errorf("set topic attribute %s: %w", name, err)
	}
	return nil
}

func updateTopic(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	err := forEach(ctx, topicDefaults, func(ctx context.Context, a attribute) error {
		if !d.Changed(a.property) {
			return nil
		}
		v := document(r.Properties, a.property)
		if d.Removed(a.property) {
			v = a.reset
		}
		return setTopicAttribute(ctx, r, a.property, v)
	})
	if err == nil && d.Changed("DataProtectionPolicy") {
		policy := document(r.Properties, "DataProtectionPolicy") // "" takes it away
		_, err = snsClient(r.Session).PutDataProtectionPolicy(ctx, &sns.PutDataProtectionPolicyInput{
			ResourceArn: &r.PhysicalID, DataProtectionPolicy: &policy,
		})
	}
	return provider.Updated{}, err
}

// Attributes that log deliveries begin with the protocol's name, in spellings
// that the property does not share.
var loggedProtocols = map[string]string{
	"application": "Application", "firehose": "Firehose", "http/s": "HTTP", "http": "HTTP", "https": "HTTP",
	"lambda": "Lambda", "sqs": "SQS",
}

var loggingMembers = []attribute{{"SuccessFeedbackRoleArn", ""}, {"SuccessFeedbackSampleRate", "0"}, {"FailureFeedbackRoleArn", ""}}

// loggingOf returns the attributes that a topic's properties ask for.
func loggingOf(props *value.Object) (map[string]string, error) {
	attributes := map[string]string{}
	for _, v := range props.List("DeliveryStatusLogging") {
		o, _ := v.(*value.Object)
		protocol, ok := loggedProtocols[strings.ToLower(text(o, "Protocol"))]
		if !ok {
			return nil, fmt.Errorf("unknown protocol %q: use http/s, sqs, lambda, firehose or application", text(o, "Protocol"))
		}
		for _, m := range loggingMembers {
			if o.Has(m.property) {
				attributes[protocol+m.property] = text(o, m.property)
			}
		}
	}
	return attributes, nil
}

// loggingChanges returns the attributes to set to come from one set of
// properties to another.
func loggingChanges(previous, props *value.Object) (map[string]string, error) {
	want, err := loggingOf(props)
	if err != nil {
		return nil, err
	}
	had, err := loggingOf(previous)
	if err != nil {
		return want, nil // what is recorded never came to be
	}
	for name, v := range had {
		for _, m := range loggingMembers {
			if _, still := want[name]; !still && strings.HasSuffix(name, m.property) {
				want[name] = m.reset
			}
		}
		if want[name] == v {
			delete(want, name)
		}
	}
	return want, nil
}

func putDeliveryStatusLogging(ctx context.Context, r *provider.Request) error {
	changes, err := loggingChanges(r.Previous, r.Properties)
	if err != nil {
		return err
	}
	// One after the other: SNS changes one attribute of a topic at a time.
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if err := setTopicAttribute(ctx, r, name, changes[name]); err != nil {
			return err
		}
	}
	return nil
}

type endpoint struct{ protocol, address string }

func inlineSubscriptions(props *value.Object) []endpoint {
	var out []endpoint
	for _, v := range props.List("Subscription") {
		if o, ok := v.(*value.Object); ok {
			out = append(out, endpoint{text(o, "Protocol"), text(o, "Endpoint")})
		}
	}
	return out
}

// putInlineSubscriptions subscribes what is new, which is harmless to repeat,
// and unsubscribes what this topic's template named before and does not now.
func putInlineSubscriptions(ctx context.Context, r *provider.Request) error {
	client := snsClient(r.Session)
	want, had := inlineSubscriptions(r.Properties), inlineSubscriptions(r.Previous)
	err := forEach(ctx, want, func(ctx context.Context, e endpoint) error {
		if slices.Contains(had, e) {
			return nil
		}
		_, err := client.Subscribe(ctx, &sns.SubscribeInput{TopicArn: &r.PhysicalID, Protocol: &e.protocol, Endpoint: &e.address})
		return err
	})
	removed := slices.DeleteFunc(had, func(e endpoint) bool { return slices.Contains(want, e) })
	if err != nil || len(removed) == 0 {
		return err
	}
	pages := sns.NewListSubscriptionsByTopicPaginator(client, &sns.ListSubscriptionsByTopicInput{TopicArn: &r.PhysicalID})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, s := range page.Subscriptions {
			e := endpoint{aws.ToString(s.Protocol), aws.ToString(s.Endpoint)}
			if !slices.Contains(removed, e) || !isARN(aws.ToString(s.SubscriptionArn)) {
				continue // an unconfirmed one has no ARN yet, and lapses
			}
			if _, err := client.Unsubscribe(ctx, &sns.UnsubscribeInput{SubscriptionArn: s.SubscriptionArn}); err != nil {
				return err
			}
		}
	}
	return nil
}
