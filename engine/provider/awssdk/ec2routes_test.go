package awssdk

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/internal/sandbox"
)

func TestRouteTable(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.8.0.0/16")
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := n.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{RouteTableIds: []string{id}})
		if err != nil {
			return nil, err
		}
		return tagsSeen(out.RouteTables[0].Tags, map[string]string{}), nil
	}
	life{
		typ: "AWS::EC2::RouteTable", owner: t.Name() + "1",
		steps: []step{
			{"create", `{"VpcId": "` + n.vpc + `", "Tags": [{"Key": "a", "Value": "1"}]}`, seen, map[string]string{"tag:a": "1", "tag:cdkd-action:create": "set"}},
			{"change tags", `{"VpcId": "` + n.vpc + `", "Tags": [{"Key": "a", "Value": "2"}]}`, seen, map[string]string{"tag:a": "2", "tag:cdkd-action:create": "set"}},
		},
		gone: func(ctx context.Context, id string) error { _, err := seen(ctx, id); return err },
	}.run(t, s)
}

func TestRoute(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.9.0.0/16")
	table, gateway := n.table(), n.gateway(true)
	subnet, address := n.subnet("10.9.1.0/24"), n.address()
	nat, err := n.CreateNatGateway(t.Context(), &ec2.CreateNatGatewayInput{SubnetId: &subnet, AllocationId: &address})
	if err != nil {
		t.Fatal(err)
	}
	seen := func(ctx context.Context, _ string) (any, error) {
		out, err := n.DescribeRouteTables(ctx, &ec2.DescribeRouteTablesInput{RouteTableIds: []string{table}})
		if err != nil {
			return nil, err
		}
		for _, r := range out.RouteTables[0].Routes {
			if aws.ToString(r.DestinationCidrBlock) == "0.0.0.0/0" {
				return aws.ToString(r.GatewayId) + aws.ToString(r.NatGatewayId), nil
			}
		}
		return nil, provider.ErrNotFound
	}
	life{
		typ: "AWS::EC2::Route", owner: t.Name() + "2", id: table + "|0.0.0.0/0", attributes: map[string]string{"CidrBlock": "0.0.0.0/0"},
		steps: []step{
			{"create", `{"RouteTableId": "` + table + `", "DestinationCidrBlock": "0.0.0.0/0", "GatewayId": "` + gateway + `"}`, seen, gateway},
			{"another target takes its place", `{"RouteTableId": "` + table + `", "DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "` + *nat.NatGateway.NatGatewayId + `"}`,
				seen, *nat.NatGateway.NatGatewayId},
		},
		gone: func(ctx context.Context, id string) error { _, err := seen(ctx, id); return err },
	}.run(t, s)
	life{
		typ: "AWS::EC2::Route", owner: t.Name() + "3", id: table + "|::/0",
		steps: []step{{name: "create", props: `{"RouteTableId": "` + table + `", "DestinationIpv6CidrBlock": "::/0", "GatewayId": "` + gateway + `"}`}},
	}.run(t, s)
}

func TestRouteTableAssociation(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.10.0.0/16")
	table, subnet := n.table(), n.subnet("10.10.1.0/24")
	life{
		typ: "AWS::EC2::SubnetRouteTableAssociation", owner: t.Name() + "4",
		steps: []step{{name: "create", props: `{"RouteTableId": "` + table + `", "SubnetId": "` + subnet + `"}`}},
		gone: func(ctx context.Context, id string) error {
			_, err := n.DisassociateRouteTable(ctx, &ec2.DisassociateRouteTableInput{AssociationId: &id})
			return err
		},
	}.run(t, s)
}

// A subnet that has an association already is refused another one: a
// replacement takes its place, and the old one is gone by its delete.
func TestRouteTableAssociationIsReplaced(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.11.0.0/16")
	first, second, subnet := n.table(), n.table(), n.subnet("10.11.1.0/24")
	d := provider.Drive(describe(t, "AWS::EC2::SubnetRouteTableAssociation"), nil)
	request := func(table string) *provider.Request {
		return &provider.Request{Session: s, Stack: stack, LogicalID: "A", Type: "AWS::EC2::SubnetRouteTableAssociation",
			Properties: object(t, `{"RouteTableId": "`+table+`", "SubnetId": "`+subnet+`"}`)}
	}
	old, err := d.Create(t.Context(), request(first))
	if err != nil {
		t.Fatal(err)
	}
	defer moto.RemoveFault(moto.AddFault(sandbox.Fault{Service: "ec2", Action: "AssociateRouteTable", Mentions: subnet, Code: "Resource.AlreadyAssociated"}))
	made, err := d.Create(t.Context(), request(second))
	if err != nil {
		t.Fatal(err)
	}
	r := request(first)
	r.PhysicalID = old.PhysicalID
	if _, err := d.Delete(t.Context(), r); err != nil {
		t.Error(err)
	}
	r = request(second)
	r.PhysicalID = made.PhysicalID
	got, err := d.Read(t.Context(), r)
	if err != nil || text(got, "RouteTableId") != second {
		t.Errorf("%v, %v, want table %s", got, err, second)
	}
}
