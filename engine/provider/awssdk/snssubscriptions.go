package awssdk

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// noValue resets an attribute that takes no empty text, by a call without one.
const noValue = "\x00"

// subscriptionDefaults are in the order in which they must be set: the scope
// decides how a filter policy is read.
var subscriptionDefaults = []attribute{
	{"FilterPolicyScope", "MessageAttributes"}, {"FilterPolicy", "{}"}, {"DeliveryPolicy", ""}, {"RawMessageDelivery", "false"},
	{"RedrivePolicy", noValue}, {"ReplayPolicy", noValue}, {"SubscriptionRoleArn", ""},
}

var subscribeInput = provider.Bind[sns.SubscribeInput](
	provider.Bag("Attributes", "DeliveryPolicy", "FilterPolicy", "FilterPolicyScope", "RawMessageDelivery",
		"RedrivePolicy", "ReplayPolicy", "SubscriptionRoleArn"),
	provider.Finish(func(r *provider.Request, in *sns.SubscribeInput) error {
		in.ReturnSubscriptionArn = true // of an unconfirmed one too
		return nil
	}))

// A subscription may be to a topic in another region, and then lives there.
func subscription() provider.Resource {
	there := func(r *provider.Request) func(*sns.Options) {
		return func(o *sns.Options) {
			if region := text(r.Properties, "Region"); region != "" {
				o.Region = region
			}
		}
	}
	attributesOf := func(ctx context.Context, r *provider.Request) (map[string]string, error) {
		out, err := snsClient(r.Session).GetSubscriptionAttributes(ctx,
			&sns.GetSubscriptionAttributesInput{SubscriptionArn: &r.PhysicalID}, there(r))
		if err != nil {
			return nil, err
		}
		return out.Attributes, nil
	}
	return provider.Resource{
		Type:    "AWS::SNS::Subscription",
		PutOn:   []string{"TopicArn"},
		Leads:   []string{"Endpoint"},
		Inputs:  []provider.Input{subscribeInput},
		Handled: []string{"Region"},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			in, err := subscribeInput.Input(r)
			if err != nil {
				return provider.Created{}, err
			}
			out, err := snsClient(r.Session).Subscribe(ctx, in, there(r))
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.SubscriptionArn}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			for _, a := range subscriptionDefaults {
				if !d.Changed(a.property) {
					continue
				}
				v := aws.String(document(r.Properties, a.property))
				if d.Removed(a.property) {
					if v = &a.reset; a.reset == noValue {
						v = nil
					}
				}
				_, err := snsClient(r.Session).SetSubscriptionAttributes(ctx, &sns.SetSubscriptionAttributesInput{
					SubscriptionArn: &r.PhysicalID, AttributeName: aws.String(a.property), AttributeValue: v,
				}, there(r))
				if err != nil {
					return provider.Updated{}, fmt.Errorf("set subscription attribute %s: %w", a.property, err)
				}
			}
			return provider.Updated{}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			if !isARN(r.PhysicalID) {
				return nil // recorded while unconfirmed: cannot be unsubscribed, and lapses
			}
			_, err := snsClient(r.Session).Unsubscribe(ctx, &sns.UnsubscribeInput{SubscriptionArn: &r.PhysicalID}, there(r))
			if provider.HasCode(err, "InvalidParameter", "InvalidParameterException") {
				if a, readErr := attributesOf(ctx, r); readErr == nil && a["PendingConfirmation"] == "true" {
					return nil
				}
			}
			return err
		},
		Gone: snsGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Arn", r.PhysicalID)
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			attributes, err := attributesOf(ctx, r)
			if provider.HasCode(err, snsGone...) {
				return nil, provider.ErrNotFound
			} else if err != nil {
				return nil, err
			}
			props := value.NewObject("TopicArn", attributes["TopicArn"], "Protocol", attributes["Protocol"])
			if e := attributes["Endpoint"]; e != "" {
				props.Set("Endpoint", e)
			}
			if region := text(r.Properties, "Region"); region != "" {
				props.Set("Region", region)
			}
			for _, a := range subscriptionDefaults {
				switch v := attributes[a.property]; {
				case v == "" || v == "{}":
				case a.property == "RawMessageDelivery":
					props.Set(a.property, v == "true")
				default:
					props.Set(a.property, parsed(v))
				}
			}
			return props, nil
		},
	}
}

// A topic policy is an attribute of the topics it names, and is known by their
// ARNs, joined by commas. It cannot be removed, only set to what a new topic
// has.
func topicPolicy() provider.Resource {
	set := func(ctx context.Context, r *provider.Request, topics []string, policy func(topic string) string) error {
		return forEach(ctx, topics, func(ctx context.Context, topic string) error {
			p := policy(topic)
			_, err := snsClient(r.Session).SetTopicAttributes(ctx, &sns.SetTopicAttributesInput{
				TopicArn: &topic, AttributeName: aws.String("Policy"), AttributeValue: &p,
			})
			return err
		})
	}
	reset := func(ctx context.Context, r *provider.Request, topics []string) error {
		return forEach(ctx, topics, func(ctx context.Context, topic string) error {
			err := set(ctx, r, []string{topic}, func(string) string { return defaultTopicPolicy(topic) })
			if provider.HasCode(err, snsGone...) {
				return nil
			}
			return err
		})
	}
	topics := func(r *provider.Request) []string {
		if t := texts(r.Properties, "Topics"); len(t) > 0 {
			return t
		}
		return strings.Split(r.PhysicalID, ",")
	}
	return provider.Resource{
		Type:  "AWS::SNS::TopicPolicy",
		PutOn: []string{"Topics"},
		Satellites: []provider.Satellite{{
			Properties: []string{"Topics", "PolicyDocument"},
			Put: func(ctx context.Context, r *provider.Request) error {
				t, p := texts(r.Properties, "Topics"), document(r.Properties, "PolicyDocument")
				if err := set(ctx, r, t, func(string) string { return p }); err != nil {
					return err
				}
				return reset(ctx, r, less(texts(r.Previous, "Topics"), t))
			},
		}},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			t := texts(r.Properties, "Topics")
			if len(t) == 0 {
				return provider.Created{}, errEmpty("Topics")
			}
			return provider.Created{PhysicalID: strings.Join(t, ",")}, nil
		},
		Adopt:  adoptedBy(func(r *provider.Request) string { return strings.Join(texts(r.Properties, "Topics"), ",") }),
		Delete: func(ctx context.Context, r *provider.Request) error { return reset(ctx, r, topics(r)) },
		Gone:   snsGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Id", r.PhysicalID)
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			t := topics(r)
			out, err := snsClient(r.Session).GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &t[0]})
			if provider.HasCode(err, snsGone...) {
				return nil, provider.ErrNotFound
			} else if err != nil {
				return nil, err
			}
			return value.NewObject("Topics", list(t), "PolicyDocument", parsed(out.Attributes["Policy"])), nil
		},
		SDKOnly: "Cloud Control cannot read topic policies",
	}
}

// defaultTopicPolicy is what SNS gives a new topic: its account may use it.
func defaultTopicPolicy(topic string) string {
	account := ""
	if parts := strings.Split(topic, ":"); len(parts) > 4 {
		account = parts[4]
	}
	actions := list([]string{
		"SNS:GetTopicAttributes", "SNS:SetTopicAttributes", "SNS:AddPermission", "SNS:RemovePermission",
		"SNS:DeleteTopic", "SNS:Subscribe", "SNS:ListSubscriptionsByTopic", "SNS:Publish",
	})
	return value.JSON(value.NewObject(
		"Version", "2008-10-17",
		"Id", "__default_policy_ID",
		"Statement", []any{value.NewObject(
			"Sid", "__default_statement_ID",
			"Effect", "Allow",
			"Principal", value.NewObject("AWS", "*"),
			"Action", actions,
			"Resource", topic,
			"Condition", value.NewObject("StringEquals", value.NewObject("AWS:SourceOwner", account)),
		)}))
}
