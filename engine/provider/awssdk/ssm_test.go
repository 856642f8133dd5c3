package awssdk

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/org/cdkd-action/engine/provider"
)

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
