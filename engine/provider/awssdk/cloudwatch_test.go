package awssdk

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/org/cdkd-action/engine/provider"
)

func TestAlarm(t *testing.T) {
	s := emulated(t)
	c := cloudwatch.NewFromConfig(s.Config)
	seen := func(ctx context.Context, name string) (any, error) {
		out, err := c.DescribeAlarms(ctx, &cloudwatch.DescribeAlarmsInput{AlarmNames: []string{name}})
		if err != nil {
			return nil, err
		}
		if len(out.MetricAlarms) == 0 {
			return nil, provider.ErrNotFound
		}
		a := out.MetricAlarms[0]
		tags, err := c.ListTagsForResource(ctx, &cloudwatch.ListTagsForResourceInput{ResourceARN: a.AlarmArn})
		if err != nil {
			return nil, err
		}
		got := []string{fmt.Sprint(*a.Threshold), string(a.ComparisonOperator), aws.ToString(a.AlarmDescription), fmt.Sprint(len(a.Dimensions))}
		for _, tag := range tags.Tags {
			if *tag.Key != provider.OwnerTagKey {
				got = append(got, *tag.Key+"="+*tag.Value)
			}
		}
		slices.Sort(got[4:])
		return got, nil
	}
	base := `"MetricName": "m", "Namespace": "n", "Period": 60, "EvaluationPeriods": "1", "Statistic": "Sum", "ComparisonOperator": "GreaterThanThreshold"`
	life{
		typ: "AWS::CloudWatch::Alarm", physical: "Shop-Alarm", id: "Shop-Alarm",
		attributes: map[string]string{"Arn": "arn:aws:cloudwatch:eu-west-1:123456789012:alarm:Shop-Alarm"},
		steps: []step{
			{"create", `{` + base + `, "Threshold": "1.5", "AlarmDescription": "d", "Dimensions": [{"Name": "a", "Value": "b"}], "Tags": [{"Key": "a", "Value": "1"}]}`, seen,
				[]string{"1.5", string(cwtypes.ComparisonOperatorGreaterThanThreshold), "d", "1", "a=1"}},
			{"change", `{` + base + `, "Threshold": 2, "Tags": [{"Key": "b", "Value": "2"}]}`, seen,
				[]string{"2", string(cwtypes.ComparisonOperatorGreaterThanThreshold), "", "0", "b=2"}},
		},
		gone:   func(ctx context.Context, name string) error { _, err := seen(ctx, name); return err },
		noRead: true,
	}.run(t, s)

	d := provider.Drive(describe(t, "AWS::CloudWatch::Alarm"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "A", Type: "AWS::CloudWatch::Alarm", Name: "Shop-HeldAlarm", Properties: object(t, `{`+base+`, "Threshold": 1}`)}
	if h, err := d.Lookup(t.Context(), r); h != nil || err != nil {
		t.Errorf("a free name is held: %+v, %v", h, err)
	}
	if _, err := d.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if h, err := d.Lookup(t.Context(), r); err != nil || h == nil || h.PhysicalID != r.Name {
		t.Errorf("holder is %+v, %v", h, err)
	}
}

func TestAlarmCriteria(t *testing.T) {
	in, err := putAlarmInput.Input(&provider.Request{Properties: object(t, `{"EvaluationCriteria": {"PromQLCriteria": {"Query": "up", "PendingPeriod": "60"}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	got, ok := in.EvaluationCriteria.(*cwtypes.EvaluationCriteriaMemberPromQLCriteria)
	if !ok || *got.Value.Query != "up" || *got.Value.PendingPeriod != 60 {
		t.Errorf("criteria are %+v", in.EvaluationCriteria)
	}
}
