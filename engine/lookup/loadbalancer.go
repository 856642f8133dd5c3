package lookup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/org/cdkd-action/engine/value"
)

func loadBalancer(ctx context.Context, cfg aws.Config, props *value.Object) (any, error) {
	found, err := loadBalancers(ctx, elb.NewFromConfig(cfg), props, props.String("loadBalancerArn"))
	if err != nil {
		return nil, err
	}
	lb, err := sole(found, "load balancer "+described(props))
	if err != nil {
		return nil, err
	}
	return value.NewObject(
		"loadBalancerArn", aws.ToString(lb.LoadBalancerArn),
		"loadBalancerCanonicalHostedZoneId", aws.ToString(lb.CanonicalHostedZoneId),
		"loadBalancerDnsName", aws.ToString(lb.DNSName),
		"vpcId", aws.ToString(lb.VpcId),
		"securityGroupIds", list(lb.SecurityGroups, func(id string) any { return id }),
		"ipAddressType", string(lb.IpAddressType),
	), nil
}

func listener(ctx context.Context, cfg aws.Config, props *value.Object) (any, error) {
	client := elb.NewFromConfig(cfg)
	type match struct {
		types.Listener
		of types.LoadBalancer
	}
	var found []match
	keep := func(l types.Listener) bool {
		port, protocol := props.Value("listenerPort"), props.String("listenerProtocol")
		return (port == nil || value.JSON(port) == fmt.Sprint(aws.ToInt32(l.Port))) &&
			(protocol == "" || string(l.Protocol) == protocol)
	}
	if arn := props.String("listenerArn"); arn != "" {
		out, err := client.DescribeListeners(ctx, &elb.DescribeListenersInput{ListenerArns: []string{arn}})
		if _, none := errors.AsType[*types.ListenerNotFoundException](err); none {
			return nil, &NotFoundError{"listener " + arn}
		}
		if err != nil {
			return nil, err
		}
		for _, l := range out.Listeners {
			of, err := loadBalancers(ctx, client, props, aws.ToString(l.LoadBalancerArn))
			if err != nil {
				return nil, err
			}
			if wanted := props.String("loadBalancerArn"); len(of) > 0 && keep(l) && (wanted == "" || wanted == aws.ToString(l.LoadBalancerArn)) {
				found = append(found, match{l, of[0]})
			}
		}
	} else {
		of, err := loadBalancers(ctx, client, props, props.String("loadBalancerArn"))
		if err != nil {
			return nil, err
		}
		for _, lb := range of {
			for pages := elb.NewDescribeListenersPaginator(client, &elb.DescribeListenersInput{LoadBalancerArn: lb.LoadBalancerArn}); pages.HasMorePages(); {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return nil, err
				}
				for _, l := range page.Listeners {
					if keep(l) {
						found = append(found, match{l, lb})
					}
				}
			}
		}
	}
	l, err := sole(found, "listener "+described(props))
	if err != nil {
		return nil, err
	}
	return value.NewObject(
		"listenerArn", aws.ToString(l.ListenerArn),
		"listenerPort", value.Int(aws.ToInt32(l.Port)),
		"securityGroupIds", list(l.of.SecurityGroups, func(id string) any { return id }),
	), nil
}

// loadBalancers finds the load balancers of the wanted type and tags, of which
// arn is one unless it is "".
func loadBalancers(ctx context.Context, client *elb.Client, props *value.Object, arn string) ([]types.LoadBalancer, error) {
	in := &elb.DescribeLoadBalancersInput{}
	if arn != "" {
		in.LoadBalancerArns = []string{arn}
	}
	var found []types.LoadBalancer
	for pages := elb.NewDescribeLoadBalancersPaginator(client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if _, none := errors.AsType[*types.LoadBalancerNotFoundException](err); none {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, lb := range page.LoadBalancers {
			if wanted := props.String("loadBalancerType"); wanted == "" || string(lb.Type) == wanted {
				found = append(found, lb)
			}
		}
	}
	return withTags(ctx, client, found, props.List("loadBalancerTags"))
}

// tagsAsked is how many load balancers can be asked for their tags at once.
const tagsAsked = 20

// withTags keeps those that have all of the wanted tags.
func withTags(ctx context.Context, client *elb.Client, from []types.LoadBalancer, wanted []any) ([]types.LoadBalancer, error) {
	if len(wanted) == 0 {
		return from, nil
	}
	var kept []types.LoadBalancer
	for some := range slices.Chunk(from, tagsAsked) {
		var arns []string
		for _, lb := range some {
			arns = append(arns, aws.ToString(lb.LoadBalancerArn))
		}
		out, err := client.DescribeTags(ctx, &elb.DescribeTagsInput{ResourceArns: arns})
		if err != nil {
			return nil, err
		}
		for _, d := range out.TagDescriptions {
			has := func(w any) bool {
				o, _ := w.(*value.Object)
				return slices.ContainsFunc(d.Tags, func(t types.Tag) bool {
					return aws.ToString(t.Key) == o.String("key") && aws.ToString(t.Value) == o.String("value")
				})
			}
			if i := slices.Index(arns, aws.ToString(d.ResourceArn)); i >= 0 && !slices.ContainsFunc(wanted, func(w any) bool { return !has(w) }) {
				kept = append(kept, some[i])
			}
		}
	}
	return kept, nil
}

// described says what was looked for, without whose account it is.
func described(props *value.Object) string {
	var by []string
	for name, v := range props.All() {
		if strings.HasPrefix(name, "loadBalancer") || strings.HasPrefix(name, "listener") {
			by = append(by, name+" "+value.JSON(v))
		}
	}
	return "with " + strings.Join(by, ", ")
}
