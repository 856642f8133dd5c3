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

var endpointGone = []string{"InvalidVpcEndpointId.NotFound", "InvalidVpcEndpoint.NotFound"}

// inboundOnly says of a switch what the API says with a boolean.
const inboundOnly = "OnlyInboundResolver"

func isInboundOnly(v any) (bool, error) { return v == inboundOnly, nil }

var (
	createEndpointInput = bindTagged[ec2.CreateVpcEndpointInput](types.ResourceTypeVpcEndpoint, provider.Token("ClientToken"),
		provider.JSON("PolicyDocument"), provider.Custom("DnsOptions.PrivateDnsOnlyForInboundResolverEndpoint", isInboundOnly))
	modifyEndpointInput = provider.Bind[ec2.ModifyVpcEndpointInput](provider.ID("VpcEndpointId"),
		provider.Only("DnsOptions", "IpAddressType", "PolicyDocument", "PrivateDnsEnabled"),
		provider.JSON("PolicyDocument"), provider.Custom("DnsOptions.PrivateDnsOnlyForInboundResolverEndpoint", isInboundOnly),
		provider.Clear{"PrivateDnsEnabled": false, "IpAddressType": "ipv4"},
		provider.Finish(modifyEndpoint, "RouteTableIds", "SecurityGroupIds", "SubnetIds"))
	endpointLists = provider.Bind[ec2.CreateVpcEndpointInput](provider.Only("RouteTableIds", "SecurityGroupIds", "SubnetIds"))
)

// modifyEndpoint sends what differs: some of the settings are refused by some
// kinds of endpoint.
func modifyEndpoint(r *provider.Request, in *ec2.ModifyVpcEndpointInput) error {
	d := provider.Compare(r.Previous, r.Properties)
	if !d.Changed("DnsOptions") {
		in.DnsOptions = nil
	}
	if !d.Changed("IpAddressType") {
		in.IpAddressType = ""
	}
	if !d.Changed("PrivateDnsEnabled") {
		in.PrivateDnsEnabled = nil
	}
	if !d.Changed("PolicyDocument") {
		in.PolicyDocument = nil
	} else if d.Removed("PolicyDocument") {
		in.ResetPolicy = aws.Bool(true)
	}
	change := func(property string) (add, remove []string) {
		old, wanted := texts(r.Previous, property), texts(r.Properties, property)
		return less(wanted, old), less(old, wanted)
	}
	in.AddRouteTableIds, in.RemoveRouteTableIds = change("RouteTableIds")
	in.AddSecurityGroupIds, in.RemoveSecurityGroupIds = change("SecurityGroupIds")
	in.AddSubnetIds, in.RemoveSubnetIds = change("SubnetIds")
	return nil
}

// An endpoint of the gateway kind is there at once. The others take a minute
// or more, and their interfaces keep subnets and groups until they are gone.
func vpcEndpoint() provider.Resource {
	return provider.Resource{
		Type:    "AWS::EC2::VPCEndpoint",
		Inputs:  []provider.Input{createEndpointInput},
		Updates: []provider.Input{modifyEndpointInput, endpointLists},
		Tags:    taggable(physicalID),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, ec2Client, (*ec2.Client).CreateVpcEndpoint, createEndpointInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: aws.ToString(out.VpcEndpoint.VpcEndpointId), Attributes: endpointAttributes(out.VpcEndpoint)}, nil
		},
		Update: updateBy(ec2Client, (*ec2.Client).ModifyVpcEndpoint, modifyEndpointInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			out, err := ec2Client(r.Session).DeleteVpcEndpoints(ctx, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{r.PhysicalID}})
			if err != nil {
				return err
			}
			return unsuccessful(out.Unsuccessful)
		},
		Gone: endpointGone,
		Find: byTag(findTagged),
		Wait: &provider.Waiter{
			From: provider.WaitDefault, What: "VPC endpoint available",
			OK: []string{"available", "pendingacceptance"}, Failed: []string{"failed", "rejected", "expired", "deleting", "deleted"},
			First: 3 * time.Second, Timeout: 15 * time.Minute,
			Read: func(ctx context.Context, r *provider.Request) (string, string, error) {
				if isGatewayEndpoint(r) {
					return "available", "", nil
				}
				e, err := describeEndpoint(ctx, r)
				if err == provider.ErrNotFound {
					return "not visible yet", "", nil
				} else if err != nil {
					return "", "", err
				}
				detail := aws.ToString(e.FailureReason)
				if e.LastError != nil {
					detail = aws.ToString(e.LastError.Message)
				}
				return endpointState(e), detail, nil
			},
			Command: func(r *provider.Request) string {
				if isGatewayEndpoint(r) {
					return ""
				}
				return "aws ec2 describe-vpc-endpoints --vpc-endpoint-ids " + r.PhysicalID + " --query VpcEndpoints[].State"
			},
		},
		DeleteWait: &provider.Waiter{
			From: provider.WaitNone, What: "VPC endpoint deleted", OK: []string{"deleted"}, First: 3 * time.Second, Timeout: 15 * time.Minute,
			Read: func(ctx context.Context, r *provider.Request) (string, string, error) {
				if isGatewayEndpoint(r) {
					return "deleted", "", nil
				}
				e, err := describeEndpoint(ctx, r)
				if err != nil {
					return "", "", err
				}
				return endpointState(e), "", nil
			},
		},
		// The interfaces are known when they are there.
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			if isGatewayEndpoint(r) {
				return nil, nil
			}
			e, err := describeEndpoint(ctx, r)
			if err == provider.ErrNotFound {
				return nil, nil // not visible yet; the create told some
			} else if err != nil {
				return nil, err
			}
			return endpointAttributes(e), nil
		},
		Read: readEndpoint,
	}
}

func isGatewayEndpoint(r *provider.Request) bool {
	kind := text(r.Properties, "VpcEndpointType")
	return kind == "" || kind == string(types.VpcEndpointTypeGateway)
}

// endpointState is the state in lower case: the service and its model write it
// differently.
func endpointState(e *types.VpcEndpoint) string { return strings.ToLower(string(e.State)) }

func endpointAttributes(e *types.VpcEndpoint) *value.Object {
	var names []string
	for _, n := range e.DnsEntries {
		names = append(names, aws.ToString(n.HostedZoneId)+":"+aws.ToString(n.DnsName))
	}
	known := value.NewObject("Id", aws.ToString(e.VpcEndpointId), "DnsEntries", list(names), "NetworkInterfaceIds", list(e.NetworkInterfaceIds))
	if e.CreationTimestamp != nil {
		known.Set("CreationTimestamp", e.CreationTimestamp.UTC().Format(time.RFC3339))
	}
	return known
}

func describeEndpoint(ctx context.Context, r *provider.Request) (*types.VpcEndpoint, error) {
	out, err := ec2Client(r.Session).DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{r.PhysicalID}})
	if err != nil {
		return described[types.VpcEndpoint](nil, err, endpointGone)
	}
	return described(out.VpcEndpoints, nil, endpointGone)
}

func readEndpoint(ctx context.Context, r *provider.Request) (*value.Object, error) {
	e, err := describeEndpoint(ctx, r)
	if err != nil {
		return nil, err
	}
	if s := endpointState(e); s == "deleting" || s == "deleted" {
		return nil, provider.ErrNotFound
	}
	props := shaped(r.Type, e, e.Tags, provider.Skip("DnsOptions.PrivateDnsOnlyForInboundResolverEndpoint"))
	if o := e.DnsOptions; o != nil && o.PrivateDnsOnlyForInboundResolverEndpoint != nil && props.Object("DnsOptions") != nil {
		who := "AllResolvers"
		if *o.PrivateDnsOnlyForInboundResolverEndpoint {
			who = inboundOnly
		}
		props.Object("DnsOptions").Set("PrivateDnsOnlyForInboundResolverEndpoint", who)
	}
	if p := aws.ToString(e.PolicyDocument); p != "" {
		props.Set("PolicyDocument", parsed(p))
	}
	var groups []string
	for _, g := range e.Groups {
		groups = append(groups, aws.ToString(g.GroupId))
	}
	for name, ids := range map[string][]string{"SecurityGroupIds": groups, "SubnetIds": e.SubnetIds, "RouteTableIds": e.RouteTableIds} {
		props.Delete(name)
		if len(ids) > 0 {
			props.Set(name, list(ids))
		}
	}
	return props, nil
}
