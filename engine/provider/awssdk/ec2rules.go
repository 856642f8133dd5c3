package awssdk

import (
	"context"
	"net/netip"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// A direction is a group's inbound or outbound rules: the same shapes under
// other names, and other calls.
type direction struct {
	property    string // of the group
	peer        string // how the members that name the other side begin
	outbound    bool
	permissions func(*types.SecurityGroup) []types.IpPermission
}

var (
	ingress = direction{"SecurityGroupIngress", "Source", false, func(g *types.SecurityGroup) []types.IpPermission { return g.IpPermissions }}
	egress  = direction{"SecurityGroupEgress", "Destination", true, func(g *types.SecurityGroup) []types.IpPermission { return g.IpPermissionsEgress }}
)

var protocolNames = map[string]string{"1": "icmp", "6": "tcp", "17": "udp", "58": "icmpv6"}

func protocol(rule *value.Object) string {
	p := strings.ToLower(text(rule, "IpProtocol"))
	if name, ok := protocolNames[p]; ok {
		return name
	}
	return p
}

// ports are -1 where the protocol has none, or the rule names none.
func ports(rule *value.Object) (from, to string) {
	port := func(name string) string {
		if p := text(rule, name); p != "" {
			return p
		}
		return "-1"
	}
	switch protocol(rule) {
	case "tcp", "udp", "icmp", "icmpv6":
		return port("FromPort"), port("ToPort")
	}
	return "-1", "-1"
}

// key tells rules of a group apart; a group has each but once. A description
// is not part of it.
func (d direction) key(rule *value.Object) string {
	from, to := ports(rule)
	group := text(rule, d.peer+"SecurityGroupId")
	if group == "" {
		group = text(rule, "SourceSecurityGroupName")
	}
	return strings.Join([]string{protocol(rule), from, to, canonical(text(rule, "CidrIp")), canonical(text(rule, "CidrIpv6")),
		text(rule, d.peer+"PrefixListId"), group}, "|")
}

// canonical is a block as AWS keeps it.
func canonical(block string) string {
	p, err := netip.ParsePrefix(block)
	if err != nil {
		return block
	}
	return p.Masked().String()
}

// permission is a rule as the calls take it.
func (d direction) permission(rule *value.Object) types.IpPermission {
	p := types.IpPermission{IpProtocol: aws.String(protocol(rule))}
	if from, to := ports(rule); from != "-1" || to != "-1" || strings.HasPrefix(*p.IpProtocol, "icmp") {
		p.FromPort, p.ToPort = number(from), number(to)
	}
	description := optional(text(rule, "Description"))
	if block := text(rule, "CidrIp"); block != "" {
		p.IpRanges = []types.IpRange{{CidrIp: &block, Description: description}}
	}
	if block := text(rule, "CidrIpv6"); block != "" {
		p.Ipv6Ranges = []types.Ipv6Range{{CidrIpv6: &block, Description: description}}
	}
	if id := text(rule, d.peer+"PrefixListId"); id != "" {
		p.PrefixListIds = []types.PrefixListId{{PrefixListId: &id, Description: description}}
	}
	pair := types.UserIdGroupPair{
		GroupId: optional(text(rule, d.peer+"SecurityGroupId")), GroupName: optional(text(rule, "SourceSecurityGroupName")),
		UserId: optional(text(rule, "SourceSecurityGroupOwnerId")), Description: description,
	}
	if pair.GroupId != nil || pair.GroupName != nil {
		p.UserIdGroupPairs = []types.UserIdGroupPair{pair}
	}
	return p
}

func number(s string) *int32 {
	n, ok := value.Integer(s)
	if !ok || n != int64(int32(n)) {
		return nil
	}
	return aws.Int32(int32(n))
}

func (d direction) permissionsOf(rules []*value.Object) []types.IpPermission {
	var out []types.IpPermission
	for _, rule := range rules {
		out = append(out, d.permission(rule))
	}
	return out
}

// rules is what a describe gave, a rule for each peer.
func (d direction) rules(permissions []types.IpPermission) []any {
	var out []any
	for _, p := range permissions {
		add := func(member string, peer, description *string) {
			rule := value.NewObject("IpProtocol", aws.ToString(p.IpProtocol))
			if p.FromPort != nil && *p.IpProtocol != "-1" {
				rule.Set("FromPort", value.Int(*p.FromPort))
			}
			if p.ToPort != nil && *p.IpProtocol != "-1" {
				rule.Set("ToPort", value.Int(*p.ToPort))
			}
			set(rule, member, peer)
			set(rule, "Description", description)
			out = append(out, rule)
		}
		for _, r := range p.IpRanges {
			add("CidrIp", r.CidrIp, r.Description)
		}
		for _, r := range p.Ipv6Ranges {
			add("CidrIpv6", r.CidrIpv6, r.Description)
		}
		for _, r := range p.PrefixListIds {
			add(d.peer+"PrefixListId", r.PrefixListId, r.Description)
		}
		for _, g := range p.UserIdGroupPairs {
			if g.GroupId == nil {
				add("SourceSecurityGroupName", g.GroupName, g.Description)
			} else {
				add(d.peer+"SecurityGroupId", g.GroupId, g.Description)
			}
		}
	}
	return out
}

// own returns those of a group's rules that the group's own properties have,
// as they have them: others are rules of resources of their own. Without
// properties all rules are returned.
func (d direction) own(props *value.Object, live []any) []any {
	if props.Len() == 0 {
		return live
	}
	there := d.byKey(live)
	var out []any
	for _, v := range props.List(d.property) {
		declared, _ := v.(*value.Object)
		found := there.Object(d.key(declared))
		if found == nil {
			continue
		}
		rule := declared.Clone()
		rule.Delete("Description")
		if s := text(found, "Description"); s != "" {
			rule.Set("Description", s)
		}
		out = append(out, rule)
	}
	return out
}

func (d direction) byKey(rules []any) *value.Object {
	o := value.NewObject()
	for _, v := range rules {
		if rule, ok := v.(*value.Object); ok {
			o.Set(d.key(rule), rule)
		}
	}
	return o
}

// change brings a group's rules from old to wanted. What is allowed anew is
// allowed before anything is forbidden, so that no traffic is cut off between.
func (d direction) change(ctx context.Context, r *provider.Request, group string, old, wanted []any) error {
	was, is := d.byKey(old), d.byKey(wanted)
	var added, removed, retold []*value.Object
	for key := range is.All() {
		switch rule := is.Object(key); {
		case !was.Has(key):
			added = append(added, rule)
		case text(rule, "Description") != text(was.Object(key), "Description"):
			retold = append(retold, rule)
		}
	}
	for key := range was.All() {
		if !is.Has(key) {
			removed = append(removed, was.Object(key))
		}
	}
	if err := d.allow(ctx, r, group, added); err != nil {
		return err
	}
	if len(retold) > 0 {
		if err := d.describe(ctx, r, group, d.permissionsOf(retold)); err != nil {
			return err
		}
	}
	return d.forbid(ctx, r, group, removed)
}

// allow adds rules in one call. When one of them is there already, as after an
// attempt whose answer was lost, it adds those that are not.
func (d direction) allow(ctx context.Context, r *provider.Request, group string, rules []*value.Object) error {
	if len(rules) == 0 {
		return nil
	}
	err := d.authorize(ctx, r, group, d.permissionsOf(rules))
	if !provider.HasCode(err, "InvalidPermission.Duplicate") {
		return err
	}
	g, err := describeGroup(ctx, r, group)
	if err != nil {
		return err
	}
	there := d.byKey(d.rules(d.permissions(g)))
	var missing []*value.Object
	for _, rule := range rules {
		if !there.Has(d.key(rule)) {
			missing = append(missing, rule)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return d.authorize(ctx, r, group, d.permissionsOf(missing))
}

// forbid removes rules; those that are gone already make the service refuse
// the whole call, and are then removed one by one.
func (d direction) forbid(ctx context.Context, r *provider.Request, group string, rules []*value.Object) error {
	if len(rules) == 0 {
		return nil
	}
	err := d.revoke(ctx, r, group, d.permissionsOf(rules))
	if !provider.HasCode(err, "InvalidPermission.NotFound") {
		return err
	}
	if len(rules) == 1 {
		return nil
	}
	return forEach(ctx, rules, func(ctx context.Context, rule *value.Object) error {
		return d.forbid(ctx, r, group, []*value.Object{rule})
	})
}

func (d direction) authorize(ctx context.Context, r *provider.Request, group string, p []types.IpPermission) (err error) {
	if d.outbound {
		_, err = ec2Client(r.Session).AuthorizeSecurityGroupEgress(ctx, &ec2.AuthorizeSecurityGroupEgressInput{GroupId: &group, IpPermissions: p})
	} else {
		_, err = ec2Client(r.Session).AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: p})
	}
	return err
}

func (d direction) revoke(ctx context.Context, r *provider.Request, group string, p []types.IpPermission) (err error) {
	if d.outbound {
		_, err = ec2Client(r.Session).RevokeSecurityGroupEgress(ctx, &ec2.RevokeSecurityGroupEgressInput{GroupId: &group, IpPermissions: p})
	} else {
		_, err = ec2Client(r.Session).RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: &group, IpPermissions: p})
	}
	return err
}

// describe changes descriptions.
func (d direction) describe(ctx context.Context, r *provider.Request, group string, p []types.IpPermission) (err error) {
	if d.outbound {
		_, err = ec2Client(r.Session).UpdateSecurityGroupRuleDescriptionsEgress(ctx, &ec2.UpdateSecurityGroupRuleDescriptionsEgressInput{GroupId: &group, IpPermissions: p})
	} else {
		_, err = ec2Client(r.Session).UpdateSecurityGroupRuleDescriptionsIngress(ctx, &ec2.UpdateSecurityGroupRuleDescriptionsIngressInput{GroupId: &group, IpPermissions: p})
	}
	return err
}
