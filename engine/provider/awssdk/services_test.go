package awssdk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/schemas"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/google/go-cmp/cmp"

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

func TestParameter(t *testing.T) {
	s := emulated(t)
	c := ssm.NewFromConfig(s.Config)
	seen := func(ctx context.Context, name string) (any, error) {
		out, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
		if err != nil {
			return nil, err
		}
		all, err := c.DescribeParameters(ctx, &ssm.DescribeParametersInput{})
		if err != nil {
			return nil, err
		}
		description := ""
		for _, p := range all.Parameters {
			if *p.Name == name {
				description = aws.ToString(p.Description)
			}
		}
		tags, err := c.ListTagsForResource(ctx, &ssm.ListTagsForResourceInput{ResourceId: &name, ResourceType: "Parameter"})
		if err != nil {
			return nil, err
		}
		var keys []string
		for _, tag := range tags.TagList {
			if *tag.Key != provider.OwnerTagKey {
				keys = append(keys, *tag.Key+"="+*tag.Value)
			}
		}
		return []any{*out.Parameter.Value, out.Parameter.Type, description, keys}, nil
	}
	const arn = "arn:aws:ssm:eu-west-1:123456789012:parameter/shop/p"
	life{
		typ: "AWS::SSM::Parameter", physical: "/shop/p", id: "/shop/p", attributes: map[string]string{"Arn": arn, "Type": "String"},
		steps: []step{
			{"create", `{"Name": "/shop/p", "Type": "String", "Value": "v1", "Description": "d", "Tags": {"a": "1"}}`, seen,
				[]any{"v1", ssmtypes.ParameterType("String"), "d", []string{"a=1"}}},
			{"change", `{"Name": "/shop/p", "Type": "String", "Value": "v2", "Description": "e", "Tags": {"b": "2"}}`, seen,
				[]any{"v2", ssmtypes.ParameterType("String"), "e", []string{"b=2"}}},
			{"remove", `{"Name": "/shop/p", "Type": "String", "Value": "v2"}`, seen, []any{"v2", ssmtypes.ParameterType("String"), "", []string(nil)}},
		},
		gone:   func(ctx context.Context, name string) error { _, err := seen(ctx, name); return err },
		noRead: true,
	}.run(t, s)
}

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

func TestStateMachine(t *testing.T) {
	s := emulated(t)
	c := sfn.NewFromConfig(s.Config)
	role := aRole(t, s, "Shop-MachineRole")
	bucket := s3Client(s)
	_, err := bucket.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("shop-definitions"),
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "eu-west-1"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = bucket.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("shop-definitions"), Key: aws.String("d.yaml"),
		Body: strings.NewReader("StartAt: Y\nStates:\n  Y:\n    Type: Succeed\n    Comment: ${what}\n")})
	if err != nil {
		t.Fatal(err)
	}
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &id})
		if err != nil {
			return nil, err
		}
		tags, err := c.ListTagsForResource(ctx, &sfn.ListTagsForResourceInput{ResourceArn: &id})
		if err != nil {
			return nil, err
		}
		got := []string{*out.Definition}
		for _, tag := range tags.Tags {
			if *tag.Key != provider.OwnerTagKey {
				got = append(got, *tag.Key+"="+*tag.Value)
			}
		}
		return got, nil
	}
	const id = "arn:aws:states:eu-west-1:123456789012:stateMachine:Shop-Machine"
	life{
		typ: "AWS::StepFunctions::StateMachine", physical: "Shop-Machine", id: id,
		attributes: map[string]string{"Arn": id, "Name": "Shop-Machine"},
		steps: []step{
			{"create from text", `{"RoleArn": "` + role + `", "StateMachineType": "EXPRESS", "Tags": [{"Key": "a", "Value": "1"}],
				"DefinitionString": "{\"StartAt\":\"${first}\",\"States\":{\"A\":{\"Type\":\"Succeed\",\"Comment\":\"${Other}\"}}}",
				"DefinitionSubstitutions": {"first": "A"}}`, seen,
				[]string{`{"StartAt":"A","States":{"A":{"Type":"Succeed","Comment":"${Other}"}}}`, "a=1"}},
			{"from an object", `{"RoleArn": "` + role + `", "StateMachineType": "EXPRESS", "Tags": [{"Key": "b", "Value": "2"}],
				"Definition": {"StartAt": "B", "States": {"B": {"Type": "Succeed"}}}}`, seen,
				[]string{`{"StartAt":"B","States":{"B":{"Type":"Succeed"}}}`, "b=2"}},
			{"from a bucket", `{"RoleArn": "` + role + `", "StateMachineType": "EXPRESS", "DefinitionSubstitutions": {"what": "w"},
				"DefinitionS3Location": {"Bucket": "shop-definitions", "Key": "d.yaml"}}`, seen,
				[]string{`{"StartAt":"Y","States":{"Y":{"Comment":"w","Type":"Succeed"}}}`}},
		},
		gone:   func(ctx context.Context, id string) error { _, err := seen(ctx, id); return err },
		noRead: true,
	}.run(t, s)
}

func TestStateMachineInput(t *testing.T) {
	in, err := createMachineInput.Input(&provider.Request{Properties: object(t, `{"StateMachineName": "m", "StateMachineType": "EXPRESS", "Definition": {"StartAt": "A"},
		"LoggingConfiguration": {"Level": "ALL", "IncludeExecutionData": "true", "Destinations": [{"CloudWatchLogsLogGroup": {"LogGroupArn": "arn"}}]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if l := in.LoggingConfiguration; *in.Name != "m" || in.Type != "EXPRESS" || !l.IncludeExecutionData || *l.Destinations[0].CloudWatchLogsLogGroup.LogGroupArn != "arn" {
		t.Errorf("input is %+v", in)
	}
}

func TestAlarm(t *testing.T) {
	s := emulated(t)
	// moto does not speak this client's own protocol. Clients are made once.
	c := provider.Client(s, cloudwatch.NewFromConfig, func(o *cloudwatch.Options) {
		o.Protocol = awsjson.New10(schemas.GraniteServiceVersion20100801)
	})
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
