package awssdk

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var aclGone = []string{"InvalidNetworkAclID.NotFound", "InvalidNetworkAclEntry.NotFound", "InvalidAssociationID.NotFound"}

var createACLInput = bindTagged[ec2.CreateNetworkAclInput](types.ResourceTypeNetworkAcl, provider.Token("ClientToken"))

// describeACL finds the network ACL that an input leads to.
func describeACL(ctx context.Context, r *provider.Request, in *ec2.DescribeNetworkAclsInput) (*types.NetworkAcl, error) {
	out, err := ec2Client(r.Session).DescribeNetworkAcls(ctx, in)
	if err != nil {
		return described[types.NetworkAcl](nil, err, aclGone)
	}
	return described(out.NetworkAcls, nil, aclGone)
}

// A network ACL is made without entries of its own, and denies everything.
func networkACL() provider.Resource {
	return provider.Resource{
		Type:   "AWS::EC2::NetworkAcl",
		Inputs: []provider.Input{createACLInput},
		Tags:   taggable(physicalID),
		Create: createBy(ec2Client, (*ec2.Client).CreateNetworkAcl, createACLInput, func(o *ec2.CreateNetworkAclOutput) *string { return o.NetworkAcl.NetworkAclId }),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := ec2Client(r.Session).DeleteNetworkAcl(ctx, &ec2.DeleteNetworkAclInput{NetworkAclId: &r.PhysicalID})
			return err
		},
		Gone:  aclGone,
		Find:  byTag(findTagged),
		Known: idAs("Id"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			acl, err := describeACL(ctx, r, &ec2.DescribeNetworkAclsInput{NetworkAclIds: []string{r.PhysicalID}})
			if err != nil {
				return nil, err
			}
			return shaped(r.Type, acl, acl.Tags), nil
		},
	}
}

// entryShape are the options of all inputs with an entry's properties.
var entryShape = provider.Rename{"Icmp": "IcmpTypeCode"}

var (
	createACLEntryInput = provider.Bind[ec2.CreateNetworkAclEntryInput](entryShape,
		provider.Finish(func(r *provider.Request, in *ec2.CreateNetworkAclEntryInput) error {
			orElse(&in.Egress, false)
			return nil
		}))
	replaceACLEntryInput = provider.Bind[ec2.ReplaceNetworkAclEntryInput](entryShape)
)

// An entry is known by its network ACL, its number and its direction, as
// acl|number|egress.
func networkACLEntry() provider.Resource {
	k := composite{"NetworkAclId", "RuleNumber", "Egress=false"}
	return partOf(k, provider.Resource{
		Type:    "AWS::EC2::NetworkAclEntry",
		Inputs:  []provider.Input{createACLEntryInput},
		Updates: []provider.Input{replaceACLEntryInput},
		Create:  k.made(provider.Call(ec2Once, (*ec2.Client).CreateNetworkAclEntry, createACLEntryInput)),
		Update:  updateBy(ec2Client, (*ec2.Client).ReplaceNetworkAclEntry, replaceACLEntryInput),
		Delete:  provider.Call(ec2Client, (*ec2.Client).DeleteNetworkAclEntry, provider.Bind[ec2.DeleteNetworkAclEntryInput]()),
		Gone:    aclGone,
		Known:   idAs("Id"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			acl, err := describeACL(ctx, r, &ec2.DescribeNetworkAclsInput{NetworkAclIds: []string{text(r.Properties, "NetworkAclId")}})
			if err != nil {
				return nil, err
			}
			for _, e := range acl.Entries {
				if fmt.Sprint(aws.ToInt32(e.RuleNumber)) != text(r.Properties, "RuleNumber") || aws.ToBool(e.Egress) != isTrue(r.Properties, "Egress") {
					continue
				}
				props := shaped(r.Type, e, nil, entryShape)
				set(props, "NetworkAclId", acl.NetworkAclId)
				return props, nil
			}
			return nil, provider.ErrNotFound
		},
	})
}

// A subnet has one network ACL always: the default one of its VPC, where no
// other was associated. An association is known by an id that changes with it.
func networkACLAssociation() provider.Resource {
	replace := func(ctx context.Context, r *provider.Request, id, acl *string) (*string, error) {
		out, err := ec2Once(r.Session).ReplaceNetworkAclAssociation(ctx, &ec2.ReplaceNetworkAclAssociationInput{AssociationId: id, NetworkAclId: acl})
		if err != nil {
			return nil, err
		}
		return out.NewAssociationId, nil
	}
	return provider.Resource{
		Type:    "AWS::EC2::SubnetNetworkAclAssociation",
		Handled: []string{"NetworkAclId", "SubnetId"},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			subnet := text(r.Properties, "SubnetId")
			acl, now, err := aclAssociation(ctx, r, having("association.subnet-id", subnet))
			if err != nil {
				return provider.Created{}, fmt.Errorf("find the network ACL of %s: %w", subnet, err)
			}
			if !aws.ToBool(acl.IsDefault) {
				return provider.Created{}, fmt.Errorf("%s has the network ACL %s already, which is not the default one of its VPC: take that off the subnet first, or import its association", subnet, *acl.NetworkAclId)
			}
			id, err := replace(ctx, r, now.NetworkAclAssociationId, aws.String(text(r.Properties, "NetworkAclId")))
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: aws.ToString(id)}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			acl, _, err := aclAssociation(ctx, r, having("association.association-id", r.PhysicalID))
			if err != nil {
				return err
			}
			standard, err := describeACL(ctx, r, &ec2.DescribeNetworkAclsInput{Filters: []types.Filter{having("vpc-id", aws.ToString(acl.VpcId)), having("default", "true")}})
			if err != nil {
				return err
			}
			_, err = replace(ctx, r, &r.PhysicalID, standard.NetworkAclId)
			return err
		},
		Gone:  aclGone,
		Known: idAs("AssociationId"),
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			acl, now, err := aclAssociation(ctx, r, having("association.subnet-id", text(r.Properties, "SubnetId")))
			if err == provider.ErrNotFound || err == nil && aws.ToString(acl.NetworkAclId) != text(r.Properties, "NetworkAclId") {
				return "", nil
			} else if err != nil {
				return "", err
			}
			return aws.ToString(now.NetworkAclAssociationId), nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			_, a, err := aclAssociation(ctx, r, having("association.association-id", r.PhysicalID))
			if err != nil {
				return nil, err
			}
			return value.NewObject("NetworkAclId", aws.ToString(a.NetworkAclId), "SubnetId", aws.ToString(a.SubnetId)), nil
		},
	}
}

// aclAssociation finds an association by its id or its subnet, with the ACL that
// it is of.
func aclAssociation(ctx context.Context, r *provider.Request, by types.Filter) (*types.NetworkAcl, *types.NetworkAclAssociation, error) {
	acl, err := describeACL(ctx, r, &ec2.DescribeNetworkAclsInput{Filters: []types.Filter{by}})
	if err != nil {
		return nil, nil, err
	}
	for _, a := range acl.Associations {
		if aws.ToString(a.SubnetId) == by.Values[0] || aws.ToString(a.NetworkAclAssociationId) == by.Values[0] {
			return acl, &a, nil
		}
	}
	return nil, nil, provider.ErrNotFound
}
