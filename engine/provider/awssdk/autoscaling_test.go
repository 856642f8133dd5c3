package awssdk

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

// A group that was scaled since keeps its sizes when something else of it changes,
// and gets those that the template changes.
func TestGroupKeepsItsSizes(t *testing.T) {
	s := emulated(t)
	vpc := made(t, s, "AWS::EC2::VPC", "", `{"CidrBlock": "10.7.0.0/16"}`)
	subnet := made(t, s, "AWS::EC2::Subnet", "", fmt.Sprintf(`{"VpcId": %q, "CidrBlock": "10.7.0.0/24"}`, vpc))
	template := made(t, s, "AWS::EC2::LaunchTemplate", "", `{"LaunchTemplateName": "scaled", "LaunchTemplateData": {"ImageId": "ami-12c6146b", "InstanceType": "t3.micro"}}`)
	props := func(max, desired, cooldown string) string {
		return fmt.Sprintf(`{"AutoScalingGroupName": "scaled", "MinSize": "0", "MaxSize": %q, "DesiredCapacity": %q, "Cooldown": %q, "VPCZoneIdentifier": [%q], "LaunchTemplate": {"LaunchTemplateId": %q, "Version": "1"}}`,
			max, desired, cooldown, subnet, template)
	}
	now := props("4", "0", "300")
	made(t, s, "AWS::AutoScaling::AutoScalingGroup", "scaled", now)
	client := scalingClient(s)
	if _, err := client.SetDesiredCapacity(t.Context(), &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("scaled"), DesiredCapacity: aws.Int32(2)}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		props string
		want  []int32 // least, most, desired
	}{
		{props("4", "0", "60"), []int32{0, 4, 2}},
		{props("5", "0", "60"), []int32{0, 5, 2}},
		{props("5", "1", "60"), []int32{0, 5, 1}},
	} {
		_, err := provider.Drive(describe(t, "AWS::AutoScaling::AutoScalingGroup"), nil).Update(t.Context(), &provider.Request{
			Session: s, Stack: stack, LogicalID: "Group", Type: "AWS::AutoScaling::AutoScalingGroup", PhysicalID: "scaled",
			Properties: object(t, step.props), Previous: object(t, now),
		})
		if err != nil {
			t.Fatal(err)
		}
		now = step.props
		out, err := client.DescribeAutoScalingGroups(t.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"scaled"}})
		if err != nil {
			t.Fatal(err)
		}
		g := out.AutoScalingGroups[0]
		if d := cmp.Diff(step.want, []int32{*g.MinSize, *g.MaxSize, *g.DesiredCapacity}); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
}
