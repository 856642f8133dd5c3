package reference

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Describe tells an attribute of what a template parameter names, as Fn::ValueOf
// in a rule asks for it: of a VPC, a subnet or a security group. A tag that is not
// there is "".
func (r *Resolver) Describe(ctx context.Context, parameterType, id, attribute string) (string, error) {
	v, _, err := r.once(ctx, "describe "+parameterType+" "+id+" "+attribute, func() (any, bool, error) {
		text, err := r.describe(ctx, parameterType, id, attribute)
		if err != nil {
			err = fmt.Errorf("look up %s of %s: %w", attribute, id, err)
		}
		return text, false, err
	})
	if err != nil {
		return "", err
	}
	return v.(string), nil
}

func (r *Resolver) describe(ctx context.Context, parameterType, id, attribute string) (string, error) {
	client := ec2.NewFromConfig(r.config)
	key, ofTag := strings.CutPrefix(attribute, "Tags.")
	switch parameterType + " " + attribute {
	case "AWS::EC2::VPC::Id DefaultNetworkAcl":
		out, err := client.DescribeNetworkAcls(ctx, &ec2.DescribeNetworkAclsInput{Filters: []ec2types.Filter{having("vpc-id", id), having("default", "true")}})
		if err != nil || len(out.NetworkAcls) == 0 {
			return "", missing(err)
		}
		return aws.ToString(out.NetworkAcls[0].NetworkAclId), nil
	case "AWS::EC2::VPC::Id DefaultSecurityGroup":
		out, err := client.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{having("vpc-id", id), having("group-name", "default")}})
		if err != nil || len(out.SecurityGroups) == 0 {
			return "", missing(err)
		}
		return aws.ToString(out.SecurityGroups[0].GroupId), nil
	}
	switch {
	case parameterType == "AWS::EC2::Subnet::Id" && (ofTag || attribute == "AvailabilityZone" || attribute == "VpcId"):
		out, err := client.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{id}})
		if err != nil || len(out.Subnets) == 0 {
			return "", missing(err)
		}
		switch attribute {
		case "AvailabilityZone":
			return aws.ToString(out.Subnets[0].AvailabilityZone), nil
		case "VpcId":
			return aws.ToString(out.Subnets[0].VpcId), nil
		}
		return tag(out.Subnets[0].Tags, key), nil
	case parameterType == "AWS::EC2::VPC::Id" && ofTag:
		out, err := client.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{id}})
		if err != nil || len(out.Vpcs) == 0 {
			return "", missing(err)
		}
		return tag(out.Vpcs[0].Tags, key), nil
	case parameterType == "AWS::EC2::SecurityGroup::Id" && ofTag:
		out, err := client.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
		if err != nil || len(out.SecurityGroups) == 0 {
			return "", missing(err)
		}
		return tag(out.SecurityGroups[0].Tags, key), nil
	}
	return "", fmt.Errorf("a parameter of type %s has no such attribute for rules to ask for", parameterType)
}

func missing(err error) error {
	if err == nil {
		err = errors.New("there is none")
	}
	return err
}

func having(name, value string) ec2types.Filter {
	return ec2types.Filter{Name: &name, Values: []string{value}}
}

func tag(tags []ec2types.Tag, key string) string {
	for _, t := range tags {
		if aws.ToString(t.Key) == key {
			return aws.ToString(t.Value)
		}
	}
	return ""
}
