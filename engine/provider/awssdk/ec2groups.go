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

var groupGone = []string{"InvalidGroup.NotFound", "InvalidGroupId.NotFound"}

var createSecurityGroupInput = bindTagged[ec2.CreateSecurityGroupInput](types.ResourceTypeSecurityGroup,
	provider.Rename{"GroupDescription": "Description"},
	provider.Finish(func(r *provider.Request, in *ec2.CreateSecurityGroupInput) error {
		if in.GroupName == nil {
			in.GroupName = aws.String(uniqueName(r, 255))
		}
		return nil
	}))

// uniqueName names what needs a name and is known by an id: a replacement has
// another one than what it replaces.
func uniqueName(r *provider.Request, most int) string {
	name := strings.ReplaceAll(r.Stack.Name, "~", "-") + "-" + r.LogicalID
	suffix := ""
	if r.Token != "" {
		suffix = "-" + r.Token[:min(12, len(r.Token))]
	}
	return name[:min(len(name), most-len(suffix))] + suffix
}

// A group is made open to the outside and closed to the inside. A declared
// list of outbound rules takes the place of the rule that it was made with.
func securityGroup() provider.Resource {
	return provider.Resource{
		Type:   "AWS::EC2::SecurityGroup",
		Inputs: []provider.Input{createSecurityGroupInput},
		Satellites: []provider.Satellite{
			{Properties: []string{ingress.property}, Put: func(ctx context.Context, r *provider.Request) error {
				return ingress.change(ctx, r, r.PhysicalID, r.Previous.List(ingress.property), r.Properties.List(ingress.property))
			}},
			{Properties: []string{egress.property}, Put: putEgress},
		},
		Tags: taggable(physicalID),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, ec2Once, (*ec2.Client).CreateSecurityGroup, createSecurityGroupInput)
			if err != nil {
				return provider.Created{}, err
			}
			made := provider.Created{PhysicalID: aws.ToString(out.GroupId), Attributes: value.NewObject()}
			if id := text(r.Properties, "VpcId"); id != "" {
				made.Attributes.Set("VpcId", id)
			}
			return made, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			return unblocked(ctx, r, "DependencyViolation", func() error {
				return withoutLambda(ctx, r, "group-id", func() error {
					_, err := ec2Client(r.Session).DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &r.PhysicalID})
					return err
				})
			})
		},
		Gone:  groupGone,
		Find:  byTag(findTagged),
		Known: idAs("GroupId", "Id"),
		Read:  readGroup,
	}
}

// everywhere are the outbound rules that a group is made with, the second one
// only in a VPC with IPv6.
func everywhere() []any {
	return []any{
		value.NewObject("IpProtocol", "-1", "CidrIp", "0.0.0.0/0"),
		value.NewObject("IpProtocol", "-1", "CidrIpv6", "::/0"),
	}
}

// putEgress takes an empty list for none, as CloudFormation does: then the
// group is open.
func putEgress(ctx context.Context, r *provider.Request) error {
	old, wanted := r.Previous.List(egress.property), r.Properties.List(egress.property)
	switch {
	case len(wanted) == 0 && len(old) == 0:
		return nil
	case len(wanted) == 0:
		wanted = everywhere()[:1]
	case len(old) == 0:
		old = everywhere()
	}
	return egress.change(ctx, r, r.PhysicalID, old, wanted)
}

func describeGroup(ctx context.Context, r *provider.Request, id string) (*types.SecurityGroup, error) {
	out, err := ec2Client(r.Session).DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
	if err != nil {
		return described[types.SecurityGroup](nil, err, groupGone)
	}
	return described(out.SecurityGroups, nil, groupGone)
}

func readGroup(ctx context.Context, r *provider.Request) (*value.Object, error) {
	g, err := describeGroup(ctx, r, r.PhysicalID)
	if err != nil {
		return nil, err
	}
	props := shaped(r.Type, g, g.Tags, provider.Rename{"GroupDescription": "Description"},
		provider.Skip(ingress.property, egress.property))
	for _, d := range []direction{ingress, egress} {
		if own := d.own(r.Properties, d.rules(d.permissions(g))); len(own) > 0 {
			props.Set(d.property, own)
		}
	}
	return props, nil
}
