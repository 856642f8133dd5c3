package awssdk

import (
	"context"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var (
	subscriptionFilterInput = provider.Bind[logs.PutSubscriptionFilterInput](
		provider.Finish(func(r *provider.Request, in *logs.PutSubscriptionFilterInput) error {
			in.FilterName = aws.String(filterName(r))
			return nil
		}))
	metricFilterInput = provider.Bind[logs.PutMetricFilterInput](
		provider.Finish(func(r *provider.Request, in *logs.PutMetricFilterInput) error {
			in.FilterName = aws.String(filterName(r))
			return nil
		}))
)

var notInFilterName = regexp.MustCompile(`[^a-zA-Z0-9_.-]+`)

// filterName is the name declared, or one of stack and logical id, so that a
// create that is sent again writes the same filter.
func filterName(r *provider.Request) string {
	if name := text(r.Properties, "FilterName"); name != "" {
		return name
	}
	return notInFilterName.ReplaceAllString(r.Stack.Name+"-"+r.LogicalID, "-")
}

// A subscription filter is known by its name and its log group. Each put is of
// the whole.
func subscriptionFilter() provider.Resource {
	return provider.Resource{
		Type:   "AWS::Logs::SubscriptionFilter",
		PutOn:  []string{"LogGroupName"},
		Inputs: []provider.Input{subscriptionFilterInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, logsClient, (*logs.Client).PutSubscriptionFilter, subscriptionFilterInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: filterName(r) + "|" + text(r.Properties, "LogGroupName")}, nil
		},
		Adopt: adoptedWhole(func(r *provider.Request) string { return r.PhysicalID + "|" + text(r.Properties, "LogGroupName") }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			named := filterNamed(r, 0)
			_, err := provider.Invoke(ctx, named, logsClient, (*logs.Client).PutSubscriptionFilter, subscriptionFilterInput)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			name, group, _ := strings.Cut(r.PhysicalID, "|")
			_, err := logsClient(r.Session).DeleteSubscriptionFilter(ctx, &logs.DeleteSubscriptionFilterInput{FilterName: &name, LogGroupName: &group})
			return err
		},
		Gone: logsGone,
	}
}

// A metric filter is known by its log group and its name, in this order.
func metricFilter() provider.Resource {
	return provider.Resource{
		Type:   "AWS::Logs::MetricFilter",
		PutOn:  []string{"LogGroupName"},
		Inputs: []provider.Input{metricFilterInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, logsClient, (*logs.Client).PutMetricFilter, metricFilterInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: text(r.Properties, "LogGroupName") + "|" + filterName(r)}, nil
		},
		Adopt: adoptedWhole(func(r *provider.Request) string { return text(r.Properties, "LogGroupName") + "|" + r.PhysicalID }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			named := filterNamed(r, 1)
			_, err := provider.Invoke(ctx, named, logsClient, (*logs.Client).PutMetricFilter, metricFilterInput)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			group, name, _ := strings.Cut(r.PhysicalID, "|")
			_, err := logsClient(r.Session).DeleteMetricFilter(ctx, &logs.DeleteMetricFilterInput{FilterName: &name, LogGroupName: &group})
			return err
		},
		Gone: logsGone,
	}
}

// filterNamed returns the request with the name that the filter has: one that
// somebody else generated is not ours to derive.
func filterNamed(r *provider.Request, part int) *provider.Request {
	parts := strings.Split(r.PhysicalID, "|")
	if part >= len(parts) {
		return r
	}
	c := *r
	c.Properties = &value.Object{}
	for k, v := range r.Properties.All() {
		c.Properties.Set(k, v)
	}
	c.Properties.Set("FilterName", parts[part])
	return &c
}
