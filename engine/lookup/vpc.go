package lookup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/value"
)

// The classes of subnets, by the names that the library has for them.
const (
	public   = "Public"
	private  = "Private"
	isolated = "Isolated"
)

// A subnet as the library wants to know it.
type subnet struct {
	id, zone, cidr string
	routes         string // id of its route table, "" for none
	class, name    string
}

func vpc(ctx context.Context, cfg aws.Config, props *value.Object) (any, error) {
	client := ec2.NewFromConfig(cfg)
	out, err := client.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{Filters: filters(props.Object("filter"))})
	if err != nil {
		return nil, err
	}
	it, err := sole(out.Vpcs, "VPC that matches "+value.JSON(props.Object("filter")))
	if err != nil {
		return nil, err
	}
	id := aws.ToString(it.VpcId)
	subnets, err := subnetsOf(ctx, client, id, props)
	if err != nil {
		return nil, err
	}
	azs := []string{}
	for _, s := range subnets {
		azs = append(azs, s.zone)
	}
	slices.Sort(azs)
	v := value.NewObject(
		"vpcId", id,
		"vpcCidrBlock", aws.ToString(it.CidrBlock),
		"ownerAccountId", aws.ToString(it.OwnerId),
		"availabilityZones", list(slices.Compact(azs), func(az string) any { return az }),
	)
	byZone := slices.SortedStableFunc(slices.Values(subnets), func(a, b subnet) int { return strings.Compare(a.zone, b.zone) })
	for _, class := range []string{public, private, isolated} {
		of := slices.DeleteFunc(slices.Clone(byZone), func(s subnet) bool { return s.class != class })
		prefix := strings.ToLower(class)
		v.Set(prefix+"SubnetIds", list(of, func(s subnet) any { return s.id }))
		v.Set(prefix+"SubnetNames", list(of, func(s subnet) any { return s.name }))
		v.Set(prefix+"SubnetRouteTableIds", list(of, func(s subnet) any { return s.routes }))
	}
	if props.Value("returnVpnGateways") != false {
		out, err := client.DescribeVpnGateways(ctx, &ec2.DescribeVpnGatewaysInput{
			Filters: []types.Filter{filter("attachment.vpc-id", id), filter("attachment.state", "attached")},
		})
		if err != nil {
			return nil, err
		}
		if len(out.VpnGateways) > 0 {
			v.Set("vpnGatewayId", aws.ToString(out.VpnGateways[0].VpnGatewayId))
		}
	}
	if props.Value("returnAsymmetricSubnets") == true {
		v.Set("subnetGroups", groups(subnets))
	}
	return v, nil
}

// groups puts subnets of one class and name together, in the order in which
// the groups were first seen.
func groups(subnets []subnet) []any {
	var all []any
	members := map[[2]string][]subnet{}
	var order [][2]string
	for _, s := range subnets {
		k := [2]string{s.class, s.name}
		if members[k] == nil {
			order = append(order, k)
		}
		members[k] = append(members[k], s)
	}
	for _, k := range order {
		of := members[k]
		slices.SortStableFunc(of, func(a, b subnet) int { return strings.Compare(a.zone, b.zone) })
		all = append(all, value.NewObject("name", k[1], "type", k[0], "subnets", list(of, func(s subnet) any {
			return value.NewObject("subnetId", s.id, "cidr", s.cidr, "availabilityZone", s.zone, "routeTableId", s.routes)
		})))
	}
	return all
}

func list[T any](from []T, member func(T) any) []any {
	all := []any{}
	for _, v := range from {
		all = append(all, member(v))
	}
	return all
}

func subnetsOf(ctx context.Context, client *ec2.Client, vpc string, props *value.Object) ([]subnet, error) {
	in := []types.Filter{filter("vpc-id", vpc)}
	var tables []types.RouteTable
	for pages := ec2.NewDescribeRouteTablesPaginator(client, &ec2.DescribeRouteTablesInput{Filters: in}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		tables = append(tables, page.RouteTables...)
	}
	tag := cmp.Or(props.String("subnetGroupNameTag"), "aws-cdk:subnet-name")
	var all []subnet
	for pages := ec2.NewDescribeSubnetsPaginator(client, &ec2.DescribeSubnetsInput{Filters: in}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range page.Subnets {
			id := aws.ToString(s.SubnetId)
			table := tableOf(tables, id)
			class, err := classOf(s, table)
			if err != nil {
				return nil, fmt.Errorf("subnet %s: %w", id, err)
			}
			all = append(all, subnet{
				id: id, zone: aws.ToString(s.AvailabilityZone), cidr: aws.ToString(s.CidrBlock),
				routes: aws.ToString(table.RouteTableId), class: class, name: cmp.Or(tagged(s.Tags, tag), class),
			})
		}
	}
	return all, nil
}

// tableOf is the route table of a subnet: its own, else the VPC's main one.
func tableOf(tables []types.RouteTable, subnet string) types.RouteTable {
	var main types.RouteTable
	for _, t := range tables {
		for _, a := range t.Associations {
			if aws.ToString(a.SubnetId) == subnet {
				return t
			}
			if aws.ToBool(a.Main) {
				main = t
			}
		}
	}
	return main
}

// classOf tells what a subnet is for: what its tag says, which CDK puts on the
// subnets that it makes, else where its routes lead.
func classOf(s types.Subnet, table types.RouteTable) (string, error) {
	leads := func(to func(types.Route) bool) bool { return slices.ContainsFunc(table.Routes, to) }
	switch tag := tagged(s.Tags, "aws-cdk:subnet-type"); tag {
	case "":
	case public, private, isolated:
		return tag, nil
	case "Deprecated_Private", "Deprecated_Private_NAT":
		return private, nil
	case "Deprecated_Isolated":
		return isolated, nil
	default:
		return "", fmt.Errorf("its tag aws-cdk:subnet-type is %q; it can be Public, Private or Isolated", tag)
	}
	switch {
	case aws.ToBool(s.MapPublicIpOnLaunch), leads(func(r types.Route) bool { return strings.HasPrefix(aws.ToString(r.GatewayId), "igw-") }):
		return public, nil
	case leads(func(r types.Route) bool {
		return strings.HasPrefix(aws.ToString(r.NatGatewayId), "nat-") || r.TransitGatewayId != nil
	}):
		return private, nil
	}
	return isolated, nil
}

func tagged(tags []types.Tag, name string) string {
	for _, t := range tags {
		if aws.ToString(t.Key) == name {
			return aws.ToString(t.Value)
		}
	}
	return ""
}
