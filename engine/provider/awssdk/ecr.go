package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func ecrClient(s *provider.Session) *ecr.Client { return provider.Client(s, ecr.NewFromConfig) }

func ecrOnce(s *provider.Session) *ecr.Client { return provider.OnceClient(s, ecr.NewFromConfig) }

func ecrResources() []provider.Resource { return []provider.Resource{repository()} }

var repositoryGone = []string{"RepositoryNotFoundException"}

// autoDeleteImages is the tag by which a CDK app says that images go with their
// repository.
const autoDeleteImages = "aws-cdk:auto-delete-images"

// exclusionFilters are named shorter in the API.
var exclusionFilters = provider.Rename{
	"ImageTagMutabilityExclusionFilters.ImageTagMutabilityExclusionFilterType":  "FilterType",
	"ImageTagMutabilityExclusionFilters.ImageTagMutabilityExclusionFilterValue": "Filter",
}

var (
	createRepositoryInput = provider.Bind[ecr.CreateRepositoryInput](exclusionFilters)
	mutabilityInput       = provider.Bind[ecr.PutImageTagMutabilityInput](
		provider.ID("RepositoryName"), provider.Only("ImageTagMutability", "ImageTagMutabilityExclusionFilters"), exclusionFilters,
		provider.Finish(func(r *provider.Request, in *ecr.PutImageTagMutabilityInput) error {
			if in.ImageTagMutability == "" {
				in.ImageTagMutability = types.ImageTagMutabilityMutable
			}
			return nil
		}))
	scanningInput = provider.Bind[ecr.PutImageScanningConfigurationInput](
		provider.ID("RepositoryName"), provider.Only("ImageScanningConfiguration"),
		provider.Clear{"ImageScanningConfiguration": value.NewObject("ScanOnPush", false)})
	lifecycleInput = provider.Bind[ecr.PutLifecyclePolicyInput](
		provider.ID("RepositoryName"), provider.Only("LifecyclePolicy"), provider.Rename{"LifecyclePolicy": "."})
	repositoryPolicyInput = provider.Bind[ecr.SetRepositoryPolicyInput](
		provider.ID("RepositoryName"), provider.Only("RepositoryPolicyText"), provider.Rename{"RepositoryPolicyText": "PolicyText"})
)

// A repository is known by its name. EmptyOnDelete is nobody's setting but the
// delete's.
func repository() provider.Resource {
	repositoryARN := func(r *provider.Request) string { return arn(r, "ecr", "repository/"+r.PhysicalID) }
	describe := func(ctx context.Context, r *provider.Request, name string) (*types.Repository, error) {
		out, err := ecrClient(r.Session).DescribeRepositories(ctx, &ecr.DescribeRepositoriesInput{RepositoryNames: []string{name}})
		if err != nil {
			return described[types.Repository](nil, err, repositoryGone)
		}
		return described(out.Repositories, nil, repositoryGone)
	}
	tagsOf := func(ctx context.Context, r *provider.Request, arn *string) (map[string]string, error) {
		out, err := ecrClient(r.Session).ListTagsForResource(ctx, &ecr.ListTagsForResourceInput{ResourceArn: arn})
		if err != nil {
			return nil, err
		}
		return tagMap(out.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value }), nil
	}
	return provider.Resource{
		Type:    "AWS::ECR::Repository",
		Name:    "RepositoryName",
		Inputs:  []provider.Input{createRepositoryInput},
		Updates: []provider.Input{mutabilityInput, scanningInput},
		Handled: []string{"EmptyOnDelete"},
		Satellites: []provider.Satellite{
			{
				Properties: []string{"LifecyclePolicy"}, Input: lifecycleInput,
				Put:   provider.Call(ecrClient, (*ecr.Client).PutLifecyclePolicy, lifecycleInput),
				Reset: provider.Call(ecrClient, (*ecr.Client).DeleteLifecyclePolicy, byID[ecr.DeleteLifecyclePolicyInput]("RepositoryName")),
			},
			{
				Properties: []string{"RepositoryPolicyText"}, Input: repositoryPolicyInput,
				Put:   provider.Call(ecrClient, (*ecr.Client).SetRepositoryPolicy, repositoryPolicyInput),
				Reset: provider.Call(ecrClient, (*ecr.Client).DeleteRepositoryPolicy, byID[ecr.DeleteRepositoryPolicyInput]("RepositoryName")),
			},
		},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := ecrClient(r.Session).TagResource(ctx, &ecr.TagResourceInput{
					ResourceArn: aws.String(repositoryARN(r)), Tags: tagSlice(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} }),
				})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := ecrClient(r.Session).UntagResource(ctx, &ecr.UntagResourceInput{ResourceArn: aws.String(repositoryARN(r)), TagKeys: keys})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, ecrOnce, (*ecr.Client).CreateRepository, createRepositoryInput)
			if err != nil {
				return provider.Created{}, err
			}
			known := value.NewObject()
			set(known, "RepositoryUri", out.Repository.RepositoryUri)
			return provider.Created{PhysicalID: *out.Repository.RepositoryName, Attributes: known}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			if mutabilityInput.Changed(d) {
				if _, err := provider.Invoke(ctx, r, ecrClient, (*ecr.Client).PutImageTagMutability, mutabilityInput); err != nil {
					return provider.Updated{}, err
				}
			}
			if scanningInput.Changed(d) {
				_, err := provider.Invoke(ctx, r, ecrClient, (*ecr.Client).PutImageScanningConfiguration, scanningInput)
				return provider.Updated{}, err
			}
			return provider.Updated{}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			withImages := isTrue(r.Properties, "EmptyOnDelete") || provider.TagMap(r.Properties.Value("Tags"))[autoDeleteImages] == "true"
			_, err := ecrClient(r.Session).DeleteRepository(ctx, &ecr.DeleteRepositoryInput{RepositoryName: &r.PhysicalID, Force: withImages})
			return err
		},
		Gone: repositoryGone,
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			found, err := describe(ctx, r, text(r.Properties, "RepositoryName"))
			if err == provider.ErrNotFound {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
			tags, err := tagsOf(ctx, r, found.RepositoryArn)
			return &provider.Holder{PhysicalID: *found.RepositoryName, Tags: tags}, err
		}),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			found, err := describe(ctx, r, r.PhysicalID)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			props := provider.Unbind(found, shape, exclusionFilters)
			c := ecrClient(r.Session)
			lifecycle, err := c.GetLifecyclePolicy(ctx, &ecr.GetLifecyclePolicyInput{RepositoryName: &r.PhysicalID})
			if err == nil {
				props.Set("LifecyclePolicy", value.NewObject("LifecyclePolicyText", aws.ToString(lifecycle.LifecyclePolicyText)))
			} else if !provider.HasCode(err, "LifecyclePolicyNotFoundException") {
				return nil, err
			}
			policy, err := c.GetRepositoryPolicy(ctx, &ecr.GetRepositoryPolicyInput{RepositoryName: &r.PhysicalID})
			if err == nil {
				props.Set("RepositoryPolicyText", parsed(aws.ToString(policy.PolicyText)))
			} else if !provider.HasCode(err, "RepositoryPolicyNotFoundException") {
				return nil, err
			}
			tags, err := tagsOf(ctx, r, found.RepositoryArn)
			if tags := tagList(tags); len(tags) > 0 {
				props.Set("Tags", tags)
			}
			return props, err
		},
		Known: func(r *provider.Request) *value.Object {
			name := r.PhysicalID
			if name == "" {
				name = r.Name
			}
			return value.NewObject("Arn", arn(r, "ecr", "repository/"+name))
		},
	}
}
