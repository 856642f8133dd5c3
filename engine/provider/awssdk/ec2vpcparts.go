package awssdk

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var egressGatewayGone = []string{"InvalidGatewayID.NotFound", "InvalidEgressOnlyInternetGatewayId.NotFound"}

var createEgressGatewayInput = bindTagged[ec2.CreateEgressOnlyInternetGatewayInput](types.ResourceTypeEgressOnlyInternetGateway, provider.Token("ClientToken"))

// An egress-only internet gateway lets IPv6 traffic out of its VPC.
func egressOnlyGateway() provider.Resource {
	return provider.Resource{
		Type:   "AWS::EC2::EgressOnlyInternetGateway",
		Inputs: []provider.Input{createEgressGatewayInput},
		Tags:   taggable(physicalID),
		Create: createBy(ec2Client, (*ec2.Client).CreateEgressOnlyInternetGateway, createEgressGatewayInput, func(o *ec2.CreateEgressOnlyInternetGatewayOutput) *string {
			return o.EgressOnlyInternetGateway.EgressOnlyInternetGatewayId
		}),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := ec2Client(r.Session).DeleteEgressOnlyInternetGateway(ctx, &ec2.DeleteEgressOnlyInternetGatewayInput{EgressOnlyInternetGatewayId: &r.PhysicalID})
			return err
		},
		Gone:  egressGatewayGone,
		Find:  byTag(findTagged),
		Known: idAs("Id"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := ec2Client(r.Session).DescribeEgressOnlyInternetGateways(ctx, &ec2.DescribeEgressOnlyInternetGatewaysInput{EgressOnlyInternetGatewayIds: []string{r.PhysicalID}})
			if err != nil {
				_, err = described[types.EgressOnlyInternetGateway](nil, err, egressGatewayGone)
				return nil, err
			}
			g, err := described(out.EgressOnlyInternetGateways, nil, egressGatewayGone)
			if err != nil {
				return nil, err
			}
			props := shaped(r.Type, g, g.Tags)
			for _, a := range g.Attachments {
				set(props, "VpcId", a.VpcId)
			}
			return props, nil
		},
	}
}

// errBlockUnknown: a VPC may have several blocks that AWS chose.
var errBlockUnknown = errors.New("a block that AWS chooses has nothing to be told apart by: look at the blocks of the VPC")

var associateBlockInput = provider.Bind[ec2.AssociateVpcCidrBlockInput]()

// A vpcBlock is a block of addresses of a VPC, of either kind.
type vpcBlock struct {
	association, block, state, why string
	six                            *types.VpcIpv6CidrBlockAssociation // nil for IPv4
}

// blockOfVPC finds a block in the VPC of the request. A block that is gone is told
// of for a while.
func blockOfVPC(ctx context.Context, r *provider.Request, is func(vpcBlock) bool) (*vpcBlock, error) {
	named := *r
	named.PhysicalID = text(r.Properties, "VpcId")
	v, err := describeVPC(ctx, &named)
	if err != nil {
		return nil, err
	}
	var blocks []vpcBlock
	for _, a := range v.CidrBlockAssociationSet {
		b := vpcBlock{association: aws.ToString(a.AssociationId), block: aws.ToString(a.CidrBlock)}
		if s := a.CidrBlockState; s != nil {
			b.state, b.why = string(s.State), aws.ToString(s.StatusMessage)
		}
		blocks = append(blocks, b)
	}
	for _, a := range v.Ipv6CidrBlockAssociationSet {
		b := vpcBlock{association: aws.ToString(a.AssociationId), block: aws.ToString(a.Ipv6CidrBlock), six: &a}
		if s := a.Ipv6CidrBlockState; s != nil {
			b.state, b.why = string(s.State), aws.ToString(s.StatusMessage)
		}
		blocks = append(blocks, b)
	}
	for _, b := range blocks {
		if is(b) && b.state != string(types.VpcCidrBlockStateCodeDisassociated) {
			return &b, nil
		}
	}
	return nil, provider.ErrNotFound
}

// A block beside the first of a VPC is known by its association and the VPC, as
// association|vpc. Subnets can be in it only once it is associated.
func vpcCIDRBlock() provider.Resource {
	own := func(ctx context.Context, r *provider.Request) (*vpcBlock, error) {
		return blockOfVPC(ctx, r, func(b vpcBlock) bool { return b.association == text(r.Properties, "Id") })
	}
	k := composite{"Id", "VpcId"}
	state := func(ctx context.Context, r *provider.Request) (string, string, error) {
		b, err := own(ctx, k.open(r))
		if err != nil {
			return "", "", err
		}
		return b.state, b.why, nil
	}
	return keyed(k, provider.Resource{
		Type:   "AWS::EC2::VPCCidrBlock",
		Inputs: []provider.Input{associateBlockInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, ec2Once, (*ec2.Client).AssociateVpcCidrBlock, associateBlockInput)
			if err != nil {
				return provider.Created{}, err
			}
			var id *string
			if a := out.CidrBlockAssociation; a != nil {
				id = a.AssociationId
			} else if a := out.Ipv6CidrBlockAssociation; a != nil {
				id = a.AssociationId
			}
			return provider.Created{PhysicalID: aws.ToString(id) + "|" + text(r.Properties, "VpcId")}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			return unblocked(ctx, r, "DependencyViolation", func() error {
				_, err := ec2Client(r.Session).DisassociateVpcCidrBlock(ctx, &ec2.DisassociateVpcCidrBlockInput{AssociationId: aws.String(text(r.Properties, "Id"))})
				return err
			})
		},
		Gone: []string{"InvalidVpcCidrBlockAssociationID.NotFound", "InvalidVpcCidrBlockAssociationIdError.NotFound", "InvalidVpcID.NotFound"},
		Wait: &provider.Waiter{
			From: provider.WaitNone, What: "the block to be associated",
			OK: []string{"associated"}, Failed: []string{"failed", "failing", "disassociating"},
			First: 500 * time.Millisecond, Cap: 5 * time.Second, Timeout: 5 * time.Minute, Read: state,
		},
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			r = k.open(r)
			known := value.NewObject("Id", text(r.Properties, "Id"))
			b, err := own(ctx, r)
			if err != nil || b.six == nil {
				return known, err
			}
			set(known, "IpSource", (*string)(&b.six.IpSource))
			set(known, "Ipv6AddressAttribute", (*string)(&b.six.Ipv6AddressAttribute))
			return known, nil
		},
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			wanted := text(r.Properties, "CidrBlock") + text(r.Properties, "Ipv6CidrBlock")
			if wanted == "" {
				return "", errBlockUnknown
			}
			b, err := blockOfVPC(ctx, r, func(b vpcBlock) bool { return b.block == wanted })
			if err == provider.ErrNotFound {
				return "", nil
			} else if err != nil {
				return "", err
			}
			return b.association + "|" + text(r.Properties, "VpcId"), nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			b, err := own(ctx, r)
			if err != nil {
				return nil, err
			}
			props := value.NewObject("VpcId", text(r.Properties, "VpcId"))
			if b.six == nil {
				props.Set("CidrBlock", b.block)
				return props, nil
			}
			for name, v := range shaped(r.Type, b.six, nil, provider.Rename{"Ipv6CidrBlockNetworkBorderGroup": "NetworkBorderGroup"}).All() {
				props.Set(name, v)
			}
			if r.Properties.Has("AmazonProvidedIpv6CidrBlock") {
				props.Delete("Ipv6CidrBlock")
				props.Set("AmazonProvidedIpv6CidrBlock", b.six.IpSource == types.IpSourceAmazon || aws.ToString(b.six.Ipv6Pool) == "Amazon")
				props.Delete("Ipv6Pool")
			}
			return props, nil
		},
	})
}
