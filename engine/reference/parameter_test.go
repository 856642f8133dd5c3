package reference_test

import (
	"strings"
	"testing"
)

// What a parameter names is looked up by the one call that tells it, and a tag that
// is not there is no error.
func TestDescribe(t *testing.T) {
	const tags = `<tagSet><item><key>Department</key><value>IT</value></item></tagSet>`
	answer := func(action, set, item string) string {
		return "<" + action + "Response><" + set + ">" + item + "</" + set + "></" + action + "Response>"
	}
	vpc := answer("DescribeVpcs", "vpcSet", "<item>"+tags+"</item>")
	subnet := answer("DescribeSubnets", "subnetSet", "<item><vpcId>vpc-1</vpcId><availabilityZone>eu-west-1a</availabilityZone>"+tags+"</item>")
	group := answer("DescribeSecurityGroups", "securityGroupInfo", "<item><groupId>sg-1</groupId>"+tags+"</item>")
	acl := answer("DescribeNetworkAcls", "networkAclSet", "<item><networkAclId>acl-1</networkAclId></item>")
	for _, c := range []struct {
		typ, attribute, answer string
		asked, want            string
	}{
		{"AWS::EC2::VPC::Id", "Tags.Department", vpc, "VpcId.1=it", "IT"},
		{"AWS::EC2::VPC::Id", "Tags.Owner", vpc, "VpcId.1=it", ""},
		{"AWS::EC2::VPC::Id", "DefaultNetworkAcl", acl, "Filter.1.Name=vpc-id&Filter.1.Value.1=it&Filter.2.Name=default&Filter.2.Value.1=true", "acl-1"},
		{"AWS::EC2::VPC::Id", "DefaultSecurityGroup", group, "Filter.1.Name=vpc-id&Filter.1.Value.1=it&Filter.2.Name=group-name&Filter.2.Value.1=default", "sg-1"},
		{"AWS::EC2::Subnet::Id", "VpcId", subnet, "SubnetId.1=it", "vpc-1"},
		{"AWS::EC2::Subnet::Id", "AvailabilityZone", subnet, "SubnetId.1=it", "eu-west-1a"},
		{"AWS::EC2::Subnet::Id", "Tags.Department", subnet, "SubnetId.1=it", "IT"},
		{"AWS::EC2::SecurityGroup::Id", "Tags.Department", group, "GroupId.1=it", "IT"},
	} {
		a := &answerer{contentType: "text/xml", body: c.answer}
		r := a.resolver()
		for range 2 {
			if got, err := r.Describe(t.Context(), c.typ, "it", c.attribute); got != c.want || err != nil {
				t.Errorf("%s of a %s is %q, %v, want %q", c.attribute, c.typ, got, err, c.want)
			}
		}
		if len(a.asked) != 1 || !strings.Contains(a.asked[0], c.asked) {
			t.Errorf("%s of a %s: asked %q, want %q once", c.attribute, c.typ, a.asked, c.asked)
		}
	}
	for _, c := range [][2]string{{"AWS::EC2::VPC::Id", "CidrBlock"}, {"String", "Tags.a"}, {"AWS::EC2::KeyPair::KeyName", "Tags.a"}} {
		a := &answerer{contentType: "text/xml", body: vpc}
		if _, err := a.resolver().Describe(t.Context(), c[0], "it", c[1]); err == nil || a.asked != nil {
			t.Errorf("%s of a %s: got %v, asked %q", c[1], c[0], err, a.asked)
		}
	}
	a := &answerer{contentType: "text/xml", body: answer("DescribeVpcs", "vpcSet", "")}
	if _, err := a.resolver().Describe(t.Context(), "AWS::EC2::VPC::Id", "it", "Tags.a"); err == nil || !strings.Contains(err.Error(), "look up Tags.a of it: there is none") {
		t.Errorf("got %v", err)
	}
}
