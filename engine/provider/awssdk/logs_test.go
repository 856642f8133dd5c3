package awssdk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/org/cdkd-action/engine/provider"
)

func TestLogGroup(t *testing.T) {
	s := emulated(t)
	c := logs.NewFromConfig(s.Config)
	seen := func(ctx context.Context, name string) (any, error) {
		out, err := c.DescribeLogGroups(ctx, &logs.DescribeLogGroupsInput{LogGroupNamePrefix: &name})
		if err != nil {
			return nil, err
		}
		if len(out.LogGroups) == 0 {
			return nil, provider.ErrNotFound
		}
		g := out.LogGroups[0]
		tags, err := c.ListTagsForResource(ctx, &logs.ListTagsForResourceInput{ResourceArn: aws.String(strings.TrimSuffix(*g.Arn, ":*"))})
		if err != nil {
			return nil, err
		}
		delete(tags.Tags, provider.OwnerTagKey)
		return fmt.Sprint(aws.ToInt32(g.RetentionInDays), " ", tags.Tags, " ", aws.ToString(g.KmsKeyId)), nil
	}
	const key = "arn:aws:kms:eu-west-1:123456789012:key/k"
	life{
		typ: "AWS::Logs::LogGroup", physical: "/shop/log", id: "/shop/log",
		attributes: map[string]string{"Arn": "arn:aws:logs:eu-west-1:123456789012:log-group:/shop/log:*"},
		steps: []step{
			{"create", `{"RetentionInDays": 7, "Tags": [{"Key": "a", "Value": "1"}], "KmsKeyId": "` + key + `"}`, seen, "7 map[a:1] " + key},
			{"change", `{"RetentionInDays": "14", "Tags": [{"Key": "b", "Value": "2"}], "KmsKeyId": "` + key + `"}`, seen, "14 map[b:2] " + key},
			// The emulator cannot take a key away.
			{"remove", `{"KmsKeyId": "` + key + `"}`, seen, "0 map[] " + key},
		},
		gone:   func(ctx context.Context, name string) error { _, err := seen(ctx, name); return err },
		noRead: true,
	}.run(t, s)
}

// Whether it may be taken is decided by its lookup, before the create (S-200).
func TestLogGroupThatIsThereIsTaken(t *testing.T) {
	s := emulated(t)
	c := logs.NewFromConfig(s.Config)
	for _, name := range []string{"/aws/lambda/Shop-Taken", "/aws/lambda/Shop-Taken2"} {
		if _, err := c.CreateLogGroup(t.Context(), &logs.CreateLogGroupInput{LogGroupName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	d := provider.Drive(describe(t, "AWS::Logs::LogGroup"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "L", Type: "AWS::Logs::LogGroup", Name: "/aws/lambda/Shop-Taken",
		Properties: object(t, `{"RetentionInDays": 3, "Tags": [{"Key": "a", "Value": "1"}]}`)}
	h, err := d.Lookup(t.Context(), r)
	if err != nil || h == nil || time.Since(h.Created) > time.Hour {
		t.Errorf("holder is %+v, %v, want it with its time", h, err)
	}
	if _, err := d.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if h, err = d.Lookup(t.Context(), r); err != nil || h.Tags["a"] != "1" {
		t.Errorf("holder is %+v, %v, want it with the template's tags", h, err)
	}
	r.Name = "/aws/lambda/Shop-Tak" // begins the names of others
	if h, err := d.Lookup(t.Context(), r); h != nil || err != nil {
		t.Errorf("a free name is held: %+v, %v", h, err)
	}
}

func TestLogFilters(t *testing.T) {
	s := emulated(t)
	c := logs.NewFromConfig(s.Config)
	if _, err := c.CreateLogGroup(t.Context(), &logs.CreateLogGroupInput{LogGroupName: aws.String("/shop/filtered")}); err != nil {
		t.Fatal(err)
	}
	metrics := func(ctx context.Context, _ string) (any, error) {
		out, err := c.DescribeMetricFilters(ctx, &logs.DescribeMetricFiltersInput{LogGroupName: aws.String("/shop/filtered")})
		if err != nil || len(out.MetricFilters) == 0 {
			return nil, errors.Join(err, provider.ErrNotFound)
		}
		f := out.MetricFilters[0]
		return []string{*f.FilterName, *f.FilterPattern, *f.MetricTransformations[0].MetricName}, nil
	}
	props := func(pattern string) string {
		return `{"LogGroupName": "/shop/filtered", "FilterPattern": "` + pattern + `", "MetricTransformations": [{"MetricName": "m", "MetricNamespace": "n", "MetricValue": 1, "DefaultValue": "0"}]}`
	}
	life{
		typ: "AWS::Logs::MetricFilter", noWalk: true, id: "/shop/filtered|Shop-Res",
		steps: []step{
			{"create", props("a"), metrics, []string{"Shop-Res", "a", "m"}},
			{name: "change", props: props("b")}, // the emulator keeps the first of two puts
		},
		gone:   func(ctx context.Context, _ string) error { _, err := metrics(ctx, ""); return err },
		noRead: true,
	}.run(t, s)

	fn := aFunction(t, s, "Shop-LogReader")
	subscriptions := func(ctx context.Context, _ string) (any, error) {
		out, err := c.DescribeSubscriptionFilters(ctx, &logs.DescribeSubscriptionFiltersInput{LogGroupName: aws.String("/shop/filtered")})
		if err != nil || len(out.SubscriptionFilters) == 0 {
			return nil, errors.Join(err, provider.ErrNotFound)
		}
		return []string{*out.SubscriptionFilters[0].FilterName, *out.SubscriptionFilters[0].FilterPattern}, nil
	}
	life{
		typ: "AWS::Logs::SubscriptionFilter", id: "Shop-Res|/shop/filtered",
		steps: []step{
			{"create", `{"LogGroupName": "/shop/filtered", "FilterPattern": "", "DestinationArn": "` + fn + `"}`, subscriptions, []string{"Shop-Res", ""}},
			{"change", `{"LogGroupName": "/shop/filtered", "FilterPattern": "x", "DestinationArn": "` + fn + `"}`, subscriptions, []string{"Shop-Res", "x"}},
		},
		gone:   func(ctx context.Context, _ string) error { _, err := subscriptions(ctx, ""); return err },
		noRead: true,
	}.run(t, s)
}

// A filter that CloudFormation or Cloud Control named keeps its name.
func TestFilterKeepsItsName(t *testing.T) {
	r := &provider.Request{PhysicalID: "Shop-Res-1A2B3C|/shop/filtered", LogicalID: "Res", Properties: object(t, `{"LogGroupName": "/shop/filtered"}`)}
	if got := filterName(filterNamed(r, 0)); got != "Shop-Res-1A2B3C" {
		t.Errorf("the filter is updated as %s", got)
	}
}
