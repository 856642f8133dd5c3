package awssdk

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

func TestRule(t *testing.T) {
	s := emulated(t)
	c := eventbridge.NewFromConfig(s.Config)
	life{
		typ: "AWS::Events::EventBus", physical: "Shop-Empty", id: "Shop-Empty",
		attributes: map[string]string{"Arn": "arn:aws:events:eu-west-1:123456789012:event-bus/Shop-Empty", "Name": "Shop-Empty"},
		steps: []step{{"create", `{"Name": "Shop-Empty", "Tags": [{"Key": "a", "Value": "1"}]}`, func(ctx context.Context, id string) (any, error) {
			out, err := c.ListTagsForResource(ctx, &eventbridge.ListTagsForResourceInput{ResourceARN: aws.String("arn:aws:events:eu-west-1:123456789012:event-bus/" + id)})
			if err != nil {
				return nil, err
			}
			return len(out.Tags), nil
		}, 2}},
		gone: func(ctx context.Context, id string) error {
			_, err := c.DescribeEventBus(ctx, &eventbridge.DescribeEventBusInput{Name: &id})
			return err
		},
		noRead: true,
	}.run(t, s)

	if _, err := c.CreateEventBus(t.Context(), &eventbridge.CreateEventBusInput{Name: aws.String("Shop-Bus")}); err != nil {
		t.Fatal(err)
	}
	for _, bus := range []string{"", "Shop-Bus"} {
		var busName *string
		property, id := "", "arn:aws:events:eu-west-1:123456789012:rule/Shop-Rule"
		if bus != "" {
			busName = &bus
			property, id = `"EventBusName": "`+bus+`", `, "arn:aws:events:eu-west-1:123456789012:rule/Shop-Bus/Shop-Rule"
		}
		seen := func(ctx context.Context, id string) (any, error) {
			r, err := c.DescribeRule(ctx, &eventbridge.DescribeRuleInput{Name: aws.String("Shop-Rule"), EventBusName: busName})
			if err != nil {
				return nil, err
			}
			ts, err := c.ListTargetsByRule(ctx, &eventbridge.ListTargetsByRuleInput{Rule: r.Name, EventBusName: busName})
			if err != nil {
				return nil, err
			}
			tags, err := c.ListTagsForResource(ctx, &eventbridge.ListTagsForResourceInput{ResourceARN: r.Arn})
			if err != nil {
				return nil, err
			}
			got := []string{aws.ToString(r.Description), aws.ToString(r.EventPattern), string(r.State)}
			for _, tg := range ts.Targets {
				got = append(got, "target "+*tg.Id+" "+aws.ToString(tg.Input))
			}
			for _, tag := range tags.Tags {
				if *tag.Key != provider.OwnerTagKey {
					got = append(got, *tag.Key+"="+*tag.Value)
				}
			}
			return got, nil
		}
		target := func(id, input string) string {
			return `{"Id": "` + id + `", "Arn": "arn:aws:sqs:eu-west-1:123456789012:q", "Input": "` + input + `"}`
		}
		t.Run("on bus "+bus, func(t *testing.T) {
			life{
				typ: "AWS::Events::Rule", physical: "Shop-Rule", id: id, attributes: map[string]string{"Arn": id, "RuleName": "Shop-Rule"},
				steps: []step{
					{"create", `{` + property + `"Description": "d", "EventPattern": {"source": ["a"]}, "State": "DISABLED", "Tags": [{"Key": "k", "Value": "v"}],
						"Targets": [` + target("one", "1") + `,` + target("two", "2") + `]}`, seen,
						[]string{"d", `{"source":["a"]}`, "DISABLED", "target one 1", "target two 2", "k=v"}},
					{"change", `{` + property + `"Description": "d", "EventPattern": {"source": ["b"]}, "Tags": [{"Key": "k", "Value": "w"}],
						"Targets": [` + target("two", "3") + `,` + target("three", "4") + `]}`, seen,
						[]string{"d", `{"source":["b"]}`, "ENABLED", "target two 3", "target three 4", "k=w"}},
					{"targets only", `{` + property + `"Description": "d", "EventPattern": {"source": ["b"]}}`, seen,
						[]string{"d", `{"source":["b"]}`, "ENABLED"}},
					{"more targets than one call takes", `{` + property + `"Description": "d", "EventPattern": {"source": ["b"]}, "Targets": [` + target("t0", "x") +
						manyTargets(target) + `]}`, func(ctx context.Context, id string) (any, error) {
						got, err := seen(ctx, id)
						if err != nil {
							return nil, err
						}
						return len(got.([]string)) - 3, nil
					}, 12},
				},
				gone:   func(ctx context.Context, id string) error { _, err := seen(ctx, id); return err },
				noRead: true,
			}.run(t, s)
		})
	}
}

func manyTargets(target func(id, input string) string) string {
	var b strings.Builder
	for i := range 11 {
		b.WriteString("," + target(fmt.Sprintf("m%d", i), "x"))
	}
	return b.String()
}

func TestRuleNames(t *testing.T) {
	for id, want := range map[string][2]string{
		"arn:aws:events:r:a:rule/name":                           {"name", ""},
		"arn:aws:events:r:a:rule/bus/name":                       {"name", "bus"},
		"arn:aws:events:r:a:rule/aws.partner/example.com/x/name": {"name", "aws.partner/example.com/x"},
		"name": {"name", ""},
	} {
		name, bus := ruleName(id)
		if diff := cmp.Diff(want, [2]string{name, bus}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}
