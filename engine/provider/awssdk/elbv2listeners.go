package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var (
	createListenerInput = provider.Bind[elbv2.CreateListenerInput]()
	modifyListenerInput = provider.Bind[elbv2.ModifyListenerInput](
		provider.ID("ListenerArn"),
		provider.Clear{
			"AlpnPolicy":           []any{"None"},
			"Certificates":         []any{},
			"MutualAuthentication": value.NewObject("Mode", "off"),
			"SslPolicy":            "ELBSecurityPolicy-2016-08",
		},
		provider.Finish(func(r *provider.Request, in *elbv2.ModifyListenerInput) error {
			if in.Protocol != types.ProtocolEnumHttps && in.Protocol != types.ProtocolEnumTls {
				in.SslPolicy = nil // nothing is encrypted any more
			}
			return nil
		}))
)

// A listener is known by its ARN.
func listener() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ElasticLoadBalancingV2::Listener",
		PutOn:   []string{"LoadBalancerArn"},
		Inputs:  []provider.Input{createListenerInput},
		Updates: []provider.Input{modifyListenerInput},
		Satellites: []provider.Satellite{
			elbAttributes("ListenerAttributes", listenerDefaults, func(ctx context.Context, r *provider.Request, list []types.ListenerAttribute) error {
				_, err := elbClient(r.Session).ModifyListenerAttributes(ctx, &elbv2.ModifyListenerAttributesInput{ListenerArn: &r.PhysicalID, Attributes: list})
				return err
			}, func(k, v string) types.ListenerAttribute { return types.ListenerAttribute{Key: &k, Value: &v} }),
		},
		Tags: elbTags(),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, elbOnce, (*elbv2.Client).CreateListener, createListenerInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.Listeners[0].ListenerArn}, nil
		},
		Update: updateBy(elbClient, (*elbv2.Client).ModifyListener, modifyListenerInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := elbClient(r.Session).DeleteListener(ctx, &elbv2.DeleteListenerInput{ListenerArn: &r.PhysicalID})
			return err
		},
		Gone:  []string{"ListenerNotFound"},
		Known: knownID("ListenerArn"),
		// A balancer has one listener on a port, or two that differ in protocol.
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			pages := elbv2.NewDescribeListenersPaginator(elbClient(r.Session), &elbv2.DescribeListenersInput{
				LoadBalancerArn: aws.String(text(r.Properties, "LoadBalancerArn")),
			})
			want, err := createListenerInput.Input(r)
			if err != nil {
				return "", err
			}
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return "", unlessGone(err, []string{"LoadBalancerNotFound", "ListenerNotFound"})
				}
				for _, l := range page.Listeners {
					if aws.ToInt32(l.Port) == aws.ToInt32(want.Port) && l.Protocol == want.Protocol {
						return aws.ToString(l.ListenerArn), nil
					}
				}
			}
			return "", nil
		},
	}
}

var (
	createRuleInput = provider.Bind[elbv2.CreateRuleInput]()
	modifyRuleInput = provider.Bind[elbv2.ModifyRuleInput](
		provider.ID("RuleArn"),
		provider.Finish(func(r *provider.Request, in *elbv2.ModifyRuleInput) error {
			if r.Previous.Has("Transforms") && len(in.Transforms) == 0 {
				in.Transforms, in.ResetTransforms = nil, aws.Bool(true)
			}
			return nil
		}))
	rulePriorityInput = provider.Bind[types.RulePriorityPair](provider.ID("RuleArn"), provider.Only("Priority"))
)

// A rule is known by its ARN.
func listenerRule() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ElasticLoadBalancingV2::ListenerRule",
		Inputs:  []provider.Input{createRuleInput},
		Updates: []provider.Input{modifyRuleInput, rulePriorityInput},
		Tags:    elbTags(),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, elbOnce, (*elbv2.Client).CreateRule, createRuleInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.Rules[0].RuleArn}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			if d.Changed("Priority") {
				pair, err := rulePriorityInput.Input(r)
				if err != nil {
					return provider.Updated{}, err
				}
				_, err = elbClient(r.Session).SetRulePriorities(ctx, &elbv2.SetRulePrioritiesInput{RulePriorities: []types.RulePriorityPair{*pair}})
				if err != nil {
					return provider.Updated{}, err
				}
			}
			if !modifyRuleInput.Changed(d) {
				return provider.Updated{}, nil
			}
			_, err := provider.Invoke(ctx, r, elbClient, (*elbv2.Client).ModifyRule, modifyRuleInput)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := elbClient(r.Session).DeleteRule(ctx, &elbv2.DeleteRuleInput{RuleArn: &r.PhysicalID})
			return err
		},
		Gone: []string{"RuleNotFound", "ListenerNotFound"},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("RuleArn", r.PhysicalID, "IsDefault", false)
		},
		// A listener has one rule of each priority.
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			pages := elbv2.NewDescribeRulesPaginator(elbClient(r.Session), &elbv2.DescribeRulesInput{
				ListenerArn: aws.String(text(r.Properties, "ListenerArn")),
			})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return "", unlessGone(err, []string{"ListenerNotFound", "RuleNotFound"})
				}
				for _, rule := range page.Rules {
					if aws.ToString(rule.Priority) == text(r.Properties, "Priority") {
						return aws.ToString(rule.RuleArn), nil
					}
				}
			}
			return "", nil
		},
	}
}
