package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

// newCloudControl joins Cloud Control to the rest of the sandbox.
func (s *Sandbox) newCloudControl() *cloudcontrol.Server {
	return cloudcontrol.New(cloudcontrol.Options{AccountID: s.account, Region: s.region, Types: s.types, Delay: s.progress, Elsewhere: s.elsewhere})
}

// upstreamLimit bounds a question of the sandbox's own.
const upstreamLimit = 10 * time.Second

// elsewhere is what Cloud Control says of a resource that moto's services have,
// nil when they have none, or nobody wrote down how to ask.
func (s *Sandbox) elsewhere(region, typ, id string) map[string]any {
	describe := descriptions[typ]
	if describe == nil || s.kind != Moto {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.life, upstreamLimit)
	defer cancel()
	model, err := describe(ctx, s.upstreamConfig(region), id)
	if err != nil {
		return nil
	}
	t, _ := s.types(typ)
	for name := range model {
		if t.Properties[name] == nil {
			delete(model, name)
		}
	}
	return model
}

// upstreamConfig is for calls that are not the tested program's.
func (s *Sandbox) upstreamConfig(region string) aws.Config {
	config := s.Config()
	config.Region, config.HTTPClient, config.RetryMaxAttempts = region, s.upstream, 1
	return config
}

type description func(ctx context.Context, config aws.Config, id string) (map[string]any, error)

// descriptions read resources of types as CloudFormation names their properties.
// What a service says under another name, or in another form, stands beside it;
// what it says besides is left out.
var descriptions = map[string]description{
	"AWS::Lambda::Function": func(ctx context.Context, config aws.Config, id string) (map[string]any, error) {
		out, err := lambda.NewFromConfig(config).GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: &id})
		if err != nil {
			return nil, err
		}
		m := plain(out.Configuration)
		m["Arn"] = m["FunctionArn"]
		delete(m, "SnapStart") // which is written only
		var layers []any
		for _, l := range out.Configuration.Layers {
			layers = append(layers, aws.ToString(l.Arn))
		}
		put(m, "Layers", layers)
		if v, _ := m["VpcConfig"].(map[string]any); v != nil {
			delete(v, "VpcId")
			if len(v) == 0 {
				delete(m, "VpcConfig")
			}
		}
		put(m, "Tags", tagList(out.Tags))
		return m, nil
	},
	"AWS::Lambda::EventSourceMapping": func(ctx context.Context, config aws.Config, id string) (map[string]any, error) {
		out, err := lambda.NewFromConfig(config).GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: &id})
		if err != nil {
			return nil, err
		}
		m := plain(out)
		m["Id"], m["FunctionName"] = id, m["FunctionArn"]
		m["Enabled"] = strings.HasPrefix(aws.ToString(out.State), "Enabl")
		return m, nil
	},
	"AWS::KMS::Key": func(ctx context.Context, config aws.Config, id string) (map[string]any, error) {
		out, err := kms.NewFromConfig(config).DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &id})
		if err != nil {
			return nil, err
		}
		if out.KeyMetadata.KeyState == kmstypes.KeyStatePendingDeletion {
			return nil, errors.New("it is as good as deleted")
		}
		m := plain(out.KeyMetadata)
		m["MultiRegion"] = aws.ToBool(out.KeyMetadata.MultiRegion)
		return m, nil
	},
	"AWS::StepFunctions::StateMachine": func(ctx context.Context, config aws.Config, id string) (map[string]any, error) {
		out, err := sfn.NewFromConfig(config).DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &id})
		if err != nil {
			return nil, err
		}
		tags, err := sfn.NewFromConfig(config).ListTagsForResource(ctx, &sfn.ListTagsForResourceInput{ResourceArn: &id})
		if err != nil {
			return nil, err
		}
		m := plain(out)
		m["Arn"], m["StateMachineName"], m["DefinitionString"], m["StateMachineType"] = id, m["Name"], m["Definition"], m["Type"]
		delete(m, "Definition")
		put(m, "Tags", plainList(tags.Tags))
		return m, nil
	},
	"AWS::DynamoDB::Table": func(ctx context.Context, config aws.Config, id string) (map[string]any, error) {
		c := dynamodb.NewFromConfig(config)
		out, err := c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &id})
		if err != nil {
			return nil, err
		}
		m := plain(out.Table)
		m["Arn"], m["StreamArn"] = m["TableArn"], m["LatestStreamArn"]
		if b := out.Table.BillingModeSummary; b != nil {
			m["BillingMode"] = string(b.BillingMode)
		}
		if t, _ := m["ProvisionedThroughput"].(map[string]any); t != nil {
			delete(t, "NumberOfDecreasesToday")
			if m["BillingMode"] == "PAY_PER_REQUEST" {
				delete(m, "ProvisionedThroughput")
			}
		}
		if out.Table.StreamSpecification != nil {
			delete(m["StreamSpecification"].(map[string]any), "StreamEnabled")
		}
		for _, index := range []string{"GlobalSecondaryIndexes", "LocalSecondaryIndexes"} {
			all, _ := m[index].([]any)
			for _, i := range all {
				i := i.(map[string]any)
				for name := range i {
					if name != "IndexName" && name != "KeySchema" && name != "Projection" {
						delete(i, name)
					}
				}
			}
		}
		tags, err := c.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: out.Table.TableArn})
		if err != nil {
			return nil, err
		}
		put(m, "Tags", plainList(tags.Tags))
		live, err := c.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &id})
		if err == nil && live.TimeToLiveDescription != nil && live.TimeToLiveDescription.AttributeName != nil {
			m["TimeToLiveSpecification"] = map[string]any{"AttributeName": *live.TimeToLiveDescription.AttributeName, "Enabled": live.TimeToLiveDescription.TimeToLiveStatus == "ENABLED"}
		}
		return m, nil
	},
	"AWS::IAM::User": func(ctx context.Context, config aws.Config, id string) (map[string]any, error) {
		c := iam.NewFromConfig(config)
		out, err := c.GetUser(ctx, &iam.GetUserInput{UserName: &id})
		if err != nil {
			return nil, err
		}
		m := plain(out.User)
		put(m, "Tags", plainList(out.User.Tags))
		if b := out.User.PermissionsBoundary; b != nil {
			m["PermissionsBoundary"] = aws.ToString(b.PermissionsBoundaryArn)
		}
		attached, err := c.ListAttachedUserPolicies(ctx, &iam.ListAttachedUserPoliciesInput{UserName: &id})
		if err != nil {
			return nil, err
		}
		var arns []any
		for _, p := range attached.AttachedPolicies {
			arns = append(arns, aws.ToString(p.PolicyArn))
		}
		put(m, "ManagedPolicyArns", arns)
		named, err := c.ListUserPolicies(ctx, &iam.ListUserPoliciesInput{UserName: &id})
		if err != nil {
			return nil, err
		}
		var policies []any
		for _, name := range named.PolicyNames {
			p, err := c.GetUserPolicy(ctx, &iam.GetUserPolicyInput{UserName: &id, PolicyName: &name})
			if err != nil {
				return nil, err
			}
			text, err := url.QueryUnescape(aws.ToString(p.PolicyDocument))
			if err != nil {
				return nil, err
			}
			policies = append(policies, map[string]any{"PolicyName": name, "PolicyDocument": parsed(text)})
		}
		put(m, "Policies", policies)
		return m, nil
	},
	"AWS::Logs::LogGroup": func(ctx context.Context, config aws.Config, id string) (map[string]any, error) {
		c := cloudwatchlogs.NewFromConfig(config)
		out, err := c.DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &id})
		if err != nil {
			return nil, err
		}
		for _, g := range out.LogGroups {
			if aws.ToString(g.LogGroupName) != id {
				continue
			}
			m := plain(g)
			put(m, "LogGroupClass", cmp.Or(string(g.LogGroupClass), "STANDARD"))
			tags, err := c.ListTagsForResource(ctx, &cloudwatchlogs.ListTagsForResourceInput{ResourceArn: new(strings.TrimSuffix(aws.ToString(g.Arn), ":*"))})
			if err != nil {
				return nil, err
			}
			put(m, "Tags", tagList(tags.Tags))
			return m, nil
		}
		return nil, errors.New("it has no such log group")
	},
	"AWS::SSM::Parameter": func(ctx context.Context, config aws.Config, id string) (map[string]any, error) {
		c := ssm.NewFromConfig(config)
		out, err := c.GetParameter(ctx, &ssm.GetParameterInput{Name: &id})
		if err != nil {
			return nil, err
		}
		m := plain(out.Parameter)
		tags, err := c.ListTagsForResource(ctx, &ssm.ListTagsForResourceInput{ResourceType: "Parameter", ResourceId: &id})
		if err != nil {
			return nil, err
		}
		all := map[string]any{}
		for _, t := range tags.TagList {
			all[aws.ToString(t.Key)] = aws.ToString(t.Value)
		}
		if len(all) > 0 {
			m["Tags"] = all
		}
		return m, nil
	},
	"AWS::SNS::Topic": func(ctx context.Context, config aws.Config, id string) (map[string]any, error) {
		c := sns.NewFromConfig(config)
		out, err := c.GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &id})
		if err != nil {
			return nil, err
		}
		m := map[string]any{"TopicArn": id, "TopicName": id[strings.LastIndex(id, ":")+1:]}
		for name, v := range out.Attributes {
			switch {
			case v == "", name == "Policy", name == "EffectiveDeliveryPolicy":
			case name == "DeliveryPolicy", name == "ArchivePolicy":
				m[name] = parsed(v)
			case name == "FifoTopic", name == "ContentBasedDeduplication":
				if v == "true" {
					m[name] = true
				}
			default:
				m[name] = v
			}
		}
		tags, err := c.ListTagsForResource(ctx, &sns.ListTagsForResourceInput{ResourceArn: &id})
		if err != nil {
			return nil, err
		}
		put(m, "Tags", plainList(tags.Tags))
		return m, nil
	},
}

// plain is what a service answered, without what is empty.
func plain(v any) map[string]any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it came as JSON or XML
	}
	m, _ := pruned(parsed(string(text))).(map[string]any)
	return m
}

func plainList[V any](all []V) (list []any) {
	for _, v := range all {
		list = append(list, plain(v))
	}
	return list
}

func tagList(tags map[string]string) (list []any) {
	for k, v := range tags {
		list = append(list, map[string]any{"Key": k, "Value": v})
	}
	return list
}

// put sets a member, or takes away what is empty.
func put[V any](m map[string]any, name string, v V) {
	if w := pruned(any(v)); w != nil {
		m[name] = w
	} else {
		delete(m, name)
	}
}

func pruned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, m := range v {
			if m = pruned(m); m == nil {
				delete(v, name)
			} else {
				v[name] = m
			}
		}
		if len(v) == 0 {
			return nil
		}
		return v
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i, m := range v {
			v[i] = pruned(m)
		}
		return v
	case string:
		if v == "" {
			return nil
		}
	}
	return v
}

func parsed(text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return text
	}
	return v
}
