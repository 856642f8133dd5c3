package awssdk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront/types"
	"github.com/aws/smithy-go"
	"github.com/google/uuid"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func cdnClient(s *provider.Session) *cloudfront.Client {
	return provider.Client(s, cloudfront.NewFromConfig)
}

func cdnOnce(s *provider.Session) *cloudfront.Client {
	return provider.OnceClient(s, cloudfront.NewFromConfig)
}

func cloudFrontResources() []provider.Resource {
	return []provider.Resource{distribution(), originAccessControl(), originAccessIdentity()}
}

const distributionGone = "NoSuchDistribution"

// A stale version was sent: somebody changed it in between.
var staleVersion = []string{"PreconditionFailed", "InvalidIfMatchVersion"}

var (
	createDistributionInput = provider.Bind[cloudfront.CreateDistributionWithTagsInput](
		distributionNames,
		provider.Rename{
			"DistributionConfig": "DistributionConfigWithTags.DistributionConfig",
			"Tags":               "DistributionConfigWithTags.Tags.Items",
		},
		provider.Finish(func(r *provider.Request, in *cloudfront.CreateDistributionWithTagsInput) error {
			if in.DistributionConfigWithTags == nil || in.DistributionConfigWithTags.DistributionConfig == nil {
				return errEmpty("DistributionConfig")
			}
			orElse(&in.DistributionConfigWithTags.Tags, types.Tags{Items: []types.Tag{}})
			config := in.DistributionConfigWithTags.DistributionConfig
			config.CallerReference = aws.String(callerReference(r))
			completeDistribution(config)
			return nil
		}))

	updateDistributionInput = provider.Bind[cloudfront.UpdateDistributionInput](
		provider.ID("Id"), distributionNames,
		provider.Finish(func(r *provider.Request, in *cloudfront.UpdateDistributionInput) error {
			if in.DistributionConfig == nil {
				return errEmpty("DistributionConfig")
			}
			completeDistribution(in.DistributionConfig)
			return nil
		}))
)

// callerReference is what CloudFront tells creates apart by, for ever.
func callerReference(r *provider.Request) string {
	if r.Token != "" {
		return r.Token
	}
	return uuid.NewString()
}

// A distribution is known by its id. It takes minutes to be everywhere, and
// nothing in a deploy waits for that.
func distribution() provider.Resource {
	return provider.Resource{
		Type:    "AWS::CloudFront::Distribution",
		Inputs:  []provider.Input{createDistributionInput},
		Updates: []provider.Input{updateDistributionInput},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				in := &cloudfront.TagResourceInput{Resource: distributionARN(r), Tags: &types.Tags{}}
				for _, k := range slices.Sorted(maps.Keys(tags)) {
					in.Tags.Items = append(in.Tags.Items, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
				}
				_, err := cdnClient(r.Session).TagResource(ctx, in)
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := cdnClient(r.Session).UntagResource(ctx, &cloudfront.UntagResourceInput{
					Resource: distributionARN(r), TagKeys: &types.TagKeys{Items: keys},
				})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, cdnClient, (*cloudfront.Client).CreateDistributionWithTags, createDistributionInput)
			if provider.HasCode(err, "DistributionAlreadyExists") {
				return ownDistribution(ctx, r, err)
			}
			if err != nil {
				return provider.Created{}, err
			}
			return madeDistribution(out.Distribution), nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			in, err := updateDistributionInput.Input(r)
			if err != nil {
				return provider.Updated{}, err
			}
			return provider.Updated{}, putDistribution(ctx, r, func(now *types.DistributionConfig) *types.DistributionConfig {
				carryOver(in.DistributionConfig, now)
				return in.DistributionConfig
			})
		},
		Delete: deleteDistribution,
		Gone:   []string{distributionGone},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Id", r.PhysicalID)
		},
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			if r.Attributes.Has("DomainName") {
				return nil, nil // the create told it
			}
			out, err := cdnClient(r.Session).GetDistribution(ctx, &cloudfront.GetDistributionInput{Id: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			return madeDistribution(out.Distribution).Attributes, nil
		},
		Wait: deployed(provider.WaitFull, true),
	}
}

func distributionARN(r *provider.Request) *string {
	return aws.String(globalARN(r, "cloudfront", "distribution/"+r.PhysicalID))
}

func madeDistribution(d *types.Distribution) provider.Created {
	return provider.Created{PhysicalID: *d.Id, Attributes: value.NewObject("DomainName", aws.ToString(d.DomainName))}
}

// deployed waits for a distribution to be the same everywhere.
func deployed(from provider.WaitMode, warns bool) *provider.Waiter {
	return &provider.Waiter{
		From: from, What: "the distribution to be deployed", OK: []string{"Deployed"},
		First: 5 * time.Second, Cap: 20 * time.Second, Timeout: 20 * time.Minute, TimeoutWarns: warns,
		Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
			out, err := cdnClient(r.Session).GetDistribution(ctx, &cloudfront.GetDistributionInput{Id: &r.PhysicalID})
			if err != nil {
				return "", "", err
			}
			return aws.ToString(out.Distribution.Status), "", nil
		},
		Command: func(r *provider.Request) string {
			return "aws cloudfront wait distribution-deployed --id " + r.PhysicalID
		},
	}
}

var distributionID = regexp.MustCompile(`\b[A-Z0-9]{12,16}\b`)

// ownDistribution finds what an earlier attempt of the same create made: the
// refusal names a distribution, and its caller reference tells whose it is.
func ownDistribution(ctx context.Context, r *provider.Request, refusal error) (provider.Created, error) {
	var id string
	if said, ok := errors.AsType[smithy.APIError](refusal); ok {
		id = distributionID.FindString(said.ErrorMessage())
	}
	if id == "" || r.Token == "" {
		return provider.Created{}, refusal
	}
	out, err := cdnClient(r.Session).GetDistribution(ctx, &cloudfront.GetDistributionInput{Id: &id})
	if err != nil {
		return provider.Created{}, errors.Join(refusal, err)
	}
	if config := out.Distribution.DistributionConfig; config == nil || aws.ToString(config.CallerReference) != r.Token {
		return provider.Created{}, fmt.Errorf("distribution %s has the settings already, and was not made by this create: import it as %s: %w", id, r.LogicalID, refusal)
	}
	return madeDistribution(out.Distribution), nil
}

// putDistribution writes a configuration over the one that is there, again if
// that changed in between.
func putDistribution(ctx context.Context, r *provider.Request, change func(now *types.DistributionConfig) *types.DistributionConfig) error {
	const attempts = 3
	c := cdnClient(r.Session)
	for attempt := 1; ; attempt++ {
		now, err := c.GetDistributionConfig(ctx, &cloudfront.GetDistributionConfigInput{Id: &r.PhysicalID})
		if err != nil {
			return err
		}
		config := change(now.DistributionConfig)
		if config == nil {
			return nil
		}
		_, err = c.UpdateDistribution(ctx, &cloudfront.UpdateDistributionInput{Id: &r.PhysicalID, IfMatch: now.ETag, DistributionConfig: config})
		if !provider.HasCode(err, staleVersion...) || attempt == attempts {
			return err
		}
	}
}

// deleteDistribution disables the distribution, which alone can be deleted,
// and only once that is known everywhere.
func deleteDistribution(ctx context.Context, r *provider.Request) error {
	err := putDistribution(ctx, r, func(now *types.DistributionConfig) *types.DistributionConfig {
		if !aws.ToBool(now.Enabled) {
			return nil
		}
		now.Enabled = aws.Bool(false)
		return now
	})
	if err != nil {
		return err
	}
	if err := deployed(provider.WaitNone, false).Wait(ctx, r); err != nil {
		return err
	}
	c := cdnClient(r.Session)
	now, err := c.GetDistributionConfig(ctx, &cloudfront.GetDistributionConfigInput{Id: &r.PhysicalID})
	if err != nil {
		return err
	}
	_, err = c.DeleteDistribution(ctx, &cloudfront.DeleteDistributionInput{Id: &r.PhysicalID, IfMatch: now.ETag})
	return err
}
