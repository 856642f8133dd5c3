package awssdk

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// Only these types depend on the wait mode, and each names the command that shows
// what was not waited for (T-1101, T-1102, T-1106).
func TestWaitsByMode(t *testing.T) {
	got := map[string]provider.WaitMode{}
	for _, res := range Resources() {
		if res.Wait == nil || res.Wait.From == provider.WaitNone {
			continue
		}
		got[res.Type] = res.Wait.From
		command := ""
		if res.Wait.Command != nil {
			command = res.Wait.Command(&provider.Request{Stack: stack, Type: res.Type, LogicalID: "R", PhysicalID: "the-id",
				Properties: value.NewObject("InstanceId", "i-1", "VpcEndpointType", "Interface")})
		}
		if !strings.HasPrefix(command, "aws ") || !strings.Contains(command, "the-id") {
			t.Errorf("%s is seen by %q", res.Type, command)
		}
	}
	want := map[string]provider.WaitMode{
		"AWS::CloudFront::Distribution":             provider.WaitFull,
		"AWS::ECS::Service":                         provider.WaitFull,
		"AWS::RDS::DBInstance":                      provider.WaitDefault,
		"AWS::RDS::DBCluster":                       provider.WaitDefault,
		"AWS::DocDB::DBInstance":                    provider.WaitDefault,
		"AWS::DocDB::DBCluster":                     provider.WaitDefault,
		"AWS::Neptune::DBInstance":                  provider.WaitDefault,
		"AWS::Neptune::DBCluster":                   provider.WaitDefault,
		"AWS::ElastiCache::CacheCluster":            provider.WaitDefault,
		"AWS::CertificateManager::Certificate":      provider.WaitDefault,
		"AWS::EC2::NatGateway":                      provider.WaitDefault,
		"AWS::EC2::Instance":                        provider.WaitDefault,
		"AWS::EC2::EIP":                             provider.WaitDefault,
		"AWS::EC2::VPCEndpoint":                     provider.WaitDefault,
		"AWS::ElasticLoadBalancingV2::LoadBalancer": provider.WaitDefault,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A function's network interface is waited for in no mode (T-1104).
func TestNobodyWaitsForAFunction(t *testing.T) {
	if w := describe(t, "AWS::Lambda::Function").Wait; w != nil {
		t.Errorf("a function is waited for: %s", w.What)
	}
}

// A destroy waits in every mode for what keeps the rest from being deleted (T-1103).
func TestDeletesAreWaitedFor(t *testing.T) {
	if w := describe(t, "AWS::EC2::NatGateway").DeleteWait; !w.Applies(provider.WaitNone) || w.Timeout != 15*time.Minute {
		t.Errorf("a NAT gateway is waited for: %t, for %s", w.Applies(provider.WaitNone), w.Timeout)
	}
}
