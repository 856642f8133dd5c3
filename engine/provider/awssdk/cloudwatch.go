package awssdk

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func cloudwatchClient(s *provider.Session) *cloudwatch.Client {
	return provider.Client(s, cloudwatch.NewFromConfig)
}

func cloudwatchResources() []provider.Resource { return []provider.Resource{alarm()} }

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

// An alarm is known by its name. PutMetricAlarm overwrites an alarm of the
// same name, whole.
func alarm() provider.Resource {
	alarmARN := func(r *provider.Request) *string { return aws.String(arn(r, "cloudwatch", "alarm:"+r.PhysicalID)) }
	return provider.Resource{
		Type:    "AWS::CloudWatch::Alarm",
		Name:    "AlarmName",
		Inputs:  []provider.Input{putAlarmInput},
		Updates: []provider.Input{putAlarmAgainInput},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				in := &cloudwatch.TagResourceInput{ResourceARN: alarmARN(r)}
				for k, v := range tags {
					in.Tags = append(in.Tags, types.Tag{Key: aws.String(k), Value: aws.String(v)})
				}
				_, err := cloudwatchClient(r.Session).TagResource(ctx, in)
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := cloudwatchClient(r.Session).UntagResource(ctx, &cloudwatch.UntagResourceInput{ResourceARN: alarmARN(r), TagKeys: keys})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, cloudwatchClient, (*cloudwatch.Client).PutMetricAlarm, putAlarmInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: text(r.Properties, "AlarmName")}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			_, err := provider.Invoke(ctx, r, cloudwatchClient, (*cloudwatch.Client).PutMetricAlarm, putAlarmAgainInput)
			return provider.Updated{}, err
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
	}
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
		holders[i] = &provider.Holder{PhysicalID: r.Name, Tags: map[string]string{}}
		tags, err := c.ListTagsForResource(ctx, &cloudwatch.ListTagsForResourceInput{ResourceARN: aws.String(arn(r, "cloudwatch", "alarm:"+r.Name))})
		if err != nil {
			continue // without its tags it has the other evidence
		}
		for _, t := range tags.Tags {
			holders[i].Tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
		}
	}
	return holders, nil
}
