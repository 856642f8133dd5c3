package awssdk

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/org/cdkd-action/engine/provider"
)

func TestKey(t *testing.T) {
	s := emulated(t)
	c := kms.NewFromConfig(s.Config)
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &id})
		if err != nil {
			return nil, err
		}
		got := []string{aws.ToString(out.KeyMetadata.Description), string(out.KeyMetadata.KeyState)}
		if out.KeyMetadata.Enabled {
			r, err := c.GetKeyRotationStatus(ctx, &kms.GetKeyRotationStatusInput{KeyId: &id})
			if err != nil {
				return nil, err
			}
			got = append(got, fmt.Sprint("rotation ", r.KeyRotationEnabled))
		}
		p, err := c.GetKeyPolicy(ctx, &kms.GetKeyPolicyInput{KeyId: &id, PolicyName: aws.String("default")})
		if err != nil {
			return nil, err
		}
		if strings.Contains(*p.Policy, "mine") {
			got = append(got, "own policy")
		}
		tags, err := c.ListResourceTags(ctx, &kms.ListResourceTagsInput{KeyId: &id})
		if err != nil {
			return nil, err
		}
		for _, tag := range tags.Tags {
			if *tag.TagKey != provider.OwnerTagKey {
				got = append(got, *tag.TagKey+"="+*tag.TagValue)
			}
		}
		return got, nil
	}
	policy := `{"Version": "2012-10-17", "Statement": [{"Sid": "mine", "Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:root"}, "Action": "kms:*", "Resource": "*"}]}`
	life{
		typ: "AWS::KMS::Key",
		steps: []step{
			{"create", `{"Description": "d", "EnableKeyRotation": true, "KeyPolicy": ` + policy + `, "Tags": [{"Key": "a", "Value": "1"}], "PendingWindowInDays": 7}`, seen,
				[]string{"d", "Enabled", "rotation true", "own policy", "a=1"}},
			{"disable", `{"Description": "e", "KeyPolicy": ` + policy + `, "Enabled": "false", "Tags": [{"Key": "b", "Value": "2"}], "PendingWindowInDays": 7}`, seen,
				[]string{"e", "Disabled", "own policy", "b=2"}},
			{"enable", `{"EnableKeyRotation": "true", "PendingWindowInDays": 8}`, seen, []string{"", "Enabled", "rotation true"}},
		},
		gone: func(ctx context.Context, id string) error {
			out, err := c.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &id})
			if err == nil && out.KeyMetadata.KeyState == types.KeyStatePendingDeletion {
				err = provider.ErrNotFound
			}
			return err
		},
		noRead: true,
	}.run(t, s)
}

func TestFindKey(t *testing.T) {
	s := emulated(t)
	d := provider.Drive(describe(t, "AWS::KMS::Key"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "K", Type: "AWS::KMS::Key", OwnerTag: "key-of-find", Properties: object(t, `{}`)}
	if id, err := d.Find(t.Context(), r); id != "" || err != nil {
		t.Errorf("found %q, %v before the create", id, err)
	}
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := d.Find(t.Context(), r); id != made.PhysicalID || err != nil {
		t.Errorf("found %q, %v, want %q", id, err, made.PhysicalID)
	}
}

func TestKeyAlias(t *testing.T) {
	s := emulated(t)
	c := kms.NewFromConfig(s.Config)
	var keys []string
	for range 2 {
		out, err := c.CreateKey(t.Context(), &kms.CreateKeyInput{})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, *out.KeyMetadata.KeyId)
	}
	seen := func(ctx context.Context, name string) (any, error) {
		out, err := c.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &name})
		if err != nil {
			return nil, err
		}
		return *out.KeyMetadata.KeyId, nil
	}
	life{
		typ: "AWS::KMS::Alias", id: "alias/shop",
		steps: []step{
			{"create", `{"AliasName": "alias/shop", "TargetKeyId": "` + keys[0] + `"}`, seen, keys[0]},
			{"other key", `{"AliasName": "alias/shop", "TargetKeyId": "` + keys[1] + `"}`, seen, keys[1]},
		},
		gone:   func(ctx context.Context, name string) error { _, err := seen(ctx, name); return err },
		noRead: true,
	}.run(t, s)
}
