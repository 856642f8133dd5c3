package awssdk

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/internal/sandbox"
)

func TestInternetGateway(t *testing.T) {
	s := emulated(t)
	c := ec2.NewFromConfig(s.Config)
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.DescribeInternetGateways(ctx, &ec2.DescribeInternetGatewaysInput{InternetGatewayIds: []string{id}})
		if err != nil {
			return nil, err
		}
		return tagsSeen(out.InternetGateways[0].Tags, map[string]string{}), nil
	}
	life{
		typ: "AWS::EC2::InternetGateway", owner: t.Name() + "3",
		steps: []step{
			{"create", `{"Tags": [{"Key": "a", "Value": "1"}]}`, seen, map[string]string{"tag:a": "1", "tag:cdkd-action:create": "set"}},
			{"no tags", `{}`, seen, map[string]string{"tag:cdkd-action:create": "set"}},
		},
		gone: func(ctx context.Context, id string) error { _, err := seen(ctx, id); return err },
	}.run(t, s)
}

// Ids in the form that records have always had (S-49).
func TestGatewayAttachment(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.4.0.0/16")
	g := n.gateway(false)
	life{
		typ: "AWS::EC2::VPCGatewayAttachment", owner: t.Name() + "4", id: g + "|" + n.vpc, attributes: map[string]string{"AttachmentType": "IGW"},
		steps: []step{{name: "create", props: `{"InternetGatewayId": "` + g + `", "VpcId": "` + n.vpc + `"}`}},
		gone: func(ctx context.Context, id string) error {
			_, err := n.DetachInternetGateway(ctx, &ec2.DetachInternetGatewayInput{InternetGatewayId: &g, VpcId: &n.vpc})
			return err
		},
	}.run(t, s)
}

func TestGatewayAttachmentOfAnotherGateway(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.5.0.0/16")
	old, new := n.gateway(true), n.gateway(false)
	d := provider.Drive(describe(t, "AWS::EC2::VPCGatewayAttachment"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "A", Type: "AWS::EC2::VPCGatewayAttachment", PhysicalID: old + "|" + n.vpc,
		Previous:   object(t, `{"InternetGatewayId": "`+old+`", "VpcId": "`+n.vpc+`"}`),
		Properties: object(t, `{"InternetGatewayId": "`+new+`", "VpcId": "`+n.vpc+`"}`)}
	updated, err := d.Update(t.Context(), r)
	if err != nil || updated.PhysicalID != new+"|"+n.vpc {
		t.Fatalf("%+v, %v", updated, err)
	}
	out, err := n.DescribeInternetGateways(t.Context(), &ec2.DescribeInternetGatewaysInput{Filters: []types.Filter{having("attachment.vpc-id", n.vpc)}})
	if err != nil || len(out.InternetGateways) != 1 || *out.InternetGateways[0].InternetGatewayId != new {
		t.Errorf("%+v, %v, want %s attached", out, err, new)
	}
	// The old attachment, deleted as what was replaced, is gone already.
	if _, err := d.Delete(t.Context(), r); err != nil {
		t.Error(err)
	}
}

func TestElasticIP(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.6.0.0/16")
	i := n.instance(n.subnet("10.6.1.0/24"))
	var id string
	seen := func(ctx context.Context, physical string) (any, error) {
		id = allocationID(&provider.Request{PhysicalID: physical})
		out, err := n.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{AllocationIds: []string{id}})
		if err != nil {
			return nil, err
		}
		a := out.Addresses[0]
		if *a.PublicIp+"|"+*a.AllocationId != physical {
			t.Errorf("physical id %s, want address and allocation (S-49)", physical)
		}
		return tagsSeen(a.Tags, map[string]string{"instance": aws.ToString(a.InstanceId)}), nil
	}
	life{
		typ: "AWS::EC2::EIP", owner: t.Name() + "5",
		steps: []step{
			{"create", `{"Domain": "vpc", "InstanceId": "` + i + `", "Tags": [{"Key": "a", "Value": "1"}]}`, seen,
				map[string]string{"instance": i, "tag:a": "1", "tag:cdkd-action:create": "set"}},
			{"let go", `{"Domain": "vpc"}`, seen, map[string]string{"instance": "", "tag:cdkd-action:create": "set"}},
			{"given again", `{"Domain": "vpc", "InstanceId": "` + i + `"}`, seen, map[string]string{"instance": i, "tag:cdkd-action:create": "set"}},
		},
		gone: func(ctx context.Context, _ string) error {
			_, err := n.DescribeAddresses(ctx, &ec2.DescribeAddressesInput{AllocationIds: []string{id}})
			return err
		},
	}.run(t, s)
}

// Without waits an instance may not run yet (T-1102).
func TestElasticIPWithoutWaits(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::EC2::EIP"), nil)
	made, err := d.Create(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "E", Type: "AWS::EC2::EIP", Wait: provider.WaitNone,
		Properties: object(t, `{"InstanceId": "i-0123456789abcdef0"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := "aws ec2 associate-address --allocation-id " + allocationID(&provider.Request{PhysicalID: made.PhysicalID}) + " --instance-id i-0123456789abcdef0"
	if made.Unsettled != want {
		t.Errorf("told %q, want %q", made.Unsettled, want)
	}
}

func TestNATGateway(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.7.0.0/16")
	subnet, address := n.subnet("10.7.1.0/24"), n.address()
	state := func(ctx context.Context, id string) (string, error) {
		out, err := n.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{id}})
		if err != nil || len(out.NatGateways) == 0 {
			return "", err
		}
		return string(out.NatGateways[0].State), nil
	}
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := n.DescribeNatGateways(ctx, &ec2.DescribeNatGatewaysInput{NatGatewayIds: []string{id}})
		if err != nil {
			return nil, err
		}
		return tagsSeen(out.NatGateways[0].Tags, map[string]string{}), nil
	}
	life{
		typ: "AWS::EC2::NatGateway", owner: t.Name() + "6",
		steps: []step{
			{"create", `{"SubnetId": "` + subnet + `", "AllocationId": "` + address + `", "Tags": [{"Key": "a", "Value": "1"}]}`, seen,
				map[string]string{"tag:a": "1", "tag:cdkd-action:create": "set"}},
			{"change tags", `{"SubnetId": "` + subnet + `", "AllocationId": "` + address + `", "Tags": [{"Key": "b", "Value": "1"}]}`, seen,
				map[string]string{"tag:b": "1", "tag:cdkd-action:create": "set"}},
		},
		gone: func(ctx context.Context, id string) error {
			if s, err := state(ctx, id); err != nil || s != "" && s != "deleted" {
				return err
			}
			return provider.ErrNotFound
		},
	}.run(t, s)
}

// An address that was just taken from what had it is refused its release.
func TestReleaseOfAnAddressInUse(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.22.0.0/16")
	instance, address := n.instance(n.subnet("10.22.1.0/24")), n.address()
	if _, err := n.AssociateAddress(t.Context(), &ec2.AssociateAddressInput{AllocationId: &address, InstanceId: &instance}); err != nil {
		t.Fatal(err)
	}
	fault := moto.AddFault(sandbox.Fault{Service: "ec2", Action: "ReleaseAddress", Code: "InvalidIPAddress.InUse", Status: 400, Count: 1})
	defer moto.RemoveFault(fault)
	d := provider.Drive(describe(t, "AWS::EC2::EIP"), nil)
	if _, err := d.Delete(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "E", Type: "AWS::EC2::EIP", PhysicalID: "1.2.3.4|" + address}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.DescribeAddresses(t.Context(), &ec2.DescribeAddressesInput{AllocationIds: []string{address}}); err == nil {
		t.Error("the address is still there")
	}
}
