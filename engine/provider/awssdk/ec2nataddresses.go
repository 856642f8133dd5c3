package awssdk

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var (
	// natAddresses are what updateNAT can change.
	natAddresses = provider.Bind[ec2.CreateNatGatewayInput](
		provider.Only("AvailabilityZoneAddresses", "SecondaryAllocationIds", "SecondaryPrivateIpAddressCount", "SecondaryPrivateIpAddresses"))
	disassociateNAT = provider.Bind[ec2.DisassociateNatGatewayAddressInput](provider.ID("NatGatewayId"), provider.Only("MaxDrainDurationSeconds"))
	unassignNAT     = provider.Bind[ec2.UnassignPrivateNatGatewayAddressInput](provider.ID("NatGatewayId"), provider.Only("MaxDrainDurationSeconds"))
)

// updateNAT adds and then takes away secondary addresses: elastic ones of a
// public gateway, by zone when it is a regional one, and private ones of a
// private gateway.
func updateNAT(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	var err error
	switch {
	case d.Changed("AvailabilityZoneAddresses", "SecondaryAllocationIds"):
		err = changeAllocations(ctx, r)
	case d.Changed("SecondaryPrivateIpAddresses", "SecondaryPrivateIpAddressCount"):
		err = changePrivateAddresses(ctx, r)
	}
	return provider.Updated{}, err
}

// An allocation is an elastic address, and the zone that it is for in a
// regional gateway.
type allocation struct{ id, zone, zoneID string }

func allocations(o *value.Object) []allocation {
	var all []allocation
	for _, id := range texts(o, "SecondaryAllocationIds") {
		all = append(all, allocation{id: id})
	}
	for _, v := range o.List("AvailabilityZoneAddresses") {
		in, _ := v.(*value.Object)
		for _, id := range texts(in, "AllocationIds") {
			all = append(all, allocation{id, text(in, "AvailabilityZone"), text(in, "AvailabilityZoneId")})
		}
	}
	return all
}

func changeAllocations(ctx context.Context, r *provider.Request) error {
	c := ec2Client(r.Session)
	old, wanted := allocations(r.Previous), allocations(r.Properties)
	private := less(texts(r.Properties, "SecondaryPrivateIpAddresses"), texts(r.Previous, "SecondaryPrivateIpAddresses"))
	byZone := map[allocation]*ec2.AssociateNatGatewayAddressInput{}
	for _, a := range wanted {
		if slices.Contains(old, a) {
			continue
		}
		zone := allocation{zone: a.zone, zoneID: a.zoneID}
		if byZone[zone] == nil {
			byZone[zone] = &ec2.AssociateNatGatewayAddressInput{
				NatGatewayId: &r.PhysicalID, AvailabilityZone: optional(a.zone), AvailabilityZoneId: optional(a.zoneID),
			}
			if zone == (allocation{}) {
				byZone[zone].PrivateIpAddresses = private
			}
		}
		byZone[zone].AllocationIds = append(byZone[zone].AllocationIds, a.id)
	}
	for _, in := range byZone {
		if _, err := c.AssociateNatGatewayAddress(ctx, in); err != nil {
			return err
		}
	}
	return disassociate(ctx, r, func(id string) bool {
		is := func(a allocation) bool { return a.id == id }
		return slices.ContainsFunc(old, is) && !slices.ContainsFunc(wanted, is)
	})
}

// disassociate takes away the elastic addresses that are to go.
func disassociate(ctx context.Context, r *provider.Request, goes func(allocationID string) bool) error {
	g, err := describeNAT(ctx, r)
	if err != nil {
		return err
	}
	in, err := disassociateNAT.Input(r)
	if err != nil {
		return err
	}
	for _, a := range g.NatGatewayAddresses {
		if a.AssociationId != nil && goes(aws.ToString(a.AllocationId)) {
			in.AssociationIds = append(in.AssociationIds, *a.AssociationId)
		}
	}
	if len(in.AssociationIds) == 0 {
		return nil
	}
	_, err = ec2Client(r.Session).DisassociateNatGatewayAddress(ctx, in)
	return err
}

func changePrivateAddresses(ctx context.Context, r *provider.Request) error {
	c := ec2Client(r.Session)
	old, wanted := texts(r.Previous, "SecondaryPrivateIpAddresses"), texts(r.Properties, "SecondaryPrivateIpAddresses")
	assign := &ec2.AssignPrivateNatGatewayAddressInput{NatGatewayId: &r.PhysicalID, PrivateIpAddresses: less(wanted, old)}
	unassign, err := unassignNAT.Input(r)
	if err != nil {
		return err
	}
	unassign.PrivateIpAddresses = less(old, wanted)
	const property = "SecondaryPrivateIpAddressCount"
	had, _ := value.Integer(r.Previous.Value(property))
	want, ok := value.Integer(r.Properties.Value(property))
	if r.Properties.Has(property) && (!ok || want != int64(int32(want))) {
		return fmt.Errorf("%s of %s is no whole number", property, r.LogicalID)
	}
	if want > had {
		assign.PrivateIpAddressCount = aws.Int32(int32(want - had))
	} else if want < had {
		g, err := describeNAT(ctx, r)
		if err != nil {
			return err
		}
		var secondary []string
		for _, a := range g.NatGatewayAddresses {
			if !aws.ToBool(a.IsPrimary) {
				secondary = append(secondary, aws.ToString(a.PrivateIp))
			}
		}
		unassign.PrivateIpAddresses = append(unassign.PrivateIpAddresses, secondary[min(int(want), len(secondary)):]...)
	}
	if len(assign.PrivateIpAddresses) > 0 || assign.PrivateIpAddressCount != nil {
		if _, err := c.AssignPrivateNatGatewayAddress(ctx, assign); err != nil {
			return err
		}
	}
	if len(unassign.PrivateIpAddresses) == 0 {
		return nil
	}
	_, err = c.UnassignPrivateNatGatewayAddress(ctx, unassign)
	return err
}
