package sandbox_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/org/cdkd-action/internal/sandbox"
)

func TestReset(t *testing.T) {
	upstreams(t, func(t *testing.T, s *sandbox.Sandbox) {
		ctx, roles := t.Context(), iam.NewFromConfig(once(s))
		make := func() error {
			s.S3.AddBucket("some-bucket", "us-east-1", "")
			_, err := roles.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("r"), AssumeRolePolicyDocument: aws.String(trust)})
			return err
		}
		if err := make(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CloudControl.Put("us-east-1", "AWS::Kinesis::Stream", map[string]any{"Name": "s"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Reset(ctx); err != nil {
			t.Fatal(err)
		}
		if n := len(s.Log()); n != 0 {
			t.Errorf("%d requests in the log", n)
		}
		if all := s.CloudControl.Resources(); len(all) != 0 {
			t.Errorf("Cloud Control still has %v", all)
		}
		if all := s.S3.Buckets(); len(all) != 0 {
			t.Errorf("S3 still has %v", all)
		}
		if err := make(); err != nil {
			t.Errorf("after a reset: %v", err)
		}
	})
}
