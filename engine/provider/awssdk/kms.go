package awssdk

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func kmsClient(s *provider.Session) *kms.Client { return provider.Client(s, kms.NewFromConfig) }

func kmsOnce(s *provider.Session) *kms.Client { return provider.OnceClient(s, kms.NewFromConfig) }

func kmsResources() []provider.Resource { return []provider.Resource{key(), keyAlias()} }

var kmsGone = []string{"NotFoundException"}

var (
	createKeyInput = provider.Bind[kms.CreateKeyInput](provider.Rename{"KeyPolicy": "Policy"}, provider.JSON("KeyPolicy"))
	// What updateKey can change.
	updateKeyInput = provider.Bind[kms.CreateKeyInput](provider.Rename{"KeyPolicy": "Policy"},
		provider.Only("KeyPolicy", "Description", "BypassPolicyLockoutSafetyCheck"))
)

// A key is known by its id. Its delete only begins the waiting period; while
// that lasts the key counts as gone.
func key() provider.Resource {
	return provider.Resource{
		Type:    "AWS::KMS::Key",
		Inputs:  []provider.Input{createKeyInput},
		Updates: []provider.Input{updateKeyInput},
		Handled: []string{"PendingWindowInDays"}, // looked at by the delete
		Satellites: []provider.Satellite{{
			Properties: []string{"Enabled", "EnableKeyRotation", "RotationPeriodInDays"}, Put: putKeyState,
		}},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				in := &kms.TagResourceInput{KeyId: &r.PhysicalID}
				for k, v := range tags {
					in.Tags = append(in.Tags, types.Tag{TagKey: aws.String(k), TagValue: aws.String(v)})
				}
				_, err := kmsClient(r.Session).TagResource(ctx, in)
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := kmsClient(r.Session).UntagResource(ctx, &kms.UntagResourceInput{KeyId: &r.PhysicalID, TagKeys: keys})
				return err
			},
		},
		Create: createBy(kmsOnce, (*kms.Client).CreateKey, createKeyInput, func(o *kms.CreateKeyOutput) *string { return o.KeyMetadata.KeyId }),
		Update: updateKey,
		Delete: func(ctx context.Context, r *provider.Request) error {
			in := &kms.ScheduleKeyDeletionInput{KeyId: &r.PhysicalID}
			if days, ok := value.Integer(r.Properties.Value("PendingWindowInDays")); ok {
				in.PendingWindowInDays = aws.Int32(int32(days))
			}
			c := kmsClient(r.Session)
			_, err := c.ScheduleKeyDeletion(ctx, in)
			if provider.HasCode(err, "KMSInvalidStateException") {
				out, readErr := c.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &r.PhysicalID})
				if readErr == nil && out.KeyMetadata.KeyState == types.KeyStatePendingDeletion {
					return nil
				}
			}
			return err
		},
		Gone: kmsGone,
		Find: byTag(findKey),
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Arn", arn(r, "kms", "key/"+r.PhysicalID), "KeyId", r.PhysicalID)
		},
	}
}

func updateKey(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	c := kmsClient(r.Session)
	if d.Changed("Description") {
		description := text(r.Properties, "Description")
		if _, err := c.UpdateKeyDescription(ctx, &kms.UpdateKeyDescriptionInput{KeyId: &r.PhysicalID, Description: &description}); err != nil {
			return provider.Updated{}, err
		}
	}
	if !d.Changed("KeyPolicy") {
		return provider.Updated{}, nil
	}
	policy := document(r.Properties, "KeyPolicy")
	if policy == "" {
		policy = value.JSON(value.NewObject("Version", "2012-10-17", "Statement", []any{value.NewObject(
			"Sid", "Enable IAM User Permissions", "Effect", "Allow",
			"Principal", value.NewObject("AWS", globalARN(r, "iam", "root")), "Action", "kms:*", "Resource", "*")}))
	}
	_, err := c.PutKeyPolicy(ctx, &kms.PutKeyPolicyInput{
		KeyId: &r.PhysicalID, PolicyName: aws.String("default"), Policy: &policy,
		BypassPolicyLockoutSafetyCheck: text(r.Properties, "BypassPolicyLockoutSafetyCheck") == "true",
	})
	return provider.Updated{}, err
}

// putKeyState switches rotation and the key itself. A disabled key takes no
// change of its rotation, so it is enabled before and disabled after.
func putKeyState(ctx context.Context, r *provider.Request) error {
	c := kmsClient(r.Session)
	enabled := func(o *value.Object) bool { return text(o, "Enabled") != "false" }
	rotation := func(o *value.Object) string {
		if !isTrue(o, "EnableKeyRotation") {
			return "off"
		}
		return text(o, "RotationPeriodInDays")
	}
	now, before := rotation(r.Properties), rotation(r.Previous)
	if !enabled(r.Previous) && (enabled(r.Properties) || now != before) {
		if _, err := c.EnableKey(ctx, &kms.EnableKeyInput{KeyId: &r.PhysicalID}); err != nil {
			return err
		}
	}
	switch {
	case now == before:
	case now == "off":
		if _, err := c.DisableKeyRotation(ctx, &kms.DisableKeyRotationInput{KeyId: &r.PhysicalID}); err != nil {
			return err
		}
	default:
		in := &kms.EnableKeyRotationInput{KeyId: &r.PhysicalID}
		if now != "" {
			days, ok := value.Integer(now)
			if !ok || days != int64(int32(days)) {
				return fmt.Errorf("RotationPeriodInDays of %s is no whole number", r.LogicalID)
			}
			in.RotationPeriodInDays = aws.Int32(int32(days))
		} else if before != "off" {
			in.RotationPeriodInDays = aws.Int32(365) // the period left the template
		}
		if _, err := c.EnableKeyRotation(ctx, in); err != nil {
			return err
		}
	}
	if enabled(r.Properties) {
		return nil
	}
	_, err := c.DisableKey(ctx, &kms.DisableKeyInput{KeyId: &r.PhysicalID})
	return err
}

// findKey looks through the account's keys for the one with the create's tag:
// keys have neither names nor tokens, and a lost one costs money every month.
func findKey(ctx context.Context, r *provider.Request) (string, error) {
	c := kmsClient(r.Session)
	var found string
	var mu sync.Mutex
	pages := kms.NewListKeysPaginator(c, &kms.ListKeysInput{})
	for found == "" && pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		err = forEach(ctx, page.Keys, func(ctx context.Context, k types.KeyListEntry) error {
			out, err := c.ListResourceTags(ctx, &kms.ListResourceTagsInput{KeyId: k.KeyId})
			if err != nil {
				return nil // not one that this identity may look at, so not its own
			}
			for _, t := range out.Tags {
				if aws.ToString(t.TagKey) == provider.OwnerTagKey && aws.ToString(t.TagValue) == r.OwnerTag {
					mu.Lock()
					defer mu.Unlock()
					found = aws.ToString(k.KeyId)
				}
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return found, nil
}

var (
	createKeyAliasInput = provider.Bind[kms.CreateAliasInput]()
	updateKeyAliasInput = provider.Bind[kms.UpdateAliasInput](provider.ID("AliasName"))
)

// A key's alias is known by its name.
func keyAlias() provider.Resource {
	return provider.Resource{
		Type:    "AWS::KMS::Alias",
		Inputs:  []provider.Input{createKeyAliasInput},
		Updates: []provider.Input{updateKeyAliasInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, kmsOnce, (*kms.Client).CreateAlias, createKeyAliasInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: text(r.Properties, "AliasName")}, nil
		},
		Update: updateBy(kmsClient, (*kms.Client).UpdateAlias, updateKeyAliasInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := kmsClient(r.Session).DeleteAlias(ctx, &kms.DeleteAliasInput{AliasName: &r.PhysicalID})
			return err
		},
		Gone: kmsGone,
		// A name that points to our key already is what the create made.
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			name := text(r.Properties, "AliasName")
			pages := kms.NewListAliasesPaginator(kmsClient(r.Session), &kms.ListAliasesInput{KeyId: aws.String(text(r.Properties, "TargetKeyId"))})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return "", err
				}
				for _, a := range page.Aliases {
					if aws.ToString(a.AliasName) == name {
						return name, nil
					}
				}
			}
			return "", nil
		},
	}
}
