package awssdk

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func elbClient(s *provider.Session) *elbv2.Client { return provider.Client(s, elbv2.NewFromConfig) }

func elbOnce(s *provider.Session) *elbv2.Client { return provider.OnceClient(s, elbv2.NewFromConfig) }

func elbv2Resources() []provider.Resource {
	return []provider.Resource{loadBalancer(), targetGroup(), listener(), listenerRule()}
}

var (
	createBalancerInput = provider.Bind[elbv2.CreateLoadBalancerInput](
		provider.Rename{"Ipv4IpamPoolId": "IpamPools.Ipv4IpamPoolId"})
	setSubnetsInput = provider.Bind[elbv2.SetSubnetsInput](
		provider.ID("LoadBalancerArn"), provider.Clear{"EnablePrefixForIpv6SourceNat": "off", "IpAddressType": "ipv4"})
	setGroupsInput = provider.Bind[elbv2.SetSecurityGroupsInput](
		provider.ID("LoadBalancerArn"), provider.Clear{"EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic": "on"})
	reserveInput = provider.Bind[elbv2.ModifyCapacityReservationInput](
		provider.ID("LoadBalancerArn"), provider.Only("MinimumLoadBalancerCapacity"))
)

// A load balancer is known by its ARN. A create under a name that is in use
// hands back the balancer that has it, if the settings are the same.
func loadBalancer() provider.Resource {
	return provider.Resource{
		Type:      "AWS::ElasticLoadBalancingV2::LoadBalancer",
		Name:      "Name",
		Inputs:    []provider.Input{createBalancerInput},
		Exclusive: [][]string{{"Subnets", "SubnetMappings"}},
		Satellites: []provider.Satellite{
			elbAttributes("LoadBalancerAttributes", balancerDefaults, func(ctx context.Context, r *provider.Request, list []types.LoadBalancerAttribute) error {
				_, err := elbClient(r.Session).ModifyLoadBalancerAttributes(ctx, &elbv2.ModifyLoadBalancerAttributesInput{LoadBalancerArn: &r.PhysicalID, Attributes: list})
				return err
			}, func(k, v string) types.LoadBalancerAttribute { return types.LoadBalancerAttribute{Key: &k, Value: &v} }),
			{
				Properties: []string{"EnforceSecurityGroupInboundRulesOnPrivateLinkTraffic"}, Input: setGroupsInput,
				Put: provider.Call(elbClient, (*elbv2.Client).SetSecurityGroups, setGroupsInput),
			},
			{
				Properties: []string{"MinimumLoadBalancerCapacity", "EnableCapacityReservationProvisionStabilize"}, Settled: true,
				Put: reserveCapacity,
			},
		},
		Tags: elbTags(),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, elbOnce, (*elbv2.Client).CreateLoadBalancer, createBalancerInput)
			if err != nil {
				return provider.Created{}, err
			}
			lb := out.LoadBalancers[0]
			return provider.Created{PhysicalID: *lb.LoadBalancerArn, Attributes: balancerAttributes(lb)}, nil
		},
		Update: updateBalancer,
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := elbClient(r.Session).DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &r.PhysicalID})
			return err
		},
		Gone: []string{"LoadBalancerNotFound"},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			_, full, _ := strings.Cut(r.PhysicalID, ":loadbalancer/")
			return value.NewObject("LoadBalancerArn", r.PhysicalID, "LoadBalancerFullName", full)
		},
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			if r.Attributes.Has("DNSName") {
				return nil, nil // the create told it
			}
			lb, err := balancerAt(ctx, r)
			if err != nil {
				return nil, err
			}
			return balancerAttributes(*lb), nil
		},
		Wait: &provider.Waiter{
			What: "the load balancer to be active", OK: []string{"active", "active_impaired"}, Failed: []string{"failed"},
			First: 5 * time.Second,
			Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
				lb, err := balancerAt(ctx, r)
				if err != nil || lb.State == nil {
					return "", "", err
				}
				return string(lb.State.Code), aws.ToString(lb.State.Reason), nil
			},
			Command: func(r *provider.Request) string {
				return "aws elbv2 describe-load-balancers --region " + r.Stack.Region + " --load-balancer-arns " + r.PhysicalID + " --query 'LoadBalancers[0].State'"
			},
		},
		Lookup: func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			return balancerNamed(ctx, r, r.Name)
		},
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			return balancerNamed(ctx, r, text(r.Properties, "Name"))
		}),
		Unprotect: func(ctx context.Context, r *provider.Request) error {
			_, err := elbClient(r.Session).ModifyLoadBalancerAttributes(ctx, &elbv2.ModifyLoadBalancerAttributesInput{
				LoadBalancerArn: &r.PhysicalID,
				Attributes:      []types.LoadBalancerAttribute{{Key: aws.String("deletion_protection.enabled"), Value: aws.String("false")}},
			})
			return err
		},
	}
}

func balancerAttributes(lb types.LoadBalancer) *value.Object {
	return value.NewObject(
		"CanonicalHostedZoneID", aws.ToString(lb.CanonicalHostedZoneId),
		"DNSName", aws.ToString(lb.DNSName),
		"LoadBalancerName", aws.ToString(lb.LoadBalancerName),
		"SecurityGroups", list(lb.SecurityGroups))
}

func balancerAt(ctx context.Context, r *provider.Request) (*types.LoadBalancer, error) {
	out, err := elbClient(r.Session).DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{r.PhysicalID}})
	if err != nil {
		return nil, err
	}
	if len(out.LoadBalancers) == 0 {
		return nil, provider.ErrNotFound
	}
	return &out.LoadBalancers[0], nil
}

// balancerNamed tells who has a name.
func balancerNamed(ctx context.Context, r *provider.Request, name string) (*provider.Holder, error) {
	out, err := elbClient(r.Session).DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{Names: []string{name}})
	if provider.HasCode(err, "LoadBalancerNotFound") {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if len(out.LoadBalancers) == 0 {
		return nil, nil
	}
	lb := out.LoadBalancers[0]
	tags, err := elbTagsOf(ctx, r, *lb.LoadBalancerArn)
	return withTags(&provider.Holder{PhysicalID: *lb.LoadBalancerArn, Created: aws.ToTime(lb.CreatedTime)}, tags, err)
}

func updateBalancer(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	c := elbClient(r.Session)
	switch {
	case d.Changed("Subnets", "SubnetMappings", "EnablePrefixForIpv6SourceNat"):
		if _, err := provider.Invoke(ctx, r, elbClient, (*elbv2.Client).SetSubnets, setSubnetsInput); err != nil {
			return provider.Updated{}, err
		}
	case d.Changed("IpAddressType"):
		kind := types.IpAddressTypeIpv4
		if r.Properties.Has("IpAddressType") {
			kind = types.IpAddressType(text(r.Properties, "IpAddressType"))
		}
		if _, err := c.SetIpAddressType(ctx, &elbv2.SetIpAddressTypeInput{LoadBalancerArn: &r.PhysicalID, IpAddressType: kind}); err != nil {
			return provider.Updated{}, err
		}
	}
	if d.Changed("Ipv4IpamPoolId") {
		in := &elbv2.ModifyIpPoolsInput{LoadBalancerArn: &r.PhysicalID}
		if pool := text(r.Properties, "Ipv4IpamPoolId"); pool != "" {
			in.IpamPools = &types.IpamPools{Ipv4IpamPoolId: &pool}
		} else {
			in.RemoveIpamPools = []types.RemoveIpamPoolEnum{types.RemoveIpamPoolEnumIpv4}
		}
		if _, err := c.ModifyIpPools(ctx, in); err != nil {
			return provider.Updated{}, err
		}
	}
	// A balancer always has groups: those of a list that left the template stay.
	if !d.Changed("SecurityGroups") || !r.Properties.Has("SecurityGroups") {
		return provider.Updated{}, nil
	}
	out, err := provider.Invoke(ctx, r, elbClient, (*elbv2.Client).SetSecurityGroups, setGroupsInput)
	if err != nil {
		return provider.Updated{}, err
	}
	return provider.Updated{Attributes: value.NewObject("SecurityGroups", list(out.SecurityGroupIds))}, nil
}

// reserveCapacity reserves capacity, or gives it up, and waits for it when the
// template says so.
func reserveCapacity(ctx context.Context, r *provider.Request) error {
	if !value.Equal(r.Previous.Value("MinimumLoadBalancerCapacity"), r.Properties.Value("MinimumLoadBalancerCapacity")) {
		in, err := reserveInput.Input(r)
		if err != nil {
			return err
		}
		if in.MinimumLoadBalancerCapacity == nil {
			in.ResetCapacityReservation = aws.Bool(true)
		}
		if _, err := elbClient(r.Session).ModifyCapacityReservation(ctx, in); err != nil {
			return err
		}
	}
	if text(r.Properties, "EnableCapacityReservationProvisionStabilize") != "true" ||
		!r.Properties.Has("MinimumLoadBalancerCapacity") || !capacityReserved.Applies(r.Wait) {
		return nil
	}
	return capacityReserved.Wait(ctx, r)
}

var capacityReserved = &provider.Waiter{
	What: "the load balancer's capacity to be provisioned", OK: []string{"provisioned"}, Failed: []string{"failed"},
	First: 5 * time.Second, Cap: 15 * time.Second, TimeoutWarns: true,
	Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		out, err := elbClient(r.Session).DescribeCapacityReservation(ctx, &elbv2.DescribeCapacityReservationInput{LoadBalancerArn: &r.PhysicalID})
		if err != nil {
			return "", "", err
		}
		state = "provisioned"
		for _, zone := range out.CapacityReservationState {
			if zone.State == nil || zone.State.Code == types.CapacityReservationStateEnumProvisioned {
				continue
			}
			state, detail = string(zone.State.Code), aws.ToString(zone.State.Reason)
			if state == "failed" {
				break
			}
		}
		return state, detail, nil
	},
}

func elbTags() provider.Tags {
	return provider.Tags{
		Property: "Tags", AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			in := &elbv2.AddTagsInput{ResourceArns: []string{r.PhysicalID}}
			for _, k := range slices.Sorted(maps.Keys(tags)) {
				in.Tags = append(in.Tags, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
			}
			_, err := elbClient(r.Session).AddTags(ctx, in)
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			_, err := elbClient(r.Session).RemoveTags(ctx, &elbv2.RemoveTagsInput{ResourceArns: []string{r.PhysicalID}, TagKeys: keys})
			return err
		},
	}
}

// elbTagsOf reads the tags of one resource.
func elbTagsOf(ctx context.Context, r *provider.Request, id string) (map[string]string, error) {
	out, err := elbClient(r.Session).DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: []string{id}})
	if err != nil || len(out.TagDescriptions) == 0 {
		return nil, err
	}
	return tagMap(out.TagDescriptions[0].Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value }), nil
}
