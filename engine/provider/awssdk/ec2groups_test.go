package awssdk

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// rulesSeen lists a group's rules as texts.
func (n network) rulesSeen(ctx context.Context, id string) (any, error) {
	out, err := n.DescribeSecurityGroupRules(ctx, &ec2.DescribeSecurityGroupRulesInput{Filters: []types.Filter{having("group-id", id)}})
	if err != nil {
		return nil, err
	}
	rules := []string{}
	for _, r := range out.SecurityGroupRules {
		way := "in"
		if *r.IsEgress {
			way = "out"
		}
		peer := aws.ToString(r.CidrIpv4) + aws.ToString(r.CidrIpv6) + aws.ToString(r.PrefixListId)
		if r.ReferencedGroupInfo != nil {
			peer += aws.ToString(r.ReferencedGroupInfo.GroupId)
		}
		rules = append(rules, strings.Join([]string{way, *r.IpProtocol, text(value.NewObject("p", value.Int(aws.ToInt32(r.FromPort))), "p"), peer, aws.ToString(r.Description)}, " "))
	}
	slices.Sort(rules)
	return rules, nil
}

func TestSecurityGroup(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.12.0.0/16")
	other := n.group("other")
	fixed := `"VpcId": "` + n.vpc + `", "GroupDescription": "d", "GroupName": "web"`
	life{
		typ: "AWS::EC2::SecurityGroup", owner: t.Name() + "1", attributes: map[string]string{"VpcId": n.vpc},
		steps: []step{
			{"open to the outside, as a CDK app declares it", `{` + fixed + `,
				"SecurityGroupIngress": [{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "0.0.0.0/0", "Description": "web"}],
				"SecurityGroupEgress": [{"IpProtocol": "-1", "CidrIp": "0.0.0.0/0", "Description": "all"}]}`, n.rulesSeen,
				[]string{"in tcp 443 0.0.0.0/0 web", "out -1 -1 0.0.0.0/0 all"}},
			{"rules come and go, and are described anew", `{` + fixed + `,
				"SecurityGroupIngress": [{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "0.0.0.0/0", "Description": "tls"},
					{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "SourceSecurityGroupId": "` + other + `"}],
				"SecurityGroupEgress": [{"IpProtocol": "icmp", "FromPort": 252, "ToPort": 86, "CidrIp": "255.255.255.255/32"}]}`, n.rulesSeen,
				[]string{"in tcp 22 " + other + " ", "in tcp 443 0.0.0.0/0 tls", "out icmp 252 255.255.255.255/32 "}},
			{"without lists it is as it was made", `{` + fixed + `}`, n.rulesSeen, []string{"out -1 -1 0.0.0.0/0 "}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := n.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
			return err
		},
	}.run(t, s)
	life{
		typ: "AWS::EC2::SecurityGroup", owner: t.Name() + "2",
		steps: []step{
			{"closed to the outside", `{"VpcId": "` + n.vpc + `", "GroupDescription": "d", "Tags": [{"Key": "a", "Value": "1"}],
				"SecurityGroupEgress": [{"IpProtocol": "icmp", "FromPort": 252, "ToPort": 86, "CidrIp": "255.255.255.255/32"}]}`, n.rulesSeen,
				[]string{"out icmp 252 255.255.255.255/32 "}},
			{"an empty list is none", `{"VpcId": "` + n.vpc + `", "GroupDescription": "d", "Tags": [{"Key": "a", "Value": "2"}]}`, n.rulesSeen, []string{"out -1 -1 0.0.0.0/0 "}},
		},
	}.run(t, s)
}

// Groups without a name get one that a replacement does not share (T-832).
func TestUniqueName(t *testing.T) {
	r := &provider.Request{Stack: provider.Stack{Name: "Shop~Child"}, LogicalID: strings.Repeat("G", 300), Token: "0123456789abcdef"}
	name := uniqueName(r, 255)
	if len(name) != 255 || !strings.HasPrefix(name, "Shop-Child-G") || !strings.HasSuffix(name, "-0123456789ab") {
		t.Errorf("name %q of %d characters", name, len(name))
	}
}

// What an attempt whose answer was lost has allowed is no failure.
func TestAllowIsRepeated(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.13.0.0/16")
	id := n.group("repeated")
	r := &provider.Request{Session: s}
	a := object(t, `{"IpProtocol": "tcp", "FromPort": 1, "ToPort": 1, "CidrIp": "10.0.0.0/8"}`)
	b := object(t, `{"IpProtocol": "tcp", "FromPort": 2, "ToPort": 2, "CidrIpv6": "fd00::/8"}`)
	for _, rules := range [][]*value.Object{{a}, {a, b}, {a, b}} {
		if err := ingress.allow(t.Context(), r, id, rules); err != nil {
			t.Fatal(err)
		}
	}
	got, err := n.rulesSeen(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"in tcp 1 10.0.0.0/8 ", "in tcp 2 fd00::/8 ", "out -1 -1 0.0.0.0/0 "}, got); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	for range 2 {
		if err := ingress.forbid(t.Context(), r, id, []*value.Object{a, b}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRuleKey(t *testing.T) {
	for name, test := range map[string]struct {
		a, b string
		same bool
	}{
		"a protocol by number":              {`{"IpProtocol": "6", "FromPort": 1, "ToPort": 2, "CidrIp": "10.0.0.0/8"}`, `{"IpProtocol": "tcp", "FromPort": "1", "ToPort": "2", "CidrIp": "10.0.0.0/8"}`, true},
		"a block as AWS keeps it":           {`{"IpProtocol": "-1", "CidrIp": "10.1.2.3/8"}`, `{"IpProtocol": "-1", "CidrIp": "10.0.0.0/8"}`, true},
		"an IPv6 block written otherwise":   {`{"IpProtocol": "-1", "CidrIpv6": "FD00:0::/8"}`, `{"IpProtocol": "-1", "CidrIpv6": "fd00::/8"}`, true},
		"ports where there are none":        {`{"IpProtocol": "-1", "FromPort": 1, "ToPort": 2, "CidrIp": "10.0.0.0/8"}`, `{"IpProtocol": "-1", "CidrIp": "10.0.0.0/8"}`, true},
		"a description":                     {`{"IpProtocol": "-1", "CidrIp": "10.0.0.0/8", "Description": "a"}`, `{"IpProtocol": "-1", "CidrIp": "10.0.0.0/8"}`, true},
		"a port written otherwise":          {`{"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "10.0.0.0/8"}`, `{"IpProtocol": "tcp", "FromPort": 4.43e2, "ToPort": 443.0, "CidrIp": "10.0.0.0/8"}`, true},
		"another port":                      {`{"IpProtocol": "tcp", "FromPort": 1, "ToPort": 2, "CidrIp": "10.0.0.0/8"}`, `{"IpProtocol": "tcp", "FromPort": 1, "ToPort": 3, "CidrIp": "10.0.0.0/8"}`, false},
		"a group and a block are different": {`{"IpProtocol": "-1", "SourceSecurityGroupId": "sg-1"}`, `{"IpProtocol": "-1", "CidrIp": "10.0.0.0/8"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := ingress.key(object(t, test.a)), ingress.key(object(t, test.b))
			if (a == b) != test.same {
				t.Errorf("%s and %s: same %t, want %t", a, b, a == b, test.same)
			}
		})
	}
}

// A port that is not understood would open every other.
func TestPortsAsTheyAreWritten(t *testing.T) {
	for _, port := range []string{`443`, `"443"`, `443.0`, `4.43e2`, `"443.0"`} {
		p := ingress.permission(object(t, `{"IpProtocol": "tcp", "FromPort": `+port+`, "ToPort": `+port+`}`))
		if p.FromPort == nil || *p.FromPort != 443 || p.ToPort == nil || *p.ToPort != 443 {
			t.Errorf("%s: want 443, got %v and %v", port, p.FromPort, p.ToPort)
		}
	}
}

// The rules of sibling resources are not the group's own.
func TestReadGroupLeavesSiblingsOut(t *testing.T) {
	live := []any{object(t, `{"IpProtocol": "tcp", "FromPort": 1, "ToPort": 1, "CidrIp": "10.0.0.0/8", "Description": "new"}`), object(t, `{"IpProtocol": "tcp", "FromPort": 2, "ToPort": 2, "CidrIp": "10.0.0.0/8"}`)}
	own := ingress.own(object(t, `{"SecurityGroupIngress": [{"IpProtocol": "6", "FromPort": "1", "ToPort": "1", "CidrIp": "10.0.0.0/8", "Description": "old"}]}`), live)
	if got, want := value.JSON(own), `[{"IpProtocol":"6","FromPort":"1","ToPort":"1","CidrIp":"10.0.0.0/8","Description":"new"}]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := ingress.own(object(t, `{"GroupDescription": "d"}`), live); len(got) != 0 {
		t.Errorf("%s, want none", value.JSON(got))
	}
}

func TestSecurityGroupIngress(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.14.0.0/16")
	group, peer := n.group("in"), n.group("peer")
	rest := `"GroupId": "` + group + `", "IpProtocol": "tcp", "FromPort": 5432, "ToPort": 5432, "CidrIp": "10.0.0.0/8"`
	seen := func(ctx context.Context, _ string) (any, error) { return n.rulesSeen(ctx, group) }
	life{
		typ: "AWS::EC2::SecurityGroupIngress", owner: t.Name() + "3", id: group + "|tcp|5432|5432",
		steps: []step{
			{"create", `{` + rest + `, "Description": "a"}`, seen, []string{"in tcp 5432 10.0.0.0/8 a", "out -1 -1 0.0.0.0/0 "}},
			{"describe", `{` + rest + `, "Description": "b"}`, seen, []string{"in tcp 5432 10.0.0.0/8 b", "out -1 -1 0.0.0.0/0 "}},
		},
		gone: func(ctx context.Context, _ string) error {
			if got, err := n.rulesSeen(ctx, group); err != nil || len(got.([]string)) != 1 {
				return err
			}
			return provider.ErrNotFound
		},
	}.run(t, s)
	life{
		typ: "AWS::EC2::SecurityGroupIngress", owner: t.Name() + "4", id: group + "|-1|-1|-1",
		steps: []step{{name: "create", props: `{"GroupId": "` + group + `", "IpProtocol": "-1", "CidrIpv6": "fd00::/8"}`}},
	}.run(t, s)
	life{
		typ: "AWS::EC2::SecurityGroupIngress", id: group + "|tcp|80|81",
		steps: []step{{name: "create", props: `{"GroupId": "` + group + `", "IpProtocol": "tcp", "FromPort": 80, "ToPort": 81, "SourceSecurityGroupId": "` + peer + `"}`}},
	}.run(t, s)
}

// An inbound rule whose own id was never recorded is deleted by what it says.
func TestSecurityGroupIngressOfAnOlderRecord(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.15.0.0/16")
	group := n.group("older")
	d := provider.Drive(describe(t, "AWS::EC2::SecurityGroupIngress"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "R", Type: "AWS::EC2::SecurityGroupIngress",
		Properties: object(t, `{"GroupId": "`+group+`", "IpProtocol": "udp", "FromPort": 53, "ToPort": 53, "CidrIp": "10.0.0.0/8"}`)}
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if id := text(made.Attributes, "Id"); !strings.HasPrefix(id, "sgr-") {
		t.Errorf("attribute Id is %q", id)
	}
	r.PhysicalID = made.PhysicalID
	if _, err := d.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got, err := n.rulesSeen(t.Context(), group); err != nil || len(got.([]string)) != 1 {
		t.Errorf("%v, %v, want the outbound rule alone", got, err)
	}
}

func TestSecurityGroupEgress(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.16.0.0/16")
	group := n.group("out")
	rest := `"GroupId": "` + group + `", "IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "CidrIp": "10.0.0.0/8"`
	seen := func(ctx context.Context, id string) (any, error) {
		if !strings.HasPrefix(id, "sgr-") {
			t.Errorf("physical id %s, want the rule's", id)
		}
		return n.rulesSeen(ctx, group)
	}
	life{
		typ: "AWS::EC2::SecurityGroupEgress", owner: t.Name() + "5",
		steps: []step{
			{"create", `{` + rest + `}`, seen, []string{"out -1 -1 0.0.0.0/0 ", "out tcp 443 10.0.0.0/8 "}},
			{"describe", `{` + rest + `, "Description": "b"}`, seen, []string{"out -1 -1 0.0.0.0/0 ", "out tcp 443 10.0.0.0/8 b"}},
		},
	}.run(t, s)
}
