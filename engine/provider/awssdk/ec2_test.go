package awssdk

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/value"
)

// A network is what the tests of a type need around it, made by calls of
// their own.
type network struct {
	*ec2.Client
	t   *testing.T
	vpc string
}

func newNetwork(t *testing.T, s *provider.Session, block string) network {
	t.Helper()
	c := ec2.NewFromConfig(s.Config)
	out, err := c.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: &block})
	if err != nil {
		t.Fatal(err)
	}
	return network{c, t, *out.Vpc.VpcId}
}

func (n network) subnet(block string) string {
	n.t.Helper()
	out, err := n.CreateSubnet(n.t.Context(), &ec2.CreateSubnetInput{VpcId: &n.vpc, CidrBlock: &block})
	if err != nil {
		n.t.Fatal(err)
	}
	return *out.Subnet.SubnetId
}

func (n network) group(name string) string {
	n.t.Helper()
	out, err := n.CreateSecurityGroup(n.t.Context(), &ec2.CreateSecurityGroupInput{VpcId: &n.vpc, GroupName: &name, Description: &name})
	if err != nil {
		n.t.Fatal(err)
	}
	return *out.GroupId
}

func (n network) table() string {
	n.t.Helper()
	out, err := n.CreateRouteTable(n.t.Context(), &ec2.CreateRouteTableInput{VpcId: &n.vpc})
	if err != nil {
		n.t.Fatal(err)
	}
	return *out.RouteTable.RouteTableId
}

func (n network) gateway(attached bool) string {
	n.t.Helper()
	out, err := n.CreateInternetGateway(n.t.Context(), &ec2.CreateInternetGatewayInput{})
	if err != nil {
		n.t.Fatal(err)
	}
	if attached {
		if _, err := n.AttachInternetGateway(n.t.Context(), &ec2.AttachInternetGatewayInput{InternetGatewayId: out.InternetGateway.InternetGatewayId, VpcId: &n.vpc}); err != nil {
			n.t.Fatal(err)
		}
	}
	return *out.InternetGateway.InternetGatewayId
}

func (n network) address() string {
	n.t.Helper()
	out, err := n.AllocateAddress(n.t.Context(), &ec2.AllocateAddressInput{Domain: types.DomainTypeVpc})
	if err != nil {
		n.t.Fatal(err)
	}
	return *out.AllocationId
}

func tagsSeen(tags []types.Tag, seen map[string]string) map[string]string {
	for _, t := range tags {
		seen["tag:"+*t.Key] = *t.Value
		if *t.Key == provider.OwnerTagKey {
			seen["tag:"+*t.Key] = "set"
		}
	}
	return seen
}

func TestVPC(t *testing.T) {
	s := emulated(t)
	c := ec2.NewFromConfig(s.Config)
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{id}})
		if err != nil {
			return nil, err
		}
		m := tagsSeen(out.Vpcs[0].Tags, map[string]string{"tenancy": string(out.Vpcs[0].InstanceTenancy)})
		support, err := c.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: &id, Attribute: types.VpcAttributeNameEnableDnsSupport})
		if err != nil {
			return nil, err
		}
		names, err := c.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: &id, Attribute: types.VpcAttributeNameEnableDnsHostnames})
		if err != nil {
			return nil, err
		}
		m["dns"] = text(value.NewObject("a", *support.EnableDnsSupport.Value), "a") + " " + text(value.NewObject("a", *names.EnableDnsHostnames.Value), "a")
		return m, nil
	}
	life{
		typ: "AWS::EC2::VPC", owner: t.Name() + "1", attributes: map[string]string{"CidrBlock": "10.1.0.0/16"},
		steps: []step{
			{"create", `{"CidrBlock": "10.1.0.0/16", "EnableDnsHostnames": true, "EnableDnsSupport": true, "InstanceTenancy": "dedicated",
				"Tags": [{"Key": "Name", "Value": "a"}]}`, seen,
				map[string]string{"tenancy": "dedicated", "dns": "true true", "tag:Name": "a", "tag:cdkd-action:create": "set"}},
			{"no names, other tags", `{"CidrBlock": "10.1.0.0/16", "EnableDnsHostnames": false, "EnableDnsSupport": false, "InstanceTenancy": "dedicated",
				"Tags": [{"Key": "Name", "Value": "b"}, {"Key": "x", "Value": "y"}]}`, seen,
				map[string]string{"tenancy": "dedicated", "dns": "false false", "tag:Name": "b", "tag:x": "y", "tag:cdkd-action:create": "set"}},
			{"removed settings go back to their defaults", `{"CidrBlock": "10.1.0.0/16", "InstanceTenancy": "dedicated"}`, seen,
				map[string]string{"tenancy": "dedicated", "dns": "true false", "tag:cdkd-action:create": "set"}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{id}})
			return err
		},
	}.run(t, s)
}

// A VPC tells its default group and ACL, which only describes of those give.
func TestVPCDefaults(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::EC2::VPC"), nil)
	made, err := d.Create(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "V", Type: "AWS::EC2::VPC",
		Properties: object(t, `{"CidrBlock": "10.2.0.0/16"}`)})
	if err != nil {
		t.Fatal(err)
	}
	c := ec2.NewFromConfig(s.Config)
	groups, err := c.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{having("vpc-id", made.PhysicalID)}})
	if err != nil {
		t.Fatal(err)
	}
	acls, err := c.DescribeNetworkAcls(t.Context(), &ec2.DescribeNetworkAclsInput{Filters: []types.Filter{having("vpc-id", made.PhysicalID)}})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{text(made.Attributes, "DefaultSecurityGroup"), text(made.Attributes, "DefaultNetworkAcl"), text(made.Attributes, "VpcId")}
	want := []string{*groups.SecurityGroups[0].GroupId, *acls.NetworkAcls[0].NetworkAclId, made.PhysicalID}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if n := len(made.Attributes.List("CidrBlockAssociations")); n != 1 {
		t.Errorf("%d associated blocks, want 1", n)
	}
}

// Tenancy can only be given up in place.
func TestVPCTenancy(t *testing.T) {
	d := provider.Drive(describe(t, "AWS::EC2::VPC"), nil)
	_, err := d.Update(t.Context(), &provider.Request{LogicalID: "V", Type: "AWS::EC2::VPC", PhysicalID: "vpc-1",
		Previous: object(t, `{}`), Properties: object(t, `{"InstanceTenancy": "dedicated"}`)})
	if _, ok := err.(*provider.UnsupportedUpdateError); !ok {
		t.Errorf("%v, want a refusal", err)
	}
}

func TestSubnet(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.3.0.0/16")
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := n.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{id}})
		if err != nil {
			return nil, err
		}
		m := tagsSeen(out.Subnets[0].Tags, map[string]string{"public": "no"})
		if aws.ToBool(out.Subnets[0].MapPublicIpOnLaunch) {
			m["public"] = "yes"
		}
		return m, nil
	}
	fixed := `"VpcId": "` + n.vpc + `", "CidrBlock": "10.3.1.0/24", "AvailabilityZone": "eu-west-1b"`
	life{
		typ: "AWS::EC2::Subnet", owner: t.Name() + "2",
		attributes: map[string]string{"AvailabilityZone": "eu-west-1b", "CidrBlock": "10.3.1.0/24", "VpcId": n.vpc},
		steps: []step{
			{"create", `{` + fixed + `, "MapPublicIpOnLaunch": true, "Tags": [{"Key": "a", "Value": "1"}]}`, seen,
				map[string]string{"public": "yes", "tag:a": "1", "tag:cdkd-action:create": "set"}},
			{"change", `{` + fixed + `, "MapPublicIpOnLaunch": false, "Tags": [{"Key": "a", "Value": "2"}]}`, seen,
				map[string]string{"public": "no", "tag:a": "2", "tag:cdkd-action:create": "set"}},
			{"again", `{` + fixed + `, "MapPublicIpOnLaunch": true}`, seen, map[string]string{"public": "yes", "tag:cdkd-action:create": "set"}},
			{"removed", `{` + fixed + `}`, seen, map[string]string{"public": "no", "tag:cdkd-action:create": "set"}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := n.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{id}})
			return err
		},
	}.run(t, s)
}

func (n network) instance(subnet string) string {
	n.t.Helper()
	out, err := n.RunInstances(n.t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(anImage), InstanceType: "t3.micro", SubnetId: &subnet, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return *out.Instances[0].InstanceId
}

// anImage is one that the emulator has.
const anImage = "ami-12c6146b"

// What Lambda has left behind keeps a subnet until it is deleted.
func TestDeleteWithoutLambda(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.21.0.0/16")
	subnet := n.subnet("10.21.1.0/24")
	for _, description := range []string{"AWS Lambda VPC ENI-Shop-Fn-1", "somebody's"} {
		if _, err := n.CreateNetworkInterface(t.Context(), &ec2.CreateNetworkInterfaceInput{SubnetId: &subnet, Description: &description}); err != nil {
			t.Fatal(err)
		}
	}
	refusal := &smithy.GenericAPIError{Code: "DependencyViolation"}
	attempts := 0
	remove := func() error {
		attempts++
		if attempts == 1 {
			return refusal
		}
		return nil
	}
	r := &provider.Request{Session: s, PhysicalID: subnet}
	if err := withoutLambda(t.Context(), r, "subnet-id", remove); err != nil || attempts != 2 {
		t.Errorf("%v after %d attempts, want none after 2", err, attempts)
	}
	out, err := n.DescribeNetworkInterfaces(t.Context(), &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{having("subnet-id", subnet)}})
	if err != nil || len(out.NetworkInterfaces) != 1 || *out.NetworkInterfaces[0].Description != "somebody's" {
		t.Errorf("%+v, %v, want somebody's interface alone", out, err)
	}
	// Without anything of Lambda's, waiting is for the retries.
	attempts = 0
	if err := withoutLambda(t.Context(), r, "subnet-id", remove); err != refusal || attempts != 1 {
		t.Errorf("%v after %d attempts, want the refusal after 1", err, attempts)
	}
}

// What keeps a network part busy goes within minutes; what stays is told
// without further attempts (T-923).
func TestUnblocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := &smithy.GenericAPIError{Code: "DependencyViolation"}
		for name, test := range map[string]struct {
			refusals, attempts int
			waited             time.Duration
		}{
			"nothing in the way": {0, 1, 0},
			"it goes":            {3, 4, 14 * time.Second},
			"it stays":           {100, 12, 235 * time.Second},
		} {
			start, attempts := time.Now(), 0
			err := unblocked(t.Context(), &provider.Request{}, "DependencyViolation", func() error {
				if attempts++; attempts <= test.refusals {
					return refusal
				}
				return nil
			})
			if waited := time.Since(start); attempts != test.attempts || waited != test.waited {
				t.Errorf("%s: %d attempts in %s, want %d in %s", name, attempts, waited, test.attempts, test.waited)
			}
			if stays := test.refusals > 12; stays != errors.Is(err, refusal) || stays && (retry.Classifier{}).Of(err) != retry.Final {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
