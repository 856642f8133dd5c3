package engine_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/internal/sandbox"
)

// What the create of a replacement made whose answer was lost is found by its
// tag: at once, or by the next run where nobody could look. It takes the old
// one's place, and no other is made (S-213, P-10, P-13).
func TestReplacementIsFoundAgain(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("needs moto_server")
	}
	e, cloud := newEngineOn(t, sandbox.Options{Upstream: sandbox.Moto})
	dir := t.TempDir()
	deploy := func(net string) *result.Stack {
		t.Helper()
		writeApp(t, dir, map[string]string{"Shop": fmt.Sprintf(`"Net": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}},
			"Sub": {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Net"}, "CidrBlock": %q}}`, net)})
		run, err := e.Deploy(t.Context(), deployAll(dir))
		if err != nil {
			t.Fatal(err)
		}
		return run.Stacks[0]
	}
	if s := deploy("10.0.1.0/24"); s.Outcome != result.Success {
		t.Fatalf("%+v", s)
	}
	lost := sandbox.Fault{ID: "lost", Service: "ec2", Action: "CreateSubnet", After: true, Drop: true}
	blind := sandbox.Fault{ID: "blind", Service: "ec2", Action: "DescribeTags", Status: 403, Code: "UnauthorizedOperation"}

	cloud.AddFault(lost)
	if s := deploy("10.0.2.0/24"); s.Outcome != result.Success || s.Counts.Updated != 1 {
		t.Fatalf("%+v", s)
	}
	cloud.AddFault(blind)
	if s := deploy("10.0.3.0/24"); s.Outcome != result.Failed {
		t.Fatalf("%+v", s)
	}
	cloud.RemoveFault("")
	if s := deploy("10.0.3.0/24"); s.Outcome != result.Success || s.Counts.Updated != 1 {
		t.Fatalf("%+v", s)
	}
	there, err := ec2.NewFromConfig(cloud.Config()).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{
		Filters: []types.Filter{{Name: aws.String("tag:cdkd-action:create"), Values: []string{"*"}}},
	})
	if err != nil || len(there.Subnets) != 1 || aws.ToString(there.Subnets[0].CidrBlock) != "10.0.3.0/24" {
		t.Errorf("there is %+v (%v)", there, err)
	}
}
