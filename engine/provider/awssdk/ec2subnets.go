package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var subnetGone = []string{"InvalidSubnetID.NotFound"}

var (
	createSubnetInput = bindTagged[ec2.CreateSubnetInput](types.ResourceTypeSubnet)
	subnetBlock       = provider.Bind[ec2.AssociateSubnetCidrBlockInput](provider.ID("SubnetId"), provider.Only("Ipv6CidrBlock"))
)

// A subnet's switches are changed one a call, and one after the other.
func subnet() provider.Resource {
	return provider.Resource{
		Type:    "AWS::EC2::Subnet",
		Inputs:  []provider.Input{createSubnetInput},
		Updates: []provider.Input{subnetBlock},
		Satellites: []provider.Satellite{
			subnetSwitch("MapPublicIpOnLaunch", func(in *ec2.ModifySubnetAttributeInput, on bool) { in.MapPublicIpOnLaunch = boxedBool(on) }),
			subnetSwitch("AssignIpv6AddressOnCreation", func(in *ec2.ModifySubnetAttributeInput, on bool) { in.AssignIpv6AddressOnCreation = boxedBool(on) }),
			subnetSwitch("EnableDns64", func(in *ec2.ModifySubnetAttributeInput, on bool) { in.EnableDns64 = boxedBool(on) }),
			{Properties: []string{"EnableLniAtDeviceIndex"}, Serial: true, Put: putLocalInterfaces},
			{Properties: []string{"PrivateDnsNameOptionsOnLaunch"}, Serial: true, Put: putSubnetNames},
		},
		Tags: taggable(physicalID),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, ec2Once, (*ec2.Client).CreateSubnet, createSubnetInput)
			if err != nil {
				return provider.Created{}, err
			}
			s := out.Subnet
			known := value.NewObject("SubnetId", aws.ToString(s.SubnetId))
			set(known, "AvailabilityZone", s.AvailabilityZone)
			set(known, "AvailabilityZoneId", s.AvailabilityZoneId)
			set(known, "CidrBlock", s.CidrBlock)
			set(known, "OutpostArn", s.OutpostArn)
			set(known, "VpcId", s.VpcId)
			// Blocks may be associated later by a resource of their own: that there
			// are none yet is not recorded.
			var blocks []string
			for _, a := range s.Ipv6CidrBlockAssociationSet {
				blocks = append(blocks, aws.ToString(a.Ipv6CidrBlock))
			}
			if len(blocks) > 0 {
				known.Set("Ipv6CidrBlocks", list(blocks))
			}
			return provider.Created{PhysicalID: aws.ToString(s.SubnetId), Attributes: known}, nil
		},
		Update: updateSubnet,
		Delete: func(ctx context.Context, r *provider.Request) error {
			return unblocked(ctx, r, "DependencyViolation", func() error {
				return withoutLambda(ctx, r, "subnet-id", func() error {
					_, err := ec2Client(r.Session).DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: &r.PhysicalID})
					return err
				})
			})
		},
		Gone: subnetGone,
		Find: byTag(findTagged),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			s, err := describeSubnet(ctx, r)
			if err != nil {
				return nil, err
			}
			props := shaped(r.Type, s, s.Tags)
			if block := blockAssociation(s, ""); block != nil {
				set(props, "Ipv6CidrBlock", block.Ipv6CidrBlock)
			}
			return props, nil
		},
	}
}

func modifySubnet(ctx context.Context, r *provider.Request, in *ec2.ModifySubnetAttributeInput) error {
	in.SubnetId = &r.PhysicalID
	_, err := ec2Client(r.Session).ModifySubnetAttribute(ctx, in)
	return err
}

// subnetSwitch is the satellite of a setting that a new subnet has off.
func subnetSwitch(property string, put func(in *ec2.ModifySubnetAttributeInput, on bool)) provider.Satellite {
	return provider.Satellite{
		Properties: []string{property}, Serial: true,
		Put: func(ctx context.Context, r *provider.Request) error {
			on := isTrue(r.Properties, property)
			if !on && r.Previous == nil {
				return nil
			}
			in := &ec2.ModifySubnetAttributeInput{}
			put(in, on)
			return modifySubnet(ctx, r, in)
		},
	}
}

func putLocalInterfaces(ctx context.Context, r *provider.Request) error {
	if !r.Properties.Has("EnableLniAtDeviceIndex") {
		return modifySubnet(ctx, r, &ec2.ModifySubnetAttributeInput{DisableLniAtDeviceIndex: boxedBool(true)})
	}
	in, err := localInterfaces.Input(r)
	if err != nil {
		return err
	}
	return modifySubnet(ctx, r, in)
}

var localInterfaces = provider.Bind[ec2.ModifySubnetAttributeInput](provider.Only("EnableLniAtDeviceIndex"))

// putSubnetNames changes how instances are named, three settings of a call
// each. They are compared with those of a new subnet when none are recorded.
func putSubnetNames(ctx context.Context, r *provider.Request) error {
	old, wanted := r.Previous.Object("PrivateDnsNameOptionsOnLaunch"), r.Properties.Object("PrivateDnsNameOptionsOnLaunch")
	hostname := func(o *value.Object) types.HostnameType {
		if t := text(o, "HostnameType"); t != "" {
			return types.HostnameType(t)
		}
		return types.HostnameTypeIpName
	}
	if h := hostname(wanted); h != hostname(old) {
		if err := modifySubnet(ctx, r, &ec2.ModifySubnetAttributeInput{PrivateDnsHostnameTypeOnLaunch: h}); err != nil {
			return err
		}
	}
	if on := isTrue(wanted, "EnableResourceNameDnsARecord"); on != isTrue(old, "EnableResourceNameDnsARecord") {
		if err := modifySubnet(ctx, r, &ec2.ModifySubnetAttributeInput{EnableResourceNameDnsARecordOnLaunch: boxedBool(on)}); err != nil {
			return err
		}
	}
	if on := isTrue(wanted, "EnableResourceNameDnsAAAARecord"); on != isTrue(old, "EnableResourceNameDnsAAAARecord") {
		return modifySubnet(ctx, r, &ec2.ModifySubnetAttributeInput{EnableResourceNameDnsAAAARecordOnLaunch: boxedBool(on)})
	}
	return nil
}

func describeSubnet(ctx context.Context, r *provider.Request) (*types.Subnet, error) {
	out, err := ec2Client(r.Session).DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{r.PhysicalID}})
	if err != nil {
		return described[types.Subnet](nil, err, subnetGone)
	}
	return described(out.Subnets, nil, subnetGone)
}

// blockAssociation finds the association of an IPv6 block, of any for "".
func blockAssociation(s *types.Subnet, block string) *types.SubnetIpv6CidrBlockAssociation {
	for i, a := range s.Ipv6CidrBlockAssociationSet {
		gone := a.Ipv6CidrBlockState != nil && a.Ipv6CidrBlockState.State == types.SubnetCidrBlockStateCodeDisassociated
		if !gone && (block == "" || aws.ToString(a.Ipv6CidrBlock) == block) {
			return &s.Ipv6CidrBlockAssociationSet[i]
		}
	}
	return nil
}

// updateSubnet changes the IPv6 block; a subnet has room for one.
func updateSubnet(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	c := ec2Client(r.Session)
	if old := text(r.Previous, "Ipv6CidrBlock"); old != "" {
		s, err := describeSubnet(ctx, r)
		if err != nil {
			return provider.Updated{}, err
		}
		if a := blockAssociation(s, old); a != nil {
			if _, err := c.DisassociateSubnetCidrBlock(ctx, &ec2.DisassociateSubnetCidrBlockInput{AssociationId: a.AssociationId}); err != nil {
				return provider.Updated{}, err
			}
		}
	}
	block := text(r.Properties, "Ipv6CidrBlock")
	if block == "" {
		return provider.Updated{Attributes: value.NewObject("Ipv6CidrBlocks", []any{})}, nil
	}
	_, err := provider.Invoke(ctx, r, ec2Client, (*ec2.Client).AssociateSubnetCidrBlock, subnetBlock)
	return provider.Updated{Attributes: value.NewObject("Ipv6CidrBlocks", list([]string{block}))}, err
}
