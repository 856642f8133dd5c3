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

var addressGone = []string{"InvalidAllocationID.NotFound", "InvalidAddress.NotFound"}

var (
	allocateAddressInput = bindTagged[ec2.AllocateAddressInput](types.ResourceTypeElasticIp)
	acceptAddressInput   = bindTagged[ec2.AcceptAddressTransferInput](types.ResourceTypeElasticIp,
		provider.Only("TransferAddress", "Tags"), provider.Rename{"TransferAddress": "Address"})
)

// An elastic address is known as address|allocation: Ref gives the address,
// calls want the allocation.
func elasticIP() provider.Resource {
	return provider.Resource{
		Type:       "AWS::EC2::EIP",
		Inputs:     []provider.Input{allocateAddressInput, acceptAddressInput},
		Satellites: []provider.Satellite{{Properties: []string{"InstanceId"}, Put: associateAddress}},
		Tags:       taggable(allocationID),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if r.Properties.Has("TransferAddress") { // it is another account's, and offered to this one
				out, err := provider.Invoke(ctx, r, ec2Once, (*ec2.Client).AcceptAddressTransfer, acceptAddressInput)
				if err != nil {
					return provider.Created{}, err
				}
				return provider.Created{PhysicalID: aws.ToString(out.AddressTransfer.PublicIp) + "|" + aws.ToString(out.AddressTransfer.AllocationId)}, nil
			}
			out, err := provider.Invoke(ctx, r, ec2Once, (*ec2.Client).AllocateAddress, allocateAddressInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: aws.ToString(out.PublicIp) + "|" + aws.ToString(out.AllocationId)}, nil
		},
		Delete: releaseAddress,
		Gone:   addressGone,
		Adopt:  adoptAddress,
		Find: byTag(func(ctx context.Context, r *provider.Request) (string, error) {
			id, err := findTagged(ctx, r)
			if id == "" || err != nil {
				return "", err
			}
			a, err := describeAddress(ctx, r, id)
			if err != nil {
				return "", err
			}
			return aws.ToString(a.PublicIp) + "|" + id, nil
		}),
		// Only a running instance can be given an address: without waiting for
		// instances the association is left to be made by hand.
		Wait: &provider.Waiter{
			From: provider.WaitDefault, What: "address to be associated", OK: []string{"associated"},
			Read: func(context.Context, *provider.Request) (string, string, error) { return "associated", "", nil },
			Command: func(r *provider.Request) string {
				if !r.Properties.Has("InstanceId") {
					return ""
				}
				return "aws ec2 associate-address --allocation-id " + allocationID(r) + " --instance-id " + text(r.Properties, "InstanceId")
			},
		},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			address, _, _ := strings.Cut(r.PhysicalID, "|")
			return value.NewObject("AllocationId", allocationID(r), "PublicIp", address)
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			a, err := describeAddress(ctx, r, allocationID(r))
			if err != nil {
				return nil, err
			}
			return shaped(r.Type, a, a.Tags), nil
		},
	}
}

func allocationID(r *provider.Request) string { return lastSegment(r.PhysicalID, "|") }

func describeAddress(ctx context.Context, r *provider.Request, id string) (*types.Address, error) {
	out, err := ec2Client(r.Session).DescribeAddresses(ctx, &ec2.DescribeAddressesInput{AllocationIds: []string{id}})
	if err != nil {
		return described[types.Address](nil, err, addressGone)
	}
	return described(out.Addresses, nil, addressGone)
}

func associateAddress(ctx context.Context, r *provider.Request) error {
	c := ec2Client(r.Session)
	instance := text(r.Properties, "InstanceId")
	if instance == "" {
		return disassociateAddress(ctx, r)
	}
	if r.Previous == nil && r.Wait == provider.WaitNone {
		return nil
	}
	_, err := c.AssociateAddress(ctx, &ec2.AssociateAddressInput{
		AllocationId: aws.String(allocationID(r)), InstanceId: &instance, AllowReassociation: aws.Bool(true),
	})
	if err != nil && r.Wait == provider.WaitNone && r.Notice != nil {
		r.Notice(r.LogicalID + ": the address was not associated with " + instance + ", which may not be running yet: " + err.Error())
		return nil
	}
	return err
}

func disassociateAddress(ctx context.Context, r *provider.Request) error {
	a, err := describeAddress(ctx, r, allocationID(r))
	if err != nil || a.AssociationId == nil {
		return err
	}
	_, err = ec2Client(r.Session).DisassociateAddress(ctx, &ec2.DisassociateAddressInput{AssociationId: a.AssociationId})
	if provider.HasCode(err, "InvalidAssociationID.NotFound") {
		return nil
	}
	return err
}

// releaseAddress gives the address back. One that is in use is refused with
// either of two codes: it is taken from its instance, or, when a NAT gateway
// that is gone had it, waited for.
func releaseAddress(ctx context.Context, r *provider.Request) error {
	release := func() error {
		_, err := ec2Client(r.Session).ReleaseAddress(ctx, &ec2.ReleaseAddressInput{AllocationId: aws.String(allocationID(r))})
		return err
	}
	err := release()
	if !provider.HasCode(err, "InvalidIPAddress.InUse", "AuthFailure") {
		return err
	}
	a, described := describeAddress(ctx, r, allocationID(r))
	if described != nil {
		return described
	}
	if a.InstanceId != nil {
		if err := disassociateAddress(ctx, r); err != nil {
			return err
		}
	}
	free := provider.Waiter{
		What: "address to be free", OK: []string{"free"}, First: 2 * time.Second, Timeout: 2 * time.Minute, TimeoutWarns: true,
		Read: func(ctx context.Context, r *provider.Request) (string, string, error) {
			a, err := describeAddress(ctx, r, allocationID(r))
			if err != nil || a.AssociationId == nil {
				return "free", "", err
			}
			return "associated", aws.ToString(a.NetworkInterfaceId), nil
		},
	}
	if err := free.Wait(ctx, r); err != nil {
		return err
	}
	return release()
}
