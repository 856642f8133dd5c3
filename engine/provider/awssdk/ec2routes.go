package awssdk

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var routeTableGone = []string{"InvalidRouteTableID.NotFound"}

var createRouteTableInput = bindTagged[ec2.CreateRouteTableInput](types.ResourceTypeRouteTable)

func routeTable() provider.Resource {
	return provider.Resource{
		Type:   "AWS::EC2::RouteTable",
		Inputs: []provider.Input{createRouteTableInput},
		Tags:   taggable(physicalID),
		Create: createBy(ec2Once, (*ec2.Client).CreateRouteTable, createRouteTableInput, func(o *ec2.CreateRouteTableOutput) *string { return o.RouteTable.RouteTableId }),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := ec2Client(r.Session).DeleteRouteTable(ctx, &ec2.DeleteRouteTableInput{RouteTableId: &r.PhysicalID})
			return err
		},
		Gone:  routeTableGone,
		Find:  byTag(findTagged),
		Known: idAs("RouteTableId"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			t, err := describeRouteTable(ctx, r, r.PhysicalID)
			if err != nil {
				return nil, err
			}
			return shaped(r.Type, t, t.Tags), nil
		},
	}
}

func describeRouteTable(ctx context.Context, r *provider.Request, id string) (*types.RouteTable, error) {
	out, err := ec2Client(r.Session).DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{RouteTableIds: []string{id}})
	if err != nil {
		return described[types.RouteTable](nil, err, routeTableGone)
	}
	return described(out.RouteTables, nil, routeTableGone)
}

var (
	createRouteInput  = provider.Bind[ec2.CreateRouteInput]()
	replaceRouteInput = provider.Bind[ec2.ReplaceRouteInput]()
)

// A route is known by its table and its destination, as table|destination.
// Another target takes the place of the old one without a gap.
func route() provider.Resource {
	return provider.Resource{
		Type:      "AWS::EC2::Route",
		Inputs:    []provider.Input{createRouteInput},
		Updates:   []provider.Input{replaceRouteInput},
		Exclusive: [][]string{{"DestinationCidrBlock", "DestinationIpv6CidrBlock", "DestinationPrefixListId"}},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, ec2Once, (*ec2.Client).CreateRoute, createRouteInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: routeID(r), Attributes: value.NewObject("CidrBlock", text(r.Properties, "DestinationCidrBlock"))}, nil
		},
		Update: updateBy(ec2Client, (*ec2.Client).ReplaceRoute, replaceRouteInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			table, destination, _ := strings.Cut(r.PhysicalID, "|")
			in := &ec2.DeleteRouteInput{RouteTableId: &table}
			switch {
			case strings.HasPrefix(destination, "pl-"):
				in.DestinationPrefixListId = &destination
			case strings.Contains(destination, ":"):
				in.DestinationIpv6CidrBlock = &destination
			default:
				in.DestinationCidrBlock = &destination
			}
			_, err := ec2Client(r.Session).DeleteRoute(ctx, in)
			return err
		},
		Gone: append(slices.Clone(routeTableGone), "InvalidRoute.NotFound"),
		Find: findRoute,
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			return readRoute(ctx, r, r.PhysicalID)
		},
	}
}

func routeID(r *provider.Request) string {
	p := r.Properties
	return text(p, "RouteTableId") + "|" +
		text(p, "DestinationCidrBlock") + text(p, "DestinationIpv6CidrBlock") + text(p, "DestinationPrefixListId")
}

func readRoute(ctx context.Context, r *provider.Request, id string) (*value.Object, error) {
	table, destination, _ := strings.Cut(id, "|")
	t, err := describeRouteTable(ctx, r, table)
	if err != nil {
		return nil, err
	}
	for _, ro := range t.Routes {
		is := func(s *string) bool { return aws.ToString(s) == destination }
		if !is(ro.DestinationCidrBlock) && !is(ro.DestinationIpv6CidrBlock) && !is(ro.DestinationPrefixListId) {
			continue
		}
		props := shaped("AWS::EC2::Route", ro, nil)
		props.Set("RouteTableId", table)
		if endpoint := aws.ToString(ro.GatewayId); strings.HasPrefix(endpoint, "vpce-") {
			props.Delete("GatewayId")
			props.Set("VpcEndpointId", endpoint)
		}
		if ro.InstanceId != nil && !r.Properties.Has("NetworkInterfaceId") {
			props.Delete("NetworkInterfaceId") // the instance's, told beside it
		}
		return props, nil
	}
	return nil, provider.ErrNotFound
}

// findRoute takes a route to the wanted destination and target for ours.
func findRoute(ctx context.Context, r *provider.Request) (string, error) {
	id := routeID(r)
	props, err := readRoute(ctx, r, id)
	if err != nil {
		return "", nil
	}
	for name, v := range r.Properties.All() {
		if !value.Equal(props.Value(name), v) {
			return "", nil
		}
	}
	return id, nil
}

var associateRouteTableInput = provider.Bind[ec2.AssociateRouteTableInput](provider.Only("RouteTableId", "SubnetId"))

// A subnet has one association with a table. One that replaces another takes
// its place, as the other can be deleted only afterwards.
func routeTableAssociation() provider.Resource {
	return provider.Resource{
		Type:   "AWS::EC2::SubnetRouteTableAssociation",
		PutOn:  []string{"SubnetId"},
		Inputs: []provider.Input{associateRouteTableInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, ec2Once, (*ec2.Client).AssociateRouteTable, associateRouteTableInput)
			if provider.HasCode(err, "Resource.AlreadyAssociated") {
				return replaceAssociation(ctx, r, err)
			}
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: aws.ToString(out.AssociationId)}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := ec2Client(r.Session).DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: &r.PhysicalID})
			return err
		},
		Gone:  []string{"InvalidAssociationID.NotFound"},
		Known: idAs("Id"),
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			a, err := association(ctx, r, having("association.subnet-id", text(r.Properties, "SubnetId")))
			if err != nil || aws.ToString(a.RouteTableId) != text(r.Properties, "RouteTableId") {
				return "", nil
			}
			return aws.ToString(a.RouteTableAssociationId), nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			a, err := association(ctx, r, having("association.route-table-association-id", r.PhysicalID))
			if err != nil {
				return nil, err
			}
			return value.NewObject("RouteTableId", aws.ToString(a.RouteTableId), "SubnetId", aws.ToString(a.SubnetId)), nil
		},
	}
}

// association finds an association by a filter that leads to one table.
func association(ctx context.Context, r *provider.Request, by types.Filter) (*types.RouteTableAssociation, error) {
	out, err := ec2Client(r.Session).DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{Filters: []types.Filter{by}})
	if err != nil {
		return nil, err
	}
	for _, t := range out.RouteTables {
		for _, a := range t.Associations {
			if slices.Contains(by.Values, aws.ToString(a.SubnetId)) || slices.Contains(by.Values, aws.ToString(a.RouteTableAssociationId)) {
				return &a, nil
			}
		}
	}
	return nil, provider.ErrNotFound
}

func replaceAssociation(ctx context.Context, r *provider.Request, refusal error) (provider.Created, error) {
	a, err := association(ctx, r, having("association.subnet-id", text(r.Properties, "SubnetId")))
	if err != nil {
		return provider.Created{}, refusal
	}
	out, err := ec2Client(r.Session).ReplaceRouteTableAssociation(ctx, &ec2.ReplaceRouteTableAssociationInput{
		AssociationId: a.RouteTableAssociationId, RouteTableId: aws.String(text(r.Properties, "RouteTableId")),
	})
	if err != nil {
		return provider.Created{}, err
	}
	return provider.Created{PhysicalID: aws.ToString(out.NewAssociationId)}, nil
}
