package awssdk

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func cloudwatchClient(s *provider.Session) *cloudwatch.Client {
	return provider.Client(s, cloudwatch.NewFromConfig)
}

func cloudwatchResources() []provider.Resource {
	return []provider.Resource{alarm(), compositeAlarm(), dashboard(), anomalyDetector()}
}

var (
	evaluationCriteria = provider.Custom("EvaluationCriteria", func(v any) (types.EvaluationCriteria, error) {
		o, _ := v.(*value.Object)
		if kind, member, ok := o.Sole(); ok && kind == "PromQLCriteria" {
			criteria, err := promQL(member)
			return &types.EvaluationCriteriaMemberPromQLCriteria{Value: criteria}, err
		}
		return nil, errors.New("want PromQLCriteria")
	})
	promQL = provider.Shape[types.AlarmPromQLCriteria](asIs)

	putAlarmInput = provider.Bind[cloudwatch.PutMetricAlarmInput](evaluationCriteria)
	// A put of an alarm that is there does not look at tags.
	putAlarmAgainInput = provider.Bind[cloudwatch.PutMetricAlarmInput](evaluationCriteria, provider.Skip("Tags"))
)

// cloudwatchTags are changed by the ARN.
func cloudwatchTags(of func(*provider.Request) string) provider.Tags {
	return provider.Tags{
		Property: "Tags", AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			_, err := cloudwatchClient(r.Session).TagResource(ctx, &cloudwatch.TagResourceInput{
				ResourceARN: aws.String(of(r)), Tags: tagSlice(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} }),
			})
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			_, err := cloudwatchClient(r.Session).UntagResource(ctx, &cloudwatch.UntagResourceInput{ResourceARN: aws.String(of(r)), TagKeys: keys})
			return err
		},
	}
}

// cloudwatchTagsOf reads the tags of an ARN.
func cloudwatchTagsOf(ctx context.Context, r *provider.Request, of string) (map[string]string, error) {
	out, err := cloudwatchClient(r.Session).ListTagsForResource(ctx, &cloudwatch.ListTagsForResourceInput{ResourceARN: &of})
	if err != nil {
		return nil, err
	}
	return tagMap(out.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value }), nil
}

// anAlarm is what both kinds of alarms share. One is known by its name. A put
// overwrites an alarm of the same name, whole.
func anAlarm(typ string, create, change provider.Input, put, again func(context.Context, *provider.Request) error, read func(context.Context, *provider.Request) (*value.Object, error)) provider.Resource {
	return provider.Resource{
		Type:    typ,
		Name:    "AlarmName",
		Inputs:  []provider.Input{create},
		Updates: []provider.Input{change},
		Tags:    cloudwatchTags(func(r *provider.Request) string { return arn(r, "cloudwatch", "alarm:"+r.PhysicalID) }),
		Create:  composite{"AlarmName"}.made(put),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			return provider.Updated{}, again(ctx, r)
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := cloudwatchClient(r.Session).DeleteAlarms(ctx, &cloudwatch.DeleteAlarmsInput{AlarmNames: []string{r.PhysicalID}})
			return err
		},
		Gone:   []string{"ResourceNotFound", "ResourceNotFoundException"},
		Lookup: provider.One(lookupAlarms), Lookups: lookupAlarms, Batch: 100,
		Known: func(r *provider.Request) *value.Object {
			name := r.PhysicalID
			if name == "" {
				name = r.Name
			}
			return value.NewObject("Arn", arn(r, "cloudwatch", "alarm:"+name))
		},
		Read: read,
	}
}

// An alarm on a metric is read through Cloud Control.
func alarm() provider.Resource {
	return anAlarm("AWS::CloudWatch::Alarm", putAlarmInput, putAlarmAgainInput,
		provider.Call(cloudwatchClient, (*cloudwatch.Client).PutMetricAlarm, putAlarmInput),
		provider.Call(cloudwatchClient, (*cloudwatch.Client).PutMetricAlarm, putAlarmAgainInput), nil)
}

var (
	putCompositeInput      = provider.Bind[cloudwatch.PutCompositeAlarmInput]()
	putCompositeAgainInput = provider.Bind[cloudwatch.PutCompositeAlarmInput](provider.Skip("Tags"))
)

// A composite alarm is one on the states of others.
func compositeAlarm() provider.Resource {
	return anAlarm("AWS::CloudWatch::CompositeAlarm", putCompositeInput, putCompositeAgainInput,
		provider.Call(cloudwatchClient, (*cloudwatch.Client).PutCompositeAlarm, putCompositeInput),
		provider.Call(cloudwatchClient, (*cloudwatch.Client).PutCompositeAlarm, putCompositeAgainInput), readComposite)
}

func readComposite(ctx context.Context, r *provider.Request) (*value.Object, error) {
	out, err := cloudwatchClient(r.Session).DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{AlarmNames: []string{r.PhysicalID}, AlarmTypes: []types.AlarmType{types.AlarmTypeCompositeAlarm}})
	if err != nil {
		return nil, err
	}
	if len(out.CompositeAlarms) == 0 {
		return nil, provider.ErrNotFound
	}
	tags, err := cloudwatchTagsOf(ctx, r, aws.ToString(out.CompositeAlarms[0].AlarmArn))
	if err != nil {
		return nil, err
	}
	shape, _ := schema.Lookup(r.Type)
	props := provider.Unbind(out.CompositeAlarms[0], shape)
	if list := tagList(tags); len(list) > 0 {
		props.Set("Tags", list)
	}
	return props, nil
}

// lookupAlarms tells who has names. A composite alarm has the same names, and
// would be overwritten too.
func lookupAlarms(ctx context.Context, rs []*provider.Request) ([]*provider.Holder, error) {
	c := cloudwatchClient(rs[0].Session)
	out, err := c.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{
		AlarmNames: names(rs), MaxRecords: aws.Int32(100),
		AlarmTypes: []types.AlarmType{types.AlarmTypeMetricAlarm, types.AlarmTypeCompositeAlarm},
	})
	if err != nil {
		return nil, err
	}
	var taken []string
	for _, a := range out.MetricAlarms {
		taken = append(taken, aws.ToString(a.AlarmName))
	}
	for _, a := range out.CompositeAlarms {
		taken = append(taken, aws.ToString(a.AlarmName))
	}
	holders := make([]*provider.Holder, len(rs))
	for i, r := range rs {
		if !slices.Contains(taken, r.Name) {
			continue
		}
		tags, err := cloudwatchTagsOf(ctx, r, arn(r, "cloudwatch", "alarm:"+r.Name))
		if holders[i], err = withTags(&provider.Holder{PhysicalID: r.Name}, tags, err); err != nil {
			return nil, err
		}
	}
	return holders, nil
}
