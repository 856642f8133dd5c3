package awssdk

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var ruleGone = []string{"InvalidPermission.NotFound", "InvalidSecurityGroupRuleId.NotFound", "InvalidGroup.NotFound", "InvalidGroupId.NotFound"}

// The calls take a rule as members of their own too, which know fewer peers.
var (
	createIngressInput = provider.Bind[ec2.AuthorizeSecurityGroupIngressInput](provider.Finish(
		func(r *provider.Request, in *ec2.AuthorizeSecurityGroupIngressInput) error {
			*in = ec2.AuthorizeSecurityGroupIngressInput{
				GroupId: in.GroupId, GroupName: in.GroupName, IpPermissions: []types.IpPermission{ingress.permission(r.Properties)},
			}
			return nil
		}, "CidrIpv6", "Description", "SourcePrefixListId", "SourceSecurityGroupId"))
	createEgressInput = provider.Bind[ec2.AuthorizeSecurityGroupEgressInput](provider.Finish(
		func(r *provider.Request, in *ec2.AuthorizeSecurityGroupEgressInput) error {
			*in = ec2.AuthorizeSecurityGroupEgressInput{
				GroupId: in.GroupId, IpPermissions: []types.IpPermission{egress.permission(r.Properties)},
			}
			return nil
		}, "CidrIpv6", "Description", "DestinationPrefixListId", "DestinationSecurityGroupId"))
	describeRuleInput = provider.Bind[ec2.UpdateSecurityGroupRuleDescriptionsIngressInput](provider.Only("Description"),
		provider.Finish(func(*provider.Request, *ec2.UpdateSecurityGroupRuleDescriptionsIngressInput) error { return nil }, "Description"))
)

// groupRule is a rule of a group that has a resource of its own. An inbound
// one is known as group|protocol|from|to, in which rules of several peers are
// alike: it is looked for by all that it says. An outbound one is known by its
// rule id.
func groupRule(d direction) provider.Resource {
	typ, input := "AWS::EC2::SecurityGroupIngress", provider.Input(createIngressInput)
	if d.outbound {
		typ, input = "AWS::EC2::SecurityGroupEgress", createEgressInput
	}
	return provider.Resource{
		Type:    typ,
		Inputs:  []provider.Input{input},
		Updates: []provider.Input{describeRuleInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			rules, err := d.create(ctx, r)
			if err != nil {
				return provider.Created{}, err
			}
			made := provider.Created{}
			for _, rule := range rules {
				made.PhysicalID = aws.ToString(rule.SecurityGroupRuleId)
				made.Attributes = value.NewObject("Id", made.PhysicalID)
			}
			if !d.outbound {
				made.PhysicalID = ingressID(r)
			}
			return made, nil
		},
		Update: func(ctx context.Context, r *provider.Request, _ provider.Diff) (provider.Updated, error) {
			return provider.Updated{}, d.describe(ctx, r, ruleGroup(r), []types.IpPermission{d.permission(r.Properties)})
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			if id := ruleID(r); id != "" {
				return d.revokeByID(ctx, r, id)
			}
			return d.revoke(ctx, r, ruleGroup(r), []types.IpPermission{d.permission(r.Properties)})
		},
		Gone: ruleGone,
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			rule, _, err := d.find(ctx, r)
			switch {
			case err != nil:
				return "", nil
			case d.outbound:
				return aws.ToString(rule.SecurityGroupRuleId), nil
			}
			return ingressID(r), nil
		},
		// The create tells the id; a rule that was found or imported is asked.
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			if id := ruleID(r); id != "" {
				return value.NewObject("Id", id), nil
			}
			rule, _, err := d.find(ctx, r)
			if err != nil {
				return nil, err
			}
			return value.NewObject("Id", aws.ToString(rule.SecurityGroupRuleId)), nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			_, props, err := d.find(ctx, r)
			return props, err
		},
	}
}

// ruleID is the rule's own id, "" when it is not recorded.
func ruleID(r *provider.Request) string {
	if strings.HasPrefix(r.PhysicalID, "sgr-") {
		return r.PhysicalID
	}
	return r.Attributes.String("Id")
}

// ruleGroup is the group that the rule is of; one in the default VPC may be
// named instead.
func ruleGroup(r *provider.Request) string {
	if group, _, ok := strings.Cut(r.PhysicalID, "|"); ok {
		return group
	}
	return text(r.Properties, "GroupId") + text(r.Properties, "GroupName")
}

func ingressID(r *provider.Request) string {
	port := func(name string) string {
		if p := text(r.Properties, name); p != "" {
			return p
		}
		return "-1"
	}
	group := text(r.Properties, "GroupId")
	if group == "" {
		group = text(r.Properties, "GroupName")
	}
	return strings.Join([]string{group, text(r.Properties, "IpProtocol"), port("FromPort"), port("ToPort")}, "|")
}

func (d direction) create(ctx context.Context, r *provider.Request) ([]types.SecurityGroupRule, error) {
	if d.outbound {
		out, err := provider.Invoke(ctx, r, ec2Once, (*ec2.Client).AuthorizeSecurityGroupEgress, createEgressInput)
		if err != nil {
			return nil, err
		}
		return out.SecurityGroupRules, nil
	}
	out, err := provider.Invoke(ctx, r, ec2Once, (*ec2.Client).AuthorizeSecurityGroupIngress, createIngressInput)
	if err != nil {
		return nil, err
	}
	return out.SecurityGroupRules, nil
}

func (d direction) revokeByID(ctx context.Context, r *provider.Request, id string) (err error) {
	group := ruleGroup(r)
	if d.outbound {
		_, err = ec2Client(r.Session).RevokeSecurityGroupEgress(ctx, &ec2.RevokeSecurityGroupEgressInput{GroupId: &group, SecurityGroupRuleIds: []string{id}})
	} else {
		_, err = ec2Client(r.Session).RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: &group, SecurityGroupRuleIds: []string{id}})
	}
	return err
}

// find looks for the rule by its id, and without one by what it says.
func (d direction) find(ctx context.Context, r *provider.Request) (*types.SecurityGroupRule, *value.Object, error) {
	in := &ec2.DescribeSecurityGroupRulesInput{}
	id := ruleID(r)
	if id != "" {
		in.SecurityGroupRuleIds = []string{id}
	} else {
		in.Filters = []types.Filter{having("group-id", ruleGroup(r))}
	}
	pages := ec2.NewDescribeSecurityGroupRulesPaginator(ec2Client(r.Session), in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if provider.HasCode(err, ruleGone...) {
			return nil, nil, provider.ErrNotFound
		} else if err != nil {
			return nil, nil, err
		}
		for _, rule := range page.SecurityGroupRules {
			props := d.properties(rule)
			if aws.ToBool(rule.IsEgress) == d.outbound && (id != "" || d.key(props) == d.key(r.Properties)) {
				return &rule, props, nil
			}
		}
	}
	return nil, nil, provider.ErrNotFound
}

// properties is a rule as its resource declares it.
func (d direction) properties(rule types.SecurityGroupRule) *value.Object {
	props := value.NewObject("GroupId", aws.ToString(rule.GroupId), "IpProtocol", aws.ToString(rule.IpProtocol))
	if aws.ToString(rule.IpProtocol) != "-1" {
		if rule.FromPort != nil {
			props.Set("FromPort", value.Int(*rule.FromPort))
		}
		if rule.ToPort != nil {
			props.Set("ToPort", value.Int(*rule.ToPort))
		}
	}
	set(props, "CidrIp", rule.CidrIpv4)
	set(props, "CidrIpv6", rule.CidrIpv6)
	set(props, d.peer+"PrefixListId", rule.PrefixListId)
	if g := rule.ReferencedGroupInfo; g != nil {
		set(props, d.peer+"SecurityGroupId", g.GroupId)
	}
	set(props, "Description", rule.Description)
	return props
}
