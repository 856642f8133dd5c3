package awssdk

import (
	"context"
	"encoding/base64"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/org/cdkd-action/engine/provider"
)

func TestVPCEndpoint(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.17.0.0/16")
	first, second := n.table(), n.table()
	fixed := `"VpcId": "` + n.vpc + `", "ServiceName": "com.amazonaws.eu-west-1.s3", "VpcEndpointType": "Gateway"`
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := n.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{id}})
		if err != nil || len(out.VpcEndpoints) == 0 {
			return nil, err
		}
		return append([]string{}, out.VpcEndpoints[0].RouteTableIds...), nil
	}
	life{
		typ: "AWS::EC2::VPCEndpoint", owner: t.Name() + "1",
		steps: []step{
			{"create", `{` + fixed + `, "RouteTableIds": ["` + first + `"], "Tags": [{"Key": "a", "Value": "1"}],
				"PolicyDocument": {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": "*"}]}}`, seen, []string{first}},
			{"another table, other tags", `{` + fixed + `, "RouteTableIds": ["` + second + `"], "Tags": [{"Key": "b", "Value": "1"}],
				"PolicyDocument": {"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}]}}`, seen, []string{second}},
			{"no table, and the policy it had before any was declared", `{` + fixed + `}`, seen, []string{}},
		},
		gone: func(ctx context.Context, id string) error {
			out, err := n.DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{id}})
			if err == nil && len(out.VpcEndpoints) == 1 && endpointState(&out.VpcEndpoints[0]) == "deleted" {
				return provider.ErrNotFound
			}
			return err
		},
	}.run(t, s)
	subnet, group := n.subnet("10.17.1.0/24"), n.group("endpoint")
	life{
		typ: "AWS::EC2::VPCEndpoint", owner: t.Name() + "2",
		steps: []step{{name: "create", props: `{"VpcId": "` + n.vpc + `", "ServiceName": "com.amazonaws.eu-west-1.sqs", "VpcEndpointType": "Interface",
			"PrivateDnsEnabled": true, "SubnetIds": ["` + subnet + `"], "SecurityGroupIds": ["` + group + `"]}`}},
	}.run(t, s)
}

// An update sends what differs, and nothing that other kinds of endpoint take.
func TestModifyEndpoint(t *testing.T) {
	for name, test := range map[string]struct {
		old, new string
		want     ec2.ModifyVpcEndpointInput
	}{
		"lists by difference": {`{"RouteTableIds": ["a", "b"], "PolicyDocument": {}}`, `{"RouteTableIds": ["b", "c"], "PolicyDocument": {}}`,
			ec2.ModifyVpcEndpointInput{AddRouteTableIds: []string{"c"}, RemoveRouteTableIds: []string{"a"}}},
		"a policy that is gone is the default": {`{"PolicyDocument": {"a": 1}}`, `{}`, ec2.ModifyVpcEndpointInput{ResetPolicy: aws.Bool(true)}},
		"names that are gone": {`{"PrivateDnsEnabled": true, "SubnetIds": ["a"]}`, `{"SubnetIds": ["a"]}`,
			ec2.ModifyVpcEndpointInput{PrivateDnsEnabled: aws.Bool(false)}},
		"inbound resolvers": {`{}`, `{"DnsOptions": {"DnsRecordIpType": "ipv4", "PrivateDnsOnlyForInboundResolverEndpoint": "OnlyInboundResolver"}}`,
			ec2.ModifyVpcEndpointInput{DnsOptions: &types.DnsOptionsSpecification{DnsRecordIpType: "ipv4", PrivateDnsOnlyForInboundResolverEndpoint: aws.Bool(true)}}},
	} {
		t.Run(name, func(t *testing.T) {
			in, err := modifyEndpointInput.Input(&provider.Request{PhysicalID: "vpce-1", Previous: object(t, test.old), Properties: object(t, test.new)})
			if err != nil {
				t.Fatal(err)
			}
			test.want.VpcEndpointId = aws.String("vpce-1")
			if diff := cmp.Diff(test.want, *in, cmpopts.IgnoreUnexported(*in, types.DnsOptionsSpecification{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("input (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFlowLog(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.18.0.0/16")
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := n.DescribeFlowLogs(ctx, &ec2.DescribeFlowLogsInput{FlowLogIds: []string{id}})
		if err != nil || len(out.FlowLogs) == 0 {
			return nil, provider.ErrNotFound
		}
		return tagsSeen(out.FlowLogs[0].Tags, map[string]string{"of": *out.FlowLogs[0].ResourceId}), nil
	}
	fixed := `"ResourceId": "` + n.vpc + `", "ResourceType": "VPC", "TrafficType": "ALL", "LogDestinationType": "cloud-watch-logs",
		"LogGroupName": "flows", "DeliverLogsPermissionArn": "arn:aws:iam::123456789012:role/flows", "MaxAggregationInterval": 60`
	life{
		typ: "AWS::EC2::FlowLog", owner: t.Name(),
		steps: []step{
			{"create", `{` + fixed + `, "Tags": [{"Key": "a", "Value": "1"}]}`, seen, map[string]string{"of": n.vpc, "tag:a": "1", "tag:cdkd-action:create": "set"}},
			{"change tags", `{` + fixed + `, "Tags": [{"Key": "b", "Value": "1"}]}`, seen, map[string]string{"of": n.vpc, "tag:b": "1", "tag:cdkd-action:create": "set"}},
		},
		gone: func(ctx context.Context, id string) error { _, err := seen(ctx, id); return err },
	}.run(t, s)
}

func TestLaunchTemplate(t *testing.T) {
	s := emulated(t)
	c := ec2.NewFromConfig(s.Config)
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"$Latest"}})
		if err != nil {
			return nil, err
		}
		v := out.LaunchTemplateVersions[0]
		return []any{*v.VersionNumber, string(v.LaunchTemplateData.InstanceType)}, nil
	}
	life{
		typ: "AWS::EC2::LaunchTemplate", attributes: map[string]string{"DefaultVersionNumber": "1"},
		steps: []step{
			{"create", `{"LaunchTemplateName": "web", "LaunchTemplateData": {"InstanceType": "t3.micro", "ImageId": "ami-12c6146b",
				"TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "x"}]}]}}`, seen, []any{int64(1), "t3.micro"}},
			{"a change is another version", `{"LaunchTemplateName": "web", "LaunchTemplateData": {"InstanceType": "t3.small", "ImageId": "ami-12c6146b"}}`,
				seen, []any{int64(2), "t3.small"}},
		},
		gone: func(ctx context.Context, id string) error { _, err := seen(ctx, id); return err },
	}.run(t, s)
}

// What launches by the template is told the version that an update made.
func TestLaunchTemplateVersionIsTold(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::EC2::LaunchTemplate"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "T", Type: "AWS::EC2::LaunchTemplate", Token: "of this create",
		Properties: object(t, `{"LaunchTemplateData": {"InstanceType": "t3.micro"}}`)}
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.PhysicalID, r.Attributes, r.Previous = made.PhysicalID, made.Attributes, r.Properties
	r.Properties = object(t, `{"LaunchTemplateData": {"InstanceType": "t3.small"}, "TagSpecifications": [{"ResourceType": "launch-template", "Tags": [{"Key": "a", "Value": "1"}]}]}`)
	updated, err := d.Update(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(updated.Attributes, "LatestVersionNumber") + " " + text(updated.Attributes, "DefaultVersionNumber"); got != "2 1" {
		t.Errorf("latest and default version are %s, want 2 1", got)
	}
	out, err := ec2.NewFromConfig(s.Config).DescribeTags(t.Context(), &ec2.DescribeTagsInput{Filters: []types.Filter{having("resource-id", made.PhysicalID)}})
	if err != nil || len(out.Tags) != 1 {
		t.Errorf("%+v, %v, want a tag", out, err)
	}
}

func TestInstance(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.19.0.0/16")
	subnet, first, second := n.subnet("10.19.1.0/24"), n.group("first"), n.group("second")
	profiles := iam.NewFromConfig(s.Config)
	for _, name := range []string{"Shop-ProfileA", "Shop-ProfileB"} {
		if _, err := profiles.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := n.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
		if err != nil {
			return nil, err
		}
		i := out.Reservations[0].Instances[0]
		m := tagsSeen(i.Tags, map[string]string{"type": string(i.InstanceType), "group": *i.SecurityGroups[0].GroupId, "state": string(i.State.Name)})
		profiles, err := n.DescribeIamInstanceProfileAssociations(ctx, &ec2.DescribeIamInstanceProfileAssociationsInput{Filters: []types.Filter{having("instance-id", id)}})
		if err != nil {
			return nil, err
		}
		for _, a := range profiles.IamInstanceProfileAssociations {
			m["profile"] = lastSegment(*a.IamInstanceProfile.Arn, "/")
		}
		if !aws.ToBool(i.SourceDestCheck) {
			m["forwards"] = "yes"
		}
		return m, nil
	}
	script := base64.StdEncoding.EncodeToString([]byte("#!/bin/sh"))
	fixed := `"ImageId": "` + anImage + `", "SubnetId": "` + subnet + `"`
	life{
		typ: "AWS::EC2::Instance", noWalk: true, owner: t.Name(), noRead: true, // the emulator tells the first profile for ever
		steps: []step{
			{"create", `{` + fixed + `, "InstanceType": "t3.micro", "SecurityGroupIds": ["` + first + `"], "IamInstanceProfile": "Shop-ProfileA", "SourceDestCheck": false,
				"UserData": "` + script + `", "Tags": [{"Key": "Name", "Value": "a"}]}`, seen,
				map[string]string{"type": "t3.micro", "group": first, "state": "running", "profile": "Shop-ProfileA", "forwards": "yes", "tag:Name": "a", "tag:cdkd-action:create": "set"}},
			{"change, also what takes a stop", `{` + fixed + `, "InstanceType": "t3.small", "SecurityGroupIds": ["` + second + `"], "IamInstanceProfile": "Shop-ProfileB",
				"UserData": "` + script + `", "DisableApiTermination": true}`, seen,
				map[string]string{"type": "t3.small", "group": second, "state": "running", "profile": "Shop-ProfileB", "tag:cdkd-action:create": "set"}},
			{"removed", `{` + fixed + `, "InstanceType": "t3.small", "SecurityGroupIds": ["` + second + `"], "UserData": "` + script + `"}`, seen,
				map[string]string{"type": "t3.small", "group": second, "state": "running", "tag:cdkd-action:create": "set"}},
		},
		gone: func(ctx context.Context, id string) error {
			got, err := seen(ctx, id)
			if err == nil && got.(map[string]string)["state"] == "terminated" {
				return provider.ErrNotFound
			}
			return err
		},
	}.run(t, s)
}

// Volumes may be tagged as the instance is, but not as its create's own.
func TestInstanceInput(t *testing.T) {
	in, err := runInstanceInput.Input(&provider.Request{Token: "t", Properties: object(t, `{"Tags": [{"Key": "a", "Value": "1"}, {"Key": "cdkd-action:create", "Value": "x"}],
		"PropagateTagsToVolumeOnCreation": true, "Tenancy": "dedicated", "AvailabilityZone": "eu-west-1a", "Monitoring": "true", "IamInstanceProfile": "p",
		"BlockDeviceMappings": [{"DeviceName": "/dev/sdb", "NoDevice": {}}], "NetworkInterfaces": [{"DeviceIndex": "0", "GroupSet": ["sg-1"]}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	got := []any{len(in.TagSpecifications), len(in.TagSpecifications[1].Tags), string(in.Placement.Tenancy), *in.Placement.AvailabilityZone, *in.Monitoring.Enabled,
		*in.IamInstanceProfile.Name, in.BlockDeviceMappings[0].NoDevice != nil, *in.NetworkInterfaces[0].DeviceIndex, in.NetworkInterfaces[0].Groups[0], *in.MinCount, *in.ClientToken}
	want := []any{2, 1, "dedicated", "eu-west-1a", true, "p", true, int32(0), "sg-1", int32(1), "t"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
}

// The SDK encodes user data, which the template has encoded already.
func TestChangedUserData(t *testing.T) {
	in, err := userData(&provider.Request{LogicalID: "I", Properties: object(t, `{"UserData": "IyEvYmluL3No"}`)})
	if err != nil || string(in.UserData.Value) != "#!/bin/sh" {
		t.Errorf("%+v, %v", in, err)
	}
	if _, err := userData(&provider.Request{LogicalID: "I", Properties: object(t, `{"UserData": "#!"}`)}); err == nil {
		t.Error("text that is not encoded was taken")
	}
}

func TestReadInstance(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.20.0.0/16")
	subnet, group := n.subnet("10.20.1.0/24"), n.group("read")
	life{
		typ: "AWS::EC2::Instance", owner: t.Name(),
		steps: []step{{name: "create", props: `{"ImageId": "` + anImage + `", "SubnetId": "` + subnet + `", "InstanceType": "t3.micro", "SecurityGroupIds": ["` + group + `"],
			"UserData": "IyEvYmluL3No", "SourceDestCheck": false, "EbsOptimized": true, "Tags": [{"Key": "Name", "Value": "a"}]}`}},
	}.run(t, s)
}

// An instance that EC2 started before it knew the profile gets it afterwards.
func TestInstanceGetsItsProfile(t *testing.T) {
	s := emulated(t)
	n := newNetwork(t, s, "10.23.0.0/16")
	if _, err := iam.NewFromConfig(s.Config).CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("Shop-Late")}); err != nil {
		t.Fatal(err)
	}
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "I", Type: "AWS::EC2::Instance", PhysicalID: n.instance(n.subnet("10.23.1.0/24")),
		Properties: object(t, `{"IamInstanceProfile": "Shop-Late"}`)}
	if err := describe(t, r.Type).Wait.Wait(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	i, err := describeInstance(t.Context(), r)
	if err != nil || i.IamInstanceProfile == nil {
		t.Errorf("%+v, %v, want a profile", i, err)
	}
}
