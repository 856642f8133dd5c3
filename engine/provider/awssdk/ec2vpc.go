package awssdk

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var vpcGone = []string{"InvalidVpcID.NotFound"}

var (
	createVPCInput = bindTagged[ec2.CreateVpcInput](types.ResourceTypeVpc)
	vpcTenancy     = provider.Bind[ec2.ModifyVpcTenancyInput](provider.ID("VpcId"), provider.Only("InstanceTenancy"), provider.Clear{"InstanceTenancy": "default"})
)

// A VPC's DNS settings have calls of their own, one each. Its default group
// and network ACL are told by nobody but their own describes.
func vpc() provider.Resource {
	return provider.Resource{
		Type:       "AWS::EC2::VPC",
		Inputs:     []provider.Input{createVPCInput},
		Updates:    []provider.Input{vpcTenancy},
		Satellites: []provider.Satellite{{Properties: []string{"EnableDnsSupport", "EnableDnsHostnames"}, Put: putVPCDNS}},
		Tags:       taggable(physicalID),
		Create:     createBy(ec2Once, (*ec2.Client).CreateVpc, createVPCInput, func(o *ec2.CreateVpcOutput) *string { return o.Vpc.VpcId }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			if t := text(r.Properties, "InstanceTenancy"); t != "" && t != "default" {
				return provider.Updated{}, &provider.UnsupportedUpdateError{Type: r.Type, LogicalID: r.LogicalID, Properties: []string{"InstanceTenancy"}}
			}
			_, err := provider.Invoke(ctx, r, ec2Client, (*ec2.Client).ModifyVpcTenancy, vpcTenancy)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			return unblocked(ctx, r, "DependencyViolation", func() error {
				_, err := ec2Client(r.Session).DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: &r.PhysicalID})
				return err
			})
		},
		Gone:       vpcGone,
		Find:       byTag(findTagged),
		Attributes: vpcAttributes,
		Read:       readVPC,
	}
}

// putVPCDNS makes the calls that change something. Host names need DNS: it is
// switched on before them and off after them.
func putVPCDNS(ctx context.Context, r *provider.Request) error {
	support := func(o *value.Object) bool { return !o.Has("EnableDnsSupport") || isTrue(o, "EnableDnsSupport") }
	hostnames := func(o *value.Object) bool { return isTrue(o, "EnableDnsHostnames") }
	var calls []*ec2.ModifyVpcAttributeInput
	if on := support(r.Properties); on != support(r.Previous) {
		calls = append(calls, &ec2.ModifyVpcAttributeInput{VpcId: &r.PhysicalID, EnableDnsSupport: boxedBool(on)})
	}
	if on := hostnames(r.Properties); on != hostnames(r.Previous) {
		calls = append(calls, &ec2.ModifyVpcAttributeInput{VpcId: &r.PhysicalID, EnableDnsHostnames: boxedBool(on)})
	}
	if !support(r.Properties) {
		slices.Reverse(calls)
	}
	for _, in := range calls {
		if _, err := ec2Client(r.Session).ModifyVpcAttribute(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

func describeVPC(ctx context.Context, r *provider.Request) (*types.Vpc, error) {
	out, err := ec2Client(r.Session).DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{r.PhysicalID}})
	if err != nil {
		return described[types.Vpc](nil, err, vpcGone)
	}
	return described(out.Vpcs, nil, vpcGone)
}

// vpcAttributes reads the blocks anew, as others than this type associate
// them, and the defaults unless they are recorded: those never change.
func vpcAttributes(ctx context.Context, r *provider.Request) (*value.Object, error) {
	var v *types.Vpc
	var group, acl string
	reads := []func(context.Context) error{func(ctx context.Context) (err error) {
		v, err = settledVPC(ctx, r)
		return err
	}}
	if !r.Attributes.Has("DefaultSecurityGroup") || !r.Attributes.Has("DefaultNetworkAcl") {
		reads = append(reads, func(ctx context.Context) error {
			out, err := ec2Client(r.Session).DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{
				Filters: []types.Filter{having("vpc-id", r.PhysicalID), having("group-name", "default")},
			})
			if err == nil && len(out.SecurityGroups) > 0 {
				group = aws.ToString(out.SecurityGroups[0].GroupId)
			}
			return err
		}, func(ctx context.Context) error {
			out, err := ec2Client(r.Session).DescribeNetworkAcls(ctx, &ec2.DescribeNetworkAclsInput{
				Filters: []types.Filter{having("vpc-id", r.PhysicalID), having("default", "true")},
			})
			if err == nil && len(out.NetworkAcls) > 0 {
				acl = aws.ToString(out.NetworkAcls[0].NetworkAclId)
			}
			return err
		})
	}
	err := forEach(ctx, reads, func(ctx context.Context, read func(context.Context) error) error { return read(ctx) })
	if err != nil {
		return nil, err
	}
	var blocks, blocks6 []string
	for _, a := range v.CidrBlockAssociationSet {
		blocks = append(blocks, aws.ToString(a.AssociationId))
	}
	for _, a := range v.Ipv6CidrBlockAssociationSet {
		blocks6 = append(blocks6, aws.ToString(a.Ipv6CidrBlock))
	}
	known := value.NewObject("VpcId", r.PhysicalID, "CidrBlock", aws.ToString(v.CidrBlock),
		"CidrBlockAssociations", list(blocks), "Ipv6CidrBlocks", list(blocks6))
	set(known, "DefaultSecurityGroup", &group)
	set(known, "DefaultNetworkAcl", &acl)
	return known, nil
}

// settledVPC describes the VPC when none of its IPv6 blocks is on its way,
// as long as that takes no more than half a minute.
func settledVPC(ctx context.Context, r *provider.Request) (v *types.Vpc, err error) {
	w := provider.Waiter{
		What: "IPv6 blocks of the VPC to be associated", OK: []string{"settled"},
		First: 2 * time.Second, Growth: 1, Timeout: 30 * time.Second, TimeoutWarns: true,
		Read: func(ctx context.Context, r *provider.Request) (string, string, error) {
			if v, err = describeVPC(ctx, r); err == provider.ErrNotFound {
				return "not visible yet", "", nil
			} else if err != nil {
				return "", "", err
			}
			for _, a := range v.Ipv6CidrBlockAssociationSet {
				if a.Ipv6CidrBlockState != nil && a.Ipv6CidrBlockState.State == types.VpcCidrBlockStateCodeAssociating {
					return "associating", "", nil
				}
			}
			return "settled", "", nil
		},
	}
	if waited := w.Wait(ctx, r); waited != nil {
		return nil, waited
	}
	return v, err
}

func readVPC(ctx context.Context, r *provider.Request) (*value.Object, error) {
	v, err := describeVPC(ctx, r)
	if err != nil {
		return nil, err
	}
	props := shaped(r.Type, v, v.Tags)
	c := ec2Client(r.Session)
	var support, hostnames *ec2.DescribeVpcAttributeOutput
	err = forEach(ctx, []types.VpcAttributeName{types.VpcAttributeNameEnableDnsSupport, types.VpcAttributeNameEnableDnsHostnames},
		func(ctx context.Context, name types.VpcAttributeName) error {
			out, err := c.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: &r.PhysicalID, Attribute: name})
			if name == types.VpcAttributeNameEnableDnsSupport {
				support = out
			} else {
				hostnames = out
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	if b := support.EnableDnsSupport; b != nil {
		props.Set("EnableDnsSupport", aws.ToBool(b.Value))
	}
	if b := hostnames.EnableDnsHostnames; b != nil {
		props.Set("EnableDnsHostnames", aws.ToBool(b.Value))
	}
	return props, nil
}
