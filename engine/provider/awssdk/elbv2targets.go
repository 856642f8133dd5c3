package awssdk

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

const targetGroupGone = "TargetGroupNotFound"

var (
	createTargetGroupInput = provider.Bind[elbv2.CreateTargetGroupInput]()
	modifyTargetGroupInput = provider.Bind[elbv2.ModifyTargetGroupInput](provider.ID("TargetGroupArn"))
	target                 = provider.Shape[types.TargetDescription](func(v any) any { return v })
)

// A target group is known by its ARN. A create under a name that is in use
// hands back the group that has it, if the settings are the same.
func targetGroup() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ElasticLoadBalancingV2::TargetGroup",
		Name:    "Name",
		Inputs:  []provider.Input{createTargetGroupInput},
		Updates: []provider.Input{modifyTargetGroupInput},
		Satellites: []provider.Satellite{
			elbAttributes("TargetGroupAttributes", targetGroupDefaults, func(ctx context.Context, r *provider.Request, list []types.TargetGroupAttribute) error {
				_, err := elbClient(r.Session).ModifyTargetGroupAttributes(ctx, &elbv2.ModifyTargetGroupAttributesInput{TargetGroupArn: &r.PhysicalID, Attributes: list})
				return err
			}, func(k, v string) types.TargetGroupAttribute { return types.TargetGroupAttribute{Key: &k, Value: &v} }),
			{Properties: []string{"Targets"}, Put: registerTargets},
		},
		Tags: elbTags(),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, elbOnce, (*elbv2.Client).CreateTargetGroup, createTargetGroupInput)
			if err != nil {
				return provider.Created{}, err
			}
			g := out.TargetGroups[0]
			return provider.Created{PhysicalID: *g.TargetGroupArn, Attributes: value.NewObject("LoadBalancerArns", list(g.LoadBalancerArns))}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			_, err := provider.Invoke(ctx, modified(r), elbClient, (*elbv2.Client).ModifyTargetGroup, modifyTargetGroupInput)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := elbClient(r.Session).DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &r.PhysicalID})
			return err
		},
		Gone: []string{targetGroupGone},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			full := lastSegment(r.PhysicalID, ":") // targetgroup/name/id
			parts := strings.Split(full, "/")
			if len(parts) != 3 {
				return nil
			}
			return value.NewObject("TargetGroupArn", r.PhysicalID, "TargetGroupFullName", full, "TargetGroupName", parts[1])
		},
		Lookup: func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			return targetGroupNamed(ctx, r, r.Name)
		},
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			return targetGroupNamed(ctx, r, text(r.Properties, "Name"))
		}),
	}
}

// modified returns the request with the defaults of what left the template:
// the call keeps what it is not told.
func modified(r *provider.Request) *provider.Request {
	props := r.Properties.Clone()
	for name, v := range healthCheckDefaults(r.Properties) {
		if v != "" && r.Previous.Has(name) && !props.Has(name) {
			props.Set(name, v)
		}
	}
	if r.Previous.Has("Matcher") && !props.Has("Matcher") {
		switch {
		case text(props, "ProtocolVersion") == "GRPC":
			props.Set("Matcher", value.NewObject("GrpcCode", "12"))
		case text(props, "Protocol") == "HTTP" || text(props, "Protocol") == "HTTPS" || text(props, "TargetType") == "lambda":
			props.Set("Matcher", value.NewObject("HttpCode", "200"))
		default:
			props.Set("Matcher", value.NewObject("HttpCode", "200-399"))
		}
	}
	c := *r
	c.Properties = props
	return &c
}

// registerTargets adds the targets that are new and takes those that are gone.
func registerTargets(ctx context.Context, r *provider.Request) error {
	before, after := r.Previous.List("Targets"), r.Properties.List("Targets")
	added, err := notIn(after, before)
	if err != nil {
		return err
	}
	if len(added) > 0 {
		if _, err := elbClient(r.Session).RegisterTargets(ctx, &elbv2.RegisterTargetsInput{TargetGroupArn: &r.PhysicalID, Targets: added}); err != nil {
			return err
		}
	}
	taken, err := notIn(before, after)
	if err != nil || len(taken) == 0 {
		return err
	}
	_, err = elbClient(r.Session).DeregisterTargets(ctx, &elbv2.DeregisterTargetsInput{TargetGroupArn: &r.PhysicalID, Targets: taken})
	return err
}

func notIn(list, other []any) ([]types.TargetDescription, error) {
	there := map[string]bool{}
	for _, v := range other {
		there[provider.Itself(v)] = true
	}
	var out []types.TargetDescription
	for _, v := range list {
		if there[provider.Itself(v)] {
			continue
		}
		t, err := target(v)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func targetGroupNamed(ctx context.Context, r *provider.Request, name string) (*provider.Holder, error) {
	out, err := elbClient(r.Session).DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{Names: []string{name}})
	if provider.HasCode(err, targetGroupGone) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if len(out.TargetGroups) == 0 {
		return nil, nil
	}
	id := aws.ToString(out.TargetGroups[0].TargetGroupArn)
	tags, err := elbTagsOf(ctx, r, id)
	return withTags(&provider.Holder{PhysicalID: id}, tags, err)
}
