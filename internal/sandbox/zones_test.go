package sandbox_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/org/cdkd-action/internal/sandbox"
)

// A VPC needs zones, whichever emulator is behind.
func TestAvailabilityZones(t *testing.T) {
	upstreams(t, func(t *testing.T, s *sandbox.Sandbox) {
		cfg := once(s)
		cfg.Region = "eu-west-1"
		out, err := ec2.NewFromConfig(cfg).DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.AvailabilityZones) < 3 {
			t.Errorf("%d zones, want at least 3", len(out.AvailabilityZones))
		}
		for _, z := range out.AvailabilityZones {
			if !strings.HasPrefix(aws.ToString(z.ZoneName), "eu-west-1") || z.State != "available" {
				t.Errorf("zone %+v", z)
			}
		}
	})
}
