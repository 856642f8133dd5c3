package awssdk

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/org/cdkd-action/engine/provider"
)

func TestMembersKeysAndProviders(t *testing.T) {
	s := emulated(t)
	c := iam.NewFromConfig(s.Config)
	for _, name := range []string{"key-one", "key-two"} {
		made(t, s, "AWS::IAM::User", name, `{"UserName": "`+name+`"}`)
		made(t, s, "AWS::IAM::Group", name, `{"GroupName": "`+name+`"}`)
	}
	members := func(ctx context.Context, _ string) (any, error) {
		var all [2]int
		for i, group := range []string{"key-one", "key-two"} {
			out, err := c.GetGroup(ctx, &iam.GetGroupInput{GroupName: &group})
			if err != nil {
				return nil, err
			}
			all[i] = len(out.Users)
		}
		return all, nil
	}
	livesOf(t, s, map[string]life{
		"members": {typ: "AWS::IAM::UserToGroupAddition", id: "Shop-Res", steps: []step{
			{"one", `{"GroupName": "key-one", "Users": ["key-one"]}`, members, [2]int{1, 0}},
			{"another", `{"GroupName": "key-one", "Users": ["key-two"]}`, members, [2]int{1, 0}},
			{"both of another group", `{"GroupName": "key-two", "Users": ["key-one", "key-two"]}`, members, [2]int{0, 2}},
		}},
		"access key": {typ: "AWS::IAM::AccessKey", steps: []step{
			{name: "that is not used yet", props: `{"UserName": "key-one", "Status": "Inactive", "Serial": 1}`},
			{name: "that is", props: `{"UserName": "key-one", "Status": "Active", "Serial": 1}`},
		}},
		"provider": {typ: "AWS::IAM::OIDCProvider", id: "arn:aws:iam::123456789012:oidc-provider/id.example.com", deletedOnce: true, steps: []step{
			{name: "for one client", props: `{"Url": "https://id.example.com", "ClientIdList": ["a"], "ThumbprintList": ["0123456789012345678901234567890123456789"], "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "by another certificate", props: `{"Url": "https://id.example.com", "ClientIdList": ["a"], "ThumbprintList": ["9876543210987654321098765432109876543210"], "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		"linked role": {typ: "AWS::IAM::ServiceLinkedRole", id: "AWSServiceRoleForAutoScaling_shop", steps: []step{
			{name: "described", props: `{"AWSServiceName": "autoscaling.amazonaws.com", "CustomSuffix": "shop", "Description": "one"}`},
			{name: "described otherwise", props: `{"AWSServiceName": "autoscaling.amazonaws.com", "CustomSuffix": "shop", "Description": "two"}`},
		}},
	})
}

// The secret of a key is handed on in the run that makes it, and marked so that
// it is recorded as a mask.
func TestAccessKeySecretIsMarked(t *testing.T) {
	s := emulated(t)
	made(t, s, "AWS::IAM::User", "key-secret", `{"UserName": "key-secret"}`)
	d := provider.Drive(describe(t, "AWS::IAM::AccessKey"), nil)
	got, err := d.Create(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "Key", Type: "AWS::IAM::AccessKey", Properties: object(t, `{"UserName": "key-secret"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if !got.NoEcho || got.Attributes.String("SecretAccessKey") == "" {
		t.Errorf("made with the attributes %v, secret: %t; want the secret, as one", got.Attributes.Keys(), got.NoEcho)
	}
	listed, err := iam.NewFromConfig(s.Config).ListAccessKeys(t.Context(), &iam.ListAccessKeysInput{UserName: aws.String("key-secret")})
	if err != nil || len(listed.AccessKeyMetadata) != 1 || aws.ToString(listed.AccessKeyMetadata[0].AccessKeyId) != got.PhysicalID {
		t.Errorf("in AWS: %v, %v; want one key, %s", listed, err, got.PhysicalID)
	}
}

// IAM cannot be told to look thumbprints up again.
func TestThumbprintsThatAreTakenAway(t *testing.T) {
	s := emulated(t)
	const typ = "AWS::IAM::OIDCProvider"
	d := provider.Drive(describe(t, typ), nil)
	before := object(t, `{"Url": "https://prints.example.com", "ThumbprintList": ["0123456789012345678901234567890123456789"]}`)
	id := made(t, s, typ, "", `{"Url": "https://prints.example.com", "ThumbprintList": ["0123456789012345678901234567890123456789"]}`)
	got, err := d.Update(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "P", Type: typ, PhysicalID: id, Previous: before, Properties: object(t, `{"Url": "https://prints.example.com"}`)})
	if err != nil || got.Partial == "" {
		t.Errorf("update: %+v, %v; want to be told that they stay", got, err)
	}
}
