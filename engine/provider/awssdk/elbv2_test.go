package awssdk

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

// aNetwork returns the emulated account's default network: its id, the ids of
// its subnets, and that of its security group.
func aNetwork(t *testing.T, s *provider.Session) (vpc string, subnets []string, group string) {
	t.Helper()
	c := ec2.NewFromConfig(s.Config)
	out, err := c.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{
		Filters: []ec2types.Filter{{Name: aws.String("default-for-az"), Values: []string{"true"}}},
	})
	if err != nil || len(out.Subnets) < 3 {
		t.Fatalf("the emulator has %v, %v, want default subnets", out, err)
	}
	vpc = *out.Subnets[0].VpcId
	for _, sn := range out.Subnets {
		subnets = append(subnets, *sn.SubnetId)
	}
	groups, err := c.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{vpc}}, {Name: aws.String("group-name"), Values: []string{"default"}}},
	})
	if err != nil || len(groups.SecurityGroups) == 0 {
		t.Fatalf("the emulator has %v, %v, want a default group", groups, err)
	}
	return vpc, subnets, *groups.SecurityGroups[0].GroupId
}

func TestLoadBalancer(t *testing.T) {
	s := emulated(t)
	c := elbv2.NewFromConfig(s.Config)
	_, subnets, group := aNetwork(t, s)
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{id}})
		if err != nil {
			return nil, err
		}
		lb := out.LoadBalancers[0]
		attributes, err := c.DescribeLoadBalancerAttributes(ctx, &elbv2.DescribeLoadBalancerAttributesInput{LoadBalancerArn: &id})
		if err != nil {
			return nil, err
		}
		got := map[string]any{"zones": len(lb.AvailabilityZones), "groups": len(lb.SecurityGroups), "ip": string(lb.IpAddressType)}
		for _, a := range attributes.Attributes {
			if *a.Key == "idle_timeout.timeout_seconds" || *a.Key == "deletion_protection.enabled" {
				got[*a.Key] = *a.Value
			}
		}
		r := &provider.Request{Session: s}
		tags, err := elbTagsOf(ctx, r, id)
		for k, v := range tags {
			got["tag:"+k] = v
		}
		return got, err
	}
	const owner = "0123456789abcdef0123456789abcdef"
	base := `{"Name": "Shop-Lb", "Type": "application", "Scheme": "internal", "SecurityGroups": ["` + group + `"], "Subnets": ["` + subnets[0] + `", "` + subnets[1] + `"`
	life{
		typ: "AWS::ElasticLoadBalancingV2::LoadBalancer", physical: "Shop-Lb",
		attributes: map[string]string{"LoadBalancerName": "Shop-Lb"},
		steps: []step{
			{"create", base + `], "LoadBalancerAttributes": [{"Key": "idle_timeout.timeout_seconds", "Value": "30"}, {"Key": "deletion_protection.enabled", "Value": "true"}], "Tags": [{"Key": "a", "Value": "1"}]}`, seen,
				map[string]any{"zones": 2, "groups": 1, "ip": "ipv4", "idle_timeout.timeout_seconds": "30", "deletion_protection.enabled": "true", "tag:a": "1", "tag:cdkd-action:create": owner}},
			{"change", base + `, "` + subnets[2] + `"], "LoadBalancerAttributes": [{"Key": "idle_timeout.timeout_seconds", "Value": "40"}], "Tags": [{"Key": "b", "Value": "2"}]}`, seen,
				map[string]any{"zones": 3, "groups": 1, "ip": "ipv4", "idle_timeout.timeout_seconds": "40", "deletion_protection.enabled": "false", "tag:b": "2", "tag:cdkd-action:create": owner}},
			{"addresses", base + `, "` + subnets[2] + `"], "IpAddressType": "dualstack"}`, seen,
				map[string]any{"zones": 3, "groups": 1, "ip": "dualstack", "idle_timeout.timeout_seconds": "60", "deletion_protection.enabled": "false", "tag:cdkd-action:create": owner}},
			{"remove", base + `, "` + subnets[2] + `"]}`, seen,
				map[string]any{"zones": 3, "groups": 1, "ip": "ipv4", "idle_timeout.timeout_seconds": "60", "deletion_protection.enabled": "false", "tag:cdkd-action:create": owner}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{id}})
			return err
		},
		noRead: true,
	}.run(t, s)
}

// Protection is switched off, and who holds a name is told (S-200).
func TestLoadBalancerHeld(t *testing.T) {
	s := emulated(t)
	_, subnets, _ := aNetwork(t, s)
	d := provider.Drive(describe(t, "AWS::ElasticLoadBalancingV2::LoadBalancer"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "Lb", Type: "AWS::ElasticLoadBalancingV2::LoadBalancer", Name: "Shop-Held"}
	if h, err := d.Lookup(t.Context(), r); h != nil || err != nil {
		t.Fatalf("a free name is held: %+v, %v", h, err)
	}
	r.Properties = object(t, `{"Subnets": ["`+subnets[0]+`", "`+subnets[1]+`"], "Type": "network", "LoadBalancerAttributes": [{"Key": "deletion_protection.enabled", "Value": "true"}]}`)
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if h, err := d.Lookup(t.Context(), r); err != nil || h == nil || h.PhysicalID != made.PhysicalID || h.Created.IsZero() {
		t.Errorf("holder is %+v, %v, want %s with its time", h, err, made.PhysicalID)
	}
	again, err := d.Resume(t.Context(), r, provider.Created{PhysicalID: made.PhysicalID})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"DNSName", "CanonicalHostedZoneID", "LoadBalancerFullName"} {
		if got, want := again.Attributes.String(name), made.Attributes.String(name); got == "" || got != want {
			t.Errorf("%s is %q when resumed, %q when made", name, got, want)
		}
	}
	r.PhysicalID = made.PhysicalID
	if err := d.Unprotect(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	out, err := elbv2.NewFromConfig(s.Config).DescribeLoadBalancerAttributes(t.Context(), &elbv2.DescribeLoadBalancerAttributesInput{LoadBalancerArn: &r.PhysicalID})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range out.Attributes {
		if *a.Key == "deletion_protection.enabled" && *a.Value != "false" {
			t.Error("the load balancer is still protected")
		}
	}
	if _, err := d.Delete(t.Context(), r); err != nil {
		t.Error(err)
	}
}

func TestTargetGroup(t *testing.T) {
	s := emulated(t)
	c := elbv2.NewFromConfig(s.Config)
	vpc, _, _ := aNetwork(t, s)
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{TargetGroupArns: []string{id}})
		if err != nil {
			return nil, err
		}
		g := out.TargetGroups[0]
		got := []any{*g.HealthCheckPath, *g.HealthCheckIntervalSeconds, *g.Matcher.HttpCode}
		attributes, err := c.DescribeTargetGroupAttributes(ctx, &elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: &id})
		if err != nil {
			return nil, err
		}
		for _, a := range attributes.Attributes {
			if *a.Key == "deregistration_delay.timeout_seconds" {
				got = append(got, *a.Value)
			}
		}
		health, err := c.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: &id})
		if err != nil {
			return nil, err
		}
		for _, h := range health.TargetHealthDescriptions {
			if h.TargetHealth.State != "draining" {
				got = append(got, *h.Target.Id)
			}
		}
		return got, nil
	}
	base := `{"Port": 80, "Protocol": "HTTP", "VpcId": "` + vpc + `", "TargetType": "ip"`
	life{
		typ: "AWS::ElasticLoadBalancingV2::TargetGroup", physical: "Shop-Group",
		attributes: map[string]string{"TargetGroupName": "Shop-Group"},
		steps: []step{
			{"create", base + `, "HealthCheckPath": "/a", "HealthCheckIntervalSeconds": 10, "Matcher": {"HttpCode": "200-299"}, "Targets": [{"Id": "10.0.0.1", "Port": 80}],
				"TargetGroupAttributes": [{"Key": "deregistration_delay.timeout_seconds", "Value": "20"}], "Tags": [{"Key": "a", "Value": "1"}]}`, seen,
				[]any{"/a", int32(10), "200-299", "20", "10.0.0.1"}},
			{"change", base + `, "HealthCheckPath": "/b", "HealthCheckIntervalSeconds": 15, "Matcher": {"HttpCode": "200"}, "Targets": [{"Id": "10.0.0.2", "Port": 80}],
				"TargetGroupAttributes": [{"Key": "deregistration_delay.timeout_seconds", "Value": "25"}]}`, seen,
				[]any{"/b", int32(15), "200", "25", "10.0.0.2"}},
			{"remove", base + `}`, seen, []any{"/", int32(30), "200", "300"}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{TargetGroupArns: []string{id}})
			return err
		},
		noRead: true,
	}.run(t, s)
}

func TestListenerAndRule(t *testing.T) {
	s := emulated(t)
	c := elbv2.NewFromConfig(s.Config)
	_, subnets, _ := aNetwork(t, s)
	lb, err := c.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{Name: aws.String("Shop-Listened"), Subnets: subnets[:2]})
	if err != nil {
		t.Fatal(err)
	}
	fixed := func(code string) string {
		return `[{"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "` + code + `", "ContentType": "text/plain", "MessageBody": "m"}}]`
	}
	on := `{"LoadBalancerArn": "` + *lb.LoadBalancers[0].LoadBalancerArn + `", "Protocol": "HTTP", "Port": `
	get := func(ctx context.Context, id string) (*elbv2.DescribeListenersOutput, error) {
		return c.DescribeListeners(ctx, &elbv2.DescribeListenersInput{ListenerArns: []string{id}})
	}
	life{
		typ: "AWS::ElasticLoadBalancingV2::Listener",
		steps: []step{
			{"create", on + `"80", "DefaultActions": ` + fixed("404") + `, "Tags": [{"Key": "a", "Value": "1"}]}`,
				func(ctx context.Context, id string) (any, error) {
					out, err := get(ctx, id)
					if err != nil {
						return nil, err
					}
					return []any{*out.Listeners[0].Port, *out.Listeners[0].DefaultActions[0].FixedResponseConfig.StatusCode}, nil
				}, []any{int32(80), "404"}},
			{"change", on + `81, "DefaultActions": ` + fixed("503") + `}`,
				func(ctx context.Context, id string) (any, error) {
					out, err := get(ctx, id)
					if err != nil {
						return nil, err
					}
					return []any{*out.Listeners[0].Port, *out.Listeners[0].DefaultActions[0].FixedResponseConfig.StatusCode}, nil
				}, []any{int32(81), "503"}},
		},
		gone:   func(ctx context.Context, id string) error { _, err := get(ctx, id); return err },
		noRead: true,
	}.run(t, s)

	d := provider.Drive(describe(t, "AWS::ElasticLoadBalancingV2::Listener"), nil)
	made, err := d.Create(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "L", Type: "AWS::ElasticLoadBalancingV2::Listener",
		Properties: object(t, on+`82, "DefaultActions": `+fixed("404")+`}`)})
	if err != nil {
		t.Fatal(err)
	}
	rules := func(ctx context.Context, id string) (*elbv2.DescribeRulesOutput, error) {
		return c.DescribeRules(ctx, &elbv2.DescribeRulesInput{RuleArns: []string{id}})
	}
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := rules(ctx, id)
		if err != nil {
			return nil, err
		}
		rule := out.Rules[0]
		return []any{*rule.Priority, *rule.Actions[0].FixedResponseConfig.StatusCode, rule.Conditions[0].PathPatternConfig.Values}, nil
	}
	rule := func(priority, path, code string) string {
		return `{"ListenerArn": "` + made.PhysicalID + `", "Priority": ` + priority + `, "Actions": ` + fixed(code) + `,
			"Conditions": [{"Field": "path-pattern", "PathPatternConfig": {"Values": ["` + path + `"]}}]}`
	}
	life{
		typ:        "AWS::ElasticLoadBalancingV2::ListenerRule",
		attributes: map[string]string{"IsDefault": "false"},
		steps: []step{
			{"create", rule("5", "/a", "201"), seen, []any{"5", "201", []string{"/a"}}},
			{"change", rule("6", "/b", "202"), seen, []any{"6", "202", []string{"/b"}}},
			{"only its priority", rule("7", "/b", "202"), seen, []any{"7", "202", []string{"/b"}}},
		},
		gone:   func(ctx context.Context, id string) error { _, err := rules(ctx, id); return err },
		noRead: true,
	}.run(t, s)
}

func TestAttributeChanges(t *testing.T) {
	got := attributeChanges(
		map[string]string{"stays": "1", "changes": "1", "known": "x", "unknown": "x", "a.header_value": "v"},
		map[string]string{"stays": "1", "changes": "2", "new": "3"},
		map[string]string{"known": "default"})
	want := map[string]string{"changes": "2", "new": "3", "known": "default", "a.header_value": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestHealthCheckDefaults(t *testing.T) {
	for name, test := range map[string]struct{ props, path, timeout, interval, enabled string }{
		"web":                         {`{"Protocol": "HTTP"}`, "/", "5", "30", "true"},
		"gRPC":                        {`{"Protocol": "HTTP", "ProtocolVersion": "GRPC"}`, "/AWS.ALB/healthcheck", "5", "30", "true"},
		"network":                     {`{"Protocol": "TCP"}`, "", "10", "30", "true"},
		"network with a page to look": {`{"Protocol": "TCP", "HealthCheckProtocol": "HTTP"}`, "/", "6", "30", "true"},
		"a function":                  {`{"TargetType": "lambda"}`, "/", "30", "35", "false"},
		"a gateway":                   {`{"Protocol": "GENEVE"}`, "", "5", "10", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			d := healthCheckDefaults(object(t, test.props))
			got := []string{d["HealthCheckPath"], d["HealthCheckTimeoutSeconds"], d["HealthCheckIntervalSeconds"], d["HealthCheckEnabled"]}
			if diff := cmp.Diff([]string{test.path, test.timeout, test.interval, test.enabled}, got); diff != "" {
				t.Errorf("path, timeout, interval, enabled (-want +got):\n%s", diff)
			}
		})
	}
}
