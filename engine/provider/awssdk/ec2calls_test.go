package awssdk

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

// answering is a server of EC2's protocol for calls that the emulator does not
// know: it answers with the XML given by action, and keeps what it was asked.
func answering(t *testing.T, answers map[string]string) (*provider.Session, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var calls []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		form, _ := url.ParseQuery(string(body))
		action := form.Get("Action")
		form.Del("Action")
		form.Del("Version")
		call := []string{action}
		for k, v := range form {
			call = append(call, k+"="+v[0])
		}
		slices.Sort(call[1:])
		mu.Lock()
		calls = append(calls, strings.Join(call, " "))
		mu.Unlock()
		fmt.Fprintf(w, "<%sResponse>%s</%sResponse>", action, answers[action], action)
	}))
	t.Cleanup(server.Close)
	return &provider.Session{Config: aws.Config{
			Region: stack.Region, BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		}}, func() []string {
			mu.Lock()
			defer mu.Unlock()
			return calls
		}
}

const aGateway = `<natGatewaySet><item><natGatewayId>nat-1</natGatewayId><natGatewayAddressSet>
	<item><allocationId>eipalloc-1</allocationId><associationId>eipassoc-1</associationId><isPrimary>true</isPrimary><privateIp>10.0.0.1</privateIp></item>
	<item><allocationId>eipalloc-2</allocationId><associationId>eipassoc-2</associationId><isPrimary>false</isPrimary><privateIp>10.0.0.2</privateIp></item>
	<item><allocationId>eipalloc-3</allocationId><associationId>eipassoc-3</associationId><isPrimary>false</isPrimary><privateIp>10.0.0.3</privateIp></item>
	</natGatewayAddressSet></item></natGatewaySet>`

func TestNATAddresses(t *testing.T) {
	for name, test := range map[string]struct {
		old, new string
		want     []string
	}{
		"elastic addresses come before others go": {
			`{"SecondaryAllocationIds": ["eipalloc-2", "eipalloc-3"]}`, `{"SecondaryAllocationIds": ["eipalloc-3", "eipalloc-4"], "MaxDrainDurationSeconds": 60}`,
			[]string{
				"AssociateNatGatewayAddress AllocationId.1=eipalloc-4 NatGatewayId=nat-1",
				"DisassociateNatGatewayAddress AssociationId.1=eipassoc-2 MaxDrainDurationSeconds=60 NatGatewayId=nat-1",
			}},
		"by zone": {
			`{}`, `{"AvailabilityZoneAddresses": [{"AvailabilityZone": "eu-west-1a", "AllocationIds": ["eipalloc-5"]}]}`,
			[]string{"AssociateNatGatewayAddress AllocationId.1=eipalloc-5 AvailabilityZone=eu-west-1a NatGatewayId=nat-1"}},
		"private addresses": {
			`{"SecondaryPrivateIpAddresses": ["10.0.0.2"]}`, `{"SecondaryPrivateIpAddresses": ["10.0.0.4"]}`,
			[]string{
				"AssignPrivateNatGatewayAddress NatGatewayId=nat-1 PrivateIpAddress.1=10.0.0.4",
				"UnassignPrivateNatGatewayAddress NatGatewayId=nat-1 PrivateIpAddress.1=10.0.0.2",
			}},
		"more by number": {
			`{"SecondaryPrivateIpAddressCount": 2}`, `{"SecondaryPrivateIpAddressCount": 3}`,
			[]string{"AssignPrivateNatGatewayAddress NatGatewayId=nat-1 PrivateIpAddressCount=1"}},
		"fewer by number": {
			`{"SecondaryPrivateIpAddressCount": 2}`, `{"SecondaryPrivateIpAddressCount": 1}`,
			[]string{"UnassignPrivateNatGatewayAddress NatGatewayId=nat-1 PrivateIpAddress.1=10.0.0.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, calls := answering(t, map[string]string{"DescribeNatGateways": aGateway})
			r := &provider.Request{Session: s, LogicalID: "N", Type: "AWS::EC2::NatGateway", PhysicalID: "nat-1",
				Previous: object(t, test.old), Properties: object(t, test.new)}
			if _, err := updateNAT(t.Context(), r, provider.Compare(r.Previous, r.Properties)); err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(calls(), func(c string) bool { return strings.HasPrefix(c, "Describe") })
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// Each of a subnet's settings has a call of its own, and none is made for what
// a new subnet has anyway.
func TestSubnetSettings(t *testing.T) {
	for name, test := range map[string]struct {
		old, new string // old "": a create
		want     []string
	}{
		"nothing to set": {"", `{"MapPublicIpOnLaunch": false, "AssignIpv6AddressOnCreation": "false", "PrivateDnsNameOptionsOnLaunch": {"HostnameType": "ip-name"}}`, nil},
		"all of them": {"", `{"MapPublicIpOnLaunch": true, "AssignIpv6AddressOnCreation": "true", "EnableDns64": true, "EnableLniAtDeviceIndex": "1",
			"PrivateDnsNameOptionsOnLaunch": {"HostnameType": "resource-name", "EnableResourceNameDnsARecord": true, "EnableResourceNameDnsAAAARecord": true}}`,
			[]string{
				"AssignIpv6AddressOnCreation.Value=true", "EnableDns64.Value=true", "EnableLniAtDeviceIndex=1",
				"EnableResourceNameDnsAAAARecordOnLaunch.Value=true", "EnableResourceNameDnsARecordOnLaunch.Value=true",
				"MapPublicIpOnLaunch.Value=true", "PrivateDnsHostnameTypeOnLaunch=resource-name",
			}},
		"all gone": {`{"MapPublicIpOnLaunch": true, "EnableLniAtDeviceIndex": 1, "PrivateDnsNameOptionsOnLaunch": {"HostnameType": "resource-name"}}`, `{}`,
			[]string{"DisableLniAtDeviceIndex.Value=true", "MapPublicIpOnLaunch.Value=false", "PrivateDnsHostnameTypeOnLaunch=ip-name"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, calls := answering(t, map[string]string{"CreateSubnet": `<subnet><subnetId>subnet-1</subnetId></subnet>`})
			d := provider.Drive(describe(t, "AWS::EC2::Subnet"), nil)
			r := &provider.Request{Session: s, Stack: stack, LogicalID: "S", Type: "AWS::EC2::Subnet", Properties: object(t, test.new)}
			r.Properties.Set("VpcId", "vpc-1")
			var err error
			if test.old == "" {
				_, err = d.Create(t.Context(), r)
			} else {
				r.PhysicalID, r.Previous = "subnet-1", object(t, test.old)
				r.Previous.Set("VpcId", "vpc-1")
				_, err = d.Update(t.Context(), r)
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range calls() {
				if setting, ok := strings.CutPrefix(c, "ModifySubnetAttribute "); ok {
					got = append(got, strings.TrimSpace(strings.Replace(setting, "SubnetId=subnet-1", "", 1)))
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// What an instance can be changed while it runs, one call each.
func TestInstanceSettings(t *testing.T) {
	for name, test := range map[string]struct{ new, want string }{
		"shutdown behaviour": {`{"InstanceInitiatedShutdownBehavior": "terminate"}`,
			"ModifyInstanceAttribute InstanceId=i-1 InstanceInitiatedShutdownBehavior.Value=terminate"},
		"credits":     {`{"CreditSpecification": {"CPUCredits": "unlimited"}}`, "ModifyInstanceCreditSpecification InstanceCreditSpecification.1.CpuCredits=unlimited InstanceCreditSpecification.1.InstanceId=i-1"},
		"metadata":    {`{"MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": "2"}}`, "ModifyInstanceMetadataOptions HttpPutResponseHopLimit=2 HttpTokens=required InstanceId=i-1"},
		"monitoring":  {`{"Monitoring": true}`, "MonitorInstances InstanceId.1=i-1"},
		"protection":  {`{"DisableApiTermination": "true"}`, "ModifyInstanceAttribute DisableApiTermination.Value=true InstanceId=i-1"},
		"its groups":  {`{"SecurityGroupIds": ["sg-1"]}`, "ModifyInstanceAttribute GroupId.1=sg-1 InstanceId=i-1"},
		"its profile": {`{"IamInstanceProfile": "p"}`, "AssociateIamInstanceProfile IamInstanceProfile.Name=p InstanceId=i-1"},
	} {
		t.Run(name, func(t *testing.T) {
			s, calls := answering(t, nil)
			r := &provider.Request{Session: s, LogicalID: "I", Type: "AWS::EC2::Instance", PhysicalID: "i-1", Previous: object(t, `{}`), Properties: object(t, test.new)}
			if _, err := updateInstance(t.Context(), r, provider.Compare(r.Previous, r.Properties)); err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(calls(), func(c string) bool { return strings.HasPrefix(c, "Describe") })
			if diff := cmp.Diff([]string{test.want}, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}
