package awssdk

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func secretsClient(s *provider.Session) *secretsmanager.Client {
	return provider.Client(s, secretsmanager.NewFromConfig)
}

func secretsManagerResources() []provider.Resource {
	return []provider.Resource{secret(), secretPolicy()}
}

var secretGone = []string{"ResourceNotFoundException"}

var (
	createSecretInput = provider.Bind[secretsmanager.CreateSecretInput](
		provider.Token("ClientRequestToken"),
		provider.Rename{"ReplicaRegions": "AddReplicaRegions"})
	updateSecretInput = provider.Bind[secretsmanager.UpdateSecretInput](
		provider.ID("SecretId"),
		provider.Clear{"Description": "", "KmsKeyId": ""},
		provider.Finish(func(r *provider.Request, in *secretsmanager.UpdateSecretInput) error {
			if value.Equal(r.Previous.Value("SecretString"), r.Properties.Value("SecretString")) {
				in.SecretString = nil // sent again it would be a new version
			}
			return nil
		}))
	randomPassword    = provider.Shape[secretsmanager.GetRandomPasswordInput](asIs)
	replicaRegions    = provider.Bind[secretsmanager.ReplicateSecretToRegionsInput](provider.ID("SecretId"), provider.Only("ReplicaRegions"), provider.Rename{"ReplicaRegions": "AddReplicaRegions"})
	errTemplateNoJSON = errors.New("GenerateSecretString.SecretStringTemplate is not a JSON object")
)

// A secret is known by its ARN, which ends in six characters of the service's
// choice. A generated value is never read back, and made anew only when what it
// is generated from changes.
func secret() provider.Resource {
	return provider.Resource{
		Type:    "AWS::SecretsManager::Secret",
		Name:    "Name",
		Inputs:  []provider.Input{createSecretInput},
		Updates: []provider.Input{updateSecretInput},
		Handled: []string{"GenerateSecretString", "ReplicaRegions"},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				in := &secretsmanager.TagResourceInput{SecretId: &r.PhysicalID}
				for k, v := range tags {
					in.Tags = append(in.Tags, types.Tag{Key: aws.String(k), Value: aws.String(v)})
				}
				_, err := secretsClient(r.Session).TagResource(ctx, in)
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := secretsClient(r.Session).UntagResource(ctx, &secretsmanager.UntagResourceInput{SecretId: &r.PhysicalID, TagKeys: keys})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			in, err := createSecretInput.Input(r)
			if err != nil {
				return provider.Created{}, err
			}
			if r.Properties.Has("GenerateSecretString") {
				if in.SecretString, err = generateSecret(ctx, r); err != nil {
					return provider.Created{}, err
				}
			}
			out, err := secretsClient(r.Session).CreateSecret(ctx, in)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.ARN}, nil
		},
		Update: updateSecret,
		Delete: func(ctx context.Context, r *provider.Request) error {
			c := secretsClient(r.Session)
			if regions := regionsOf(r.Properties); len(regions) > 0 {
				_, err := c.RemoveRegionsFromReplication(ctx, &secretsmanager.RemoveRegionsFromReplicationInput{SecretId: &r.PhysicalID, RemoveReplicaRegions: regions})
				if err != nil {
					return err
				}
			}
			_, err := c.DeleteSecret(ctx, &secretsmanager.DeleteSecretInput{SecretId: &r.PhysicalID, ForceDeleteWithoutRecovery: aws.Bool(true)})
			return err
		},
		Gone: secretGone,
		// The token of a create is the id of the version that it made; a secret
		// without a value has none, and is known by its tag.
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			out, err := secretsClient(r.Session).DescribeSecret(ctx, &secretsmanager.DescribeSecretInput{SecretId: aws.String(text(r.Properties, "Name"))})
			if provider.HasCode(err, secretGone...) {
				return "", nil
			} else if err != nil {
				return "", err
			}
			_, ours := out.VersionIdsToStages[r.Token]
			for _, tag := range out.Tags {
				ours = ours || r.OwnerTag != "" && aws.ToString(tag.Key) == provider.OwnerTagKey && aws.ToString(tag.Value) == r.OwnerTag
			}
			switch {
			case ours:
				return aws.ToString(out.ARN), nil
			case r.OwnerTag == "" && len(out.VersionIdsToStages) == 0:
				return "", provider.ErrUntagged
			}
			return "", nil
		},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Id", r.PhysicalID)
		},
	}
}

func updateSecret(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	c := secretsClient(r.Session)
	if d.Changed("Description", "KmsKeyId", "SecretString", "GenerateSecretString", "Type") {
		in, err := updateSecretInput.Input(r)
		if err != nil {
			return provider.Updated{}, err
		}
		if d.Changed("GenerateSecretString") && r.Properties.Has("GenerateSecretString") {
			if in.SecretString, err = generateSecret(ctx, r); err != nil {
				return provider.Updated{}, err
			}
		}
		if _, err := c.UpdateSecret(ctx, in); err != nil {
			return provider.Updated{}, err
		}
	}
	if !d.Changed("ReplicaRegions") {
		return provider.Updated{}, nil
	}
	if gone := less(regionsOf(r.Previous), regionsOf(r.Properties)); len(gone) > 0 {
		_, err := c.RemoveRegionsFromReplication(ctx, &secretsmanager.RemoveRegionsFromReplicationInput{SecretId: &r.PhysicalID, RemoveReplicaRegions: gone})
		if err != nil {
			return provider.Updated{}, err
		}
	}
	in, err := replicaRegions.Input(r)
	if err != nil {
		return provider.Updated{}, err
	}
	fresh := less(regionsOf(r.Properties), regionsOf(r.Previous))
	var add []types.ReplicaRegionType
	for _, region := range in.AddReplicaRegions {
		for _, f := range fresh {
			if aws.ToString(region.Region) == f {
				add = append(add, region)
			}
		}
	}
	if len(add) == 0 {
		return provider.Updated{}, nil
	}
	in.AddReplicaRegions = add
	_, err = c.ReplicateSecretToRegions(ctx, in)
	return provider.Updated{}, err
}

func regionsOf(props *value.Object) []string {
	var out []string
	for _, v := range props.List("ReplicaRegions") {
		if o, ok := v.(*value.Object); ok {
			out = append(out, text(o, "Region"))
		}
	}
	return out
}

// generateSecret lets the service make a password, and puts it into the
// template's object where one is given.
func generateSecret(ctx context.Context, r *provider.Request) (*string, error) {
	how := r.Properties.Object("GenerateSecretString")
	in, err := randomPassword(how)
	if err != nil {
		return nil, fmt.Errorf("GenerateSecretString: %w", err)
	}
	out, err := secretsClient(r.Session).GetRandomPassword(ctx, &in)
	if err != nil {
		return nil, err
	}
	key := text(how, "GenerateStringKey")
	if key == "" {
		return out.RandomPassword, nil
	}
	full, err := value.ParseObject([]byte(text(how, "SecretStringTemplate")))
	if err != nil {
		return nil, errTemplateNoJSON // its text may hold secrets
	}
	full.Set(key, aws.ToString(out.RandomPassword))
	return aws.String(value.JSON(full)), nil
}

var putSecretPolicyInput = provider.Bind[secretsmanager.PutResourcePolicyInput]()

// A secret has one policy, which is known by the secret's ARN.
func secretPolicy() provider.Resource {
	return provider.Resource{
		Type:    "AWS::SecretsManager::ResourcePolicy",
		PutOn:   []string{"SecretId"},
		Inputs:  []provider.Input{putSecretPolicyInput},
		Updates: []provider.Input{putSecretPolicyInput},
		Create:  createBy(secretsClient, (*secretsmanager.Client).PutResourcePolicy, putSecretPolicyInput, func(o *secretsmanager.PutResourcePolicyOutput) *string { return o.ARN }),
		Update:  updateBy(secretsClient, (*secretsmanager.Client).PutResourcePolicy, putSecretPolicyInput),
		Delete:  provider.Call(secretsClient, (*secretsmanager.Client).DeleteResourcePolicy, byID[secretsmanager.DeleteResourcePolicyInput]("SecretId")),
		Gone:    secretGone,
		Known:   knownID("Id"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := secretsClient(r.Session).GetResourcePolicy(ctx, &secretsmanager.GetResourcePolicyInput{SecretId: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			if aws.ToString(out.ResourcePolicy) == "" {
				return nil, provider.ErrNotFound
			}
			props := part(r.Properties, "SecretId", "BlockPublicPolicy")
			props.Set("ResourcePolicy", parsed(*out.ResourcePolicy))
			return props, nil
		},
	}
}
