package awssdk

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var internetGatewayGone = []string{"InvalidInternetGatewayID.NotFound"}

var createInternetGatewayInput = bindTagged[ec2.CreateInternetGatewayInput](types.ResourceTypeInternetGateway)

func internetGateway() provider.Resource {
	return provider.Resource{
		Type:   "AWS::EC2::InternetGateway",
		Inputs: []provider.Input{createInternetGatewayInput},
		Tags:   taggable(physicalID),
		Create: createBy(ec2Once, (*ec2.Client).CreateInternetGateway, createInternetGatewayInput, func(o *ec2.CreateInternetGatewayOutput) *string { return o.InternetGateway.InternetGatewayId }),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := ec2Client(r.Session).DeleteInternetGateway(ctx, &ec2.DeleteInternetGatewayInput{InternetGatewayId: &r.PhysicalID})
			return err
		},
		Gone:  internetGatewayGone,
		Find:  byTag(findTagged),
		Known: idAs("InternetGatewayId"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			g, err := describeInternetGateway(ctx, r, r.PhysicalID)
			if err != nil {
				return nil, err
			}
			return shaped(r.Type, g, g.Tags), nil
		},
	}
}

// idAs makes a Known of an attribute that is the physical id.
func idAs(attributes ...string) func(r *provider.Request) *value.Object {
	return func(r *provider.Request) *value.Object {
		if r.PhysicalID == "" {
			return nil
		}
		known := value.NewObject()
		for _, a := range attributes {
			known.Set(a, r.PhysicalID)
		}
		return known
	}
}

func describeInternetGateway(ctx context.Context, r *provider.Request, id string) (*types.InternetGateway, error) {
	out, err := ec2Client(r.Session).DescribeInternetGateways(ctx, &ec2.DescribeInternetGatewaysInput{InternetGatewayIds: []string{id}})
	if err != nil {
		return described[types.InternetGateway](nil, err, internetGatewayGone)
	}
	return described(out.InternetGateways, nil, internetGatewayGone)
}

var (
	attachInternetGateway = provider.Bind[ec2.AttachInternetGatewayInput](provider.Only("InternetGatewayId", "VpcId"))
	attachVPNGateway      = provider.Bind[ec2.AttachVpnGatewayInput](provider.Only("VpnGatewayId", "VpcId"))
)

// An attachment is known by its gateway and its VPC, as gateway|vpc.
func gatewayAttachment() provider.Resource {
	return provider.Resource{
		Type:    "AWS::EC2::VPCGatewayAttachment",
		Inputs:  []provider.Input{attachInternetGateway, attachVPNGateway},
		Updates: []provider.Input{attachInternetGateway, attachVPNGateway},
		// An internet gateway is attached at once.
		Wait: &provider.Waiter{
			What: "VPN gateway to be attached", OK: []string{"attached"}, From: provider.WaitNone,
			Read: func(ctx context.Context, r *provider.Request) (string, string, error) {
				if text(r.Properties, "VpnGatewayId") == "" {
					return "attached", "", nil
				}
				return vpnAttachment(ctx, r, r.PhysicalID)
			},
		},
		Exclusive: [][]string{{"InternetGatewayId", "VpnGatewayId"}},
		Create:    attachGateway,
		// A VPC has one gateway of a kind: the old one goes first.
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			if err := detachGateway(ctx, r); err != nil && !provider.HasCode(err, attachmentGone...) {
				return provider.Updated{}, err
			}
			made, err := attachGateway(ctx, r)
			return provider.Updated{PhysicalID: made.PhysicalID, Attributes: made.Attributes}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			return unblocked(ctx, r, "DependencyViolation", func() error { return detachGateway(ctx, r) })
		},
		Gone: attachmentGone,
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			c := *r
			c.PhysicalID = attachmentID(r)
			if _, err := readAttachment(ctx, &c); err != nil {
				return "", nil
			}
			return c.PhysicalID, nil
		},
		Read: readAttachment,
	}
}

var attachmentGone = []string{"Gateway.NotAttached", "InvalidVpnGatewayAttachment.NotFound", "InvalidInternetGatewayID.NotFound", "InvalidVpnGatewayID.NotFound", "InvalidVpcID.NotFound"}

func attachmentID(r *provider.Request) string {
	return text(r.Properties, "InternetGatewayId") + text(r.Properties, "VpnGatewayId") + "|" + text(r.Properties, "VpcId")
}

func isVPN(gateway string) bool { return strings.HasPrefix(gateway, "vgw-") }

func attachGateway(ctx context.Context, r *provider.Request) (provider.Created, error) {
	made := provider.Created{PhysicalID: attachmentID(r), Attributes: value.NewObject("AttachmentType", "IGW")}
	var err error
	if r.Properties.Has("VpnGatewayId") {
		made.Attributes.Set("AttachmentType", "VGW")
		_, err = provider.Invoke(ctx, r, ec2Once, (*ec2.Client).AttachVpnGateway, attachVPNGateway)
	} else {
		_, err = provider.Invoke(ctx, r, ec2Once, (*ec2.Client).AttachInternetGateway, attachInternetGateway)
	}
	if err != nil {
		return provider.Created{}, err
	}
	return made, nil
}

func detachGateway(ctx context.Context, r *provider.Request) error {
	gateway, vpc, _ := strings.Cut(r.PhysicalID, "|")
	if isVPN(gateway) {
		_, err := ec2Client(r.Session).DetachVpnGateway(ctx, &ec2.DetachVpnGatewayInput{VpnGatewayId: &gateway, VpcId: &vpc})
		return err
	}
	_, err := ec2Client(r.Session).DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: &gateway, VpcId: &vpc})
	return err
}

func vpnAttachment(ctx context.Context, r *provider.Request, id string) (state, detail string, err error) {
	gateway, vpc, _ := strings.Cut(id, "|")
	out, err := ec2Client(r.Session).DescribeVpnGateways(ctx, &ec2.DescribeVpnGatewaysInput{VpnGatewayIds: []string{gateway}})
	if err != nil {
		return "", "", err
	}
	for _, g := range out.VpnGateways {
		for _, a := range g.VpcAttachments {
			if aws.ToString(a.VpcId) == vpc {
				return string(a.State), "", nil
			}
		}
	}
	return "detached", "", nil
}

func readAttachment(ctx context.Context, r *provider.Request) (*value.Object, error) {
	gateway, vpc, _ := strings.Cut(r.PhysicalID, "|")
	if isVPN(gateway) {
		state, _, err := vpnAttachment(ctx, r, r.PhysicalID)
		switch {
		case provider.HasCode(err, attachmentGone...) || err == nil && state != "attached" && state != "attaching":
			return nil, provider.ErrNotFound
		case err != nil:
			return nil, err
		}
		return value.NewObject("VpnGatewayId", gateway, "VpcId", vpc), nil
	}
	g, err := describeInternetGateway(ctx, r, gateway)
	if err != nil {
		return nil, err
	}
	for _, a := range g.Attachments {
		if aws.ToString(a.VpcId) == vpc {
			return value.NewObject("InternetGatewayId", gateway, "VpcId", vpc), nil
		}
	}
	return nil, provider.ErrNotFound
}

var natGone = []string{"NatGatewayNotFound"}

var createNATInput = bindTagged[ec2.CreateNatGatewayInput](types.ResourceTypeNatgateway, provider.Token("ClientToken"))

// A NAT gateway takes a minute or two to come up, and must be gone before its
// subnet, its address and the internet gateway can be.
func natGateway() provider.Resource {
	state := func(ctx context.Context, r *provider.Request) (string, string, error) {
		g, err := describeNAT(ctx, r)
		if err != nil {
			return "", "", err
		}
		return string(g.State), aws.ToString(g.FailureMessage), nil
	}
	return provider.Resource{
		Type:    "AWS::EC2::NatGateway",
		Inputs:  []provider.Input{createNATInput},
		Updates: []provider.Input{natAddresses},
		Handled: []string{"MaxDrainDurationSeconds"}, // used when addresses are taken away
		Tags:    taggable(physicalID),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, ec2Client, (*ec2.Client).CreateNatGateway, createNATInput)
			if err != nil {
				return provider.Created{}, err
			}
			g := out.NatGateway
			known := value.NewObject("NatGatewayId", aws.ToString(g.NatGatewayId))
			set(known, "AutoProvisionZones", (*string)(&g.AutoProvisionZones))
			set(known, "AutoScalingIps", (*string)(&g.AutoScalingIps))
			set(known, "RouteTableId", g.RouteTableId)
			return provider.Created{PhysicalID: aws.ToString(g.NatGatewayId), Attributes: known}, nil
		},
		Update: updateNAT,
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := ec2Client(r.Session).DeleteNatGateway(ctx, &ec2.DeleteNatGatewayInput{NatGatewayId: &r.PhysicalID})
			return err
		},
		Gone: natGone,
		Find: byTag(findTagged),
		Wait: &provider.Waiter{
			From: provider.WaitDefault, What: "NAT gateway available",
			OK: []string{"available"}, Failed: []string{"failed", "deleting", "deleted"},
			First: 5 * time.Second, Growth: 1.2, Timeout: 15 * time.Minute,
			Read: func(ctx context.Context, r *provider.Request) (string, string, error) {
				s, detail, err := state(ctx, r)
				if provider.HasCode(err, natGone...) || err == provider.ErrNotFound {
					return "not visible yet", "", nil
				}
				return s, detail, err
			},
			Command: func(r *provider.Request) string {
				return "aws ec2 describe-nat-gateways --nat-gateway-ids " + r.PhysicalID + " --query NatGateways[].State"
			},
		},
		DeleteWait: &provider.Waiter{
			From: provider.WaitNone, What: "NAT gateway deleted", OK: []string{"deleted"},
			First: 5 * time.Second, Growth: 1, Timeout: 15 * time.Minute, Read: state,
		},
		Read: readNAT,
	}
}

func describeNAT(ctx context.Context, r *provider.Request) (*types.NatGateway, error) {
	out, err := ec2Client(r.Session).DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{r.PhysicalID}})
	if err != nil {
		return described[types.NatGateway](nil, err, natGone)
	}
	return described(out.NatGateways, nil, natGone)
}

func readNAT(ctx context.Context, r *provider.Request) (*value.Object, error) {
	g, err := describeNAT(ctx, r)
	if err != nil {
		return nil, err
	}
	if g.State == types.NatGatewayStateDeleted || g.State == types.NatGatewayStateDeleting {
		return nil, provider.ErrNotFound
	}
	props := shaped(r.Type, g, g.Tags)
	var allocations, addresses []string
	for i, a := range g.NatGatewayAddresses {
		switch {
		case aws.ToBool(a.IsPrimary) || a.IsPrimary == nil && i == 0:
			set(props, "AllocationId", a.AllocationId)
			set(props, "PrivateIpAddress", a.PrivateIp)
		case a.AllocationId != nil:
			allocations = append(allocations, *a.AllocationId)
		default:
			addresses = append(addresses, aws.ToString(a.PrivateIp))
		}
	}
	if len(allocations) > 0 && !r.Properties.Has("AvailabilityZoneAddresses") {
		props.Set("SecondaryAllocationIds", list(allocations))
	}
	if len(addresses) > 0 {
		props.Set("SecondaryPrivateIpAddresses", list(addresses))
	}
	return props, nil
}
