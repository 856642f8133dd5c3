package awssdk

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/org/cdkd-action/engine/provider"
)

// Ids of resources that were made by CloudFormation, in the form that this
// engine records: a few types are recorded by more than CloudFormation's id, or
// by something else where that one means nothing outside of CloudFormation.

// adoptedBy is for types that are known by what their properties say.
func adoptedBy(id func(r *provider.Request) string) func(context.Context, *provider.Request) (string, error) {
	return func(_ context.Context, r *provider.Request) (string, error) {
		if own := id(r); own != "" {
			return own, nil
		}
		return r.PhysicalID, nil
	}
}

// adoptedWhole is for types that are recorded by several parts, of which
// CloudFormation's id is one.
func adoptedWhole(whole func(r *provider.Request) string) func(context.Context, *provider.Request) (string, error) {
	return adoptedBy(func(r *provider.Request) string {
		if r.PhysicalID == "" || strings.Contains(r.PhysicalID, "|") {
			return r.PhysicalID
		}
		return whole(r)
	})
}

// adoptAddress finds what an address has beside itself: its allocation.
func adoptAddress(ctx context.Context, r *provider.Request) (string, error) {
	in := &ec2.DescribeAddressesInput{}
	switch {
	case r.PhysicalID == "" || strings.Contains(r.PhysicalID, "|"):
		return r.PhysicalID, nil
	case strings.HasPrefix(r.PhysicalID, "eipalloc-"):
		in.AllocationIds = []string{r.PhysicalID}
	default:
		in.PublicIps = []string{r.PhysicalID}
	}
	out, err := ec2Client(r.Session).DescribeAddresses(ctx, in)
	if err != nil {
		return "", err
	}
	a, err := described(out.Addresses, nil, addressGone)
	if err != nil {
		return "", err
	}
	return aws.ToString(a.PublicIp) + "|" + aws.ToString(a.AllocationId), nil
}

// adoptRule makes a rule's ARN of its name, before which a bus may stand.
func adoptRule(_ context.Context, r *provider.Request) (string, error) {
	if r.PhysicalID == "" || strings.HasPrefix(r.PhysicalID, "arn:") {
		return r.PhysicalID, nil
	}
	named := *r
	named.Name = lastSegment(r.PhysicalID, "|")
	return ruleARN(&named), nil
}
