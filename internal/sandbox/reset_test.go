package sandbox_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/sandbox/s3"
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

func TestResetKeepsWatchingS3(t *testing.T) {
	var stored []string
	s, err := sandbox.Start(t.Context(), sandbox.Options{
		Upstream: sandbox.None,
		Stored:   func(p s3.Put) { stored = append(stored, p.Key) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.S3.AddBucket("some-bucket", "us-east-1", "")
	in := &awss3.PutObjectInput{Bucket: aws.String("some-bucket"), Key: aws.String("k"), Body: strings.NewReader("v")}
	client := awss3.NewFromConfig(s.Config(), func(o *awss3.Options) { o.UsePathStyle = true })
	if _, err := client.PutObject(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(stored, []string{"k"}) {
		t.Errorf("told of %q", stored)
	}
}
