package exposure

import (
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/value"
)

// network reads the rules of security groups, and the switches that put a
// resource on the internet.
func network(resourceType string, p *value.Object) []Rule {
	var out []Rule
	switch resourceType {
	case "AWS::EC2::SecurityGroup":
		for _, r := range list(p.Value("SecurityGroupIngress")) {
			out = append(out, traffic(object(r), "in ", ""))
		}
		for _, r := range list(p.Value("SecurityGroupEgress")) {
			out = append(out, traffic(object(r), outgoing, ""))
		}
	case "AWS::EC2::SecurityGroupIngress":
		out = append(out, traffic(p, "in ", plan.Readable(p.Value("GroupId"))))
	case "AWS::EC2::SecurityGroupEgress":
		out = append(out, traffic(p, outgoing, plan.Readable(p.Value("GroupId"))))
	case "AWS::Lambda::Url":
		if p.String("AuthType") == "NONE" {
			out = append(out, Rule{Kind: Network, Who: "*", What: "calls without authentication", On: plan.Readable(p.Value("TargetFunctionArn"))})
		}
	case "AWS::ElasticLoadBalancingV2::LoadBalancer":
		if p.String("Scheme") == "internet-facing" {
			out = append(out, Rule{Kind: Network, Who: "the internet", What: "connections to its listeners"})
		}
	case "AWS::EC2::Route":
		to := p.String("DestinationCidrBlock") + p.String("DestinationIpv6CidrBlock")
		if (to == "0.0.0.0/0" || to == "::/0") && p.Has("GatewayId") {
			out = append(out, Rule{Kind: Network, Who: "the internet", What: "connections by " + plan.Readable(p.Value("GatewayId")), On: plan.Readable(p.Value("RouteTableId"))})
		}
	case "AWS::IAM::AccessKey":
		out = append(out, Rule{Kind: Permission, Who: plan.Readable(p.Value("UserName")), What: "calls with an access key"})
	case "AWS::S3::Bucket":
		if who, what := acl(p.String("AccessControl")); who != "" {
			out = append(out, Rule{Kind: Permission, Who: who, What: what})
		}
		block := p.Object("PublicAccessBlockConfiguration")
		for _, name := range []string{"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"} {
			if text, _ := value.Text(block.Value(name)); text == "true" {
				out = append(out, Rule{Kind: Permission, Deny: true, Who: "*", What: name})
			}
		}
	}
	if text, _ := value.Text(p.Value("PubliclyAccessible")); text == "true" {
		out = append(out, Rule{Kind: Network, Who: "the internet", What: "connections"})
	}
	return out
}

// acl is what a canned ACL lets strangers do with a bucket:
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/acl-overview.html#canned-acl
func acl(name string) (who, what string) {
	switch name {
	case "PublicRead":
		return "*", "list objects"
	case "PublicReadWrite":
		return "*", "list, write and delete objects"
	case "AuthenticatedRead":
		return "everybody with an AWS account", "list objects"
	case "LogDeliveryWrite":
		return "S3 log delivery", "write objects"
	}
	return "", ""
}

// outgoing begins the rules for what a group's members send.
const outgoing = "out "

// peers are the members of a rule that say who is on its other side.
var peers = []string{"CidrIp", "CidrIpv6", "SourceSecurityGroupId", "SourceSecurityGroupName", "DestinationSecurityGroupId", "SourcePrefixListId", "DestinationPrefixListId"}

func traffic(r *value.Object, direction, group string) Rule {
	out := Rule{Kind: Network, On: group}
	for _, name := range peers {
		if r.Has(name) {
			out.Who = plan.Readable(r.Value(name))
		}
	}
	out.What = direction + ports(r)
	return out
}

func ports(r *value.Object) string {
	protocol := plan.Readable(r.Value("IpProtocol"))
	from, to := plan.Readable(r.Value("FromPort")), plan.Readable(r.Value("ToPort"))
	switch {
	case protocol == "-1":
		return "everything"
	case !r.Has("FromPort") || from == "0" && to == "65535":
		return protocol + ", all ports"
	case from == to || !r.Has("ToPort"):
		return protocol + " " + from
	}
	return protocol + " " + from + "-" + to
}
