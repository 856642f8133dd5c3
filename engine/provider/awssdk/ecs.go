package awssdk

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func ecsClient(s *provider.Session) *ecs.Client { return provider.Client(s, ecs.NewFromConfig) }

func ecsOnce(s *provider.Session) *ecs.Client { return provider.OnceClient(s, ecs.NewFromConfig) }

func ecsResources() []provider.Resource {
	return []provider.Resource{cluster(), capacityAssociations(), taskDefinition(), ecsService()}
}

const clusterGone = "ClusterNotFoundException"

var (
	createClusterInput = provider.Bind[ecs.CreateClusterInput](provider.Rename{"ClusterSettings": "Settings"})
	updateClusterInput = provider.Bind[ecs.UpdateClusterInput](
		provider.ID("Cluster"),
		provider.Rename{"ClusterSettings": "Settings"},
		provider.Clear{
			"ClusterSettings":        []any{value.NewObject("Name", "containerInsights", "Value", "disabled")},
			"Configuration":          &value.Object{},
			"ServiceConnectDefaults": value.NewObject("Namespace", ""),
		})
	putCapacityInput = provider.Bind[ecs.PutClusterCapacityProvidersInput](
		provider.ID("Cluster"),
		provider.Only("CapacityProviders", "DefaultCapacityProviderStrategy"), neitherNil)

	// A call without one of its lists is refused.
	neitherNil = provider.Finish(func(r *provider.Request, in *ecs.PutClusterCapacityProvidersInput) error {
		if in.CapacityProviders == nil {
			in.CapacityProviders = []string{}
		}
		if in.DefaultCapacityProviderStrategy == nil {
			in.DefaultCapacityProviderStrategy = []types.CapacityProviderStrategyItem{}
		}
		return nil
	})
)

// A cluster is known by its name. A create under a name that is in use hands
// back the cluster that has it.
func cluster() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ECS::Cluster",
		Name:    "ClusterName",
		Inputs:  []provider.Input{createClusterInput},
		Updates: []provider.Input{updateClusterInput, putCapacityInput},
		Tags:    ecsTags(func(r *provider.Request) string { return arn(r, "ecs", "cluster/"+r.PhysicalID) }),
		Create:  createBy(ecsOnce, (*ecs.Client).CreateCluster, createClusterInput, func(o *ecs.CreateClusterOutput) *string { return o.Cluster.ClusterName }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			if updateClusterInput.Changed(d) {
				if _, err := provider.Invoke(ctx, r, ecsClient, (*ecs.Client).UpdateCluster, updateClusterInput); err != nil {
					return provider.Updated{}, err
				}
			}
			if !putCapacityInput.Changed(d) {
				return provider.Updated{}, nil
			}
			_, err := provider.Invoke(ctx, r, ecsClient, (*ecs.Client).PutClusterCapacityProviders, putCapacityInput)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := ecsClient(r.Session).DeleteCluster(ctx, &ecs.DeleteClusterInput{Cluster: &r.PhysicalID})
			return err
		},
		Gone: []string{clusterGone},
		Known: func(r *provider.Request) *value.Object {
			name := r.PhysicalID
			if name == "" {
				name = r.Name
			}
			return value.NewObject("Arn", arn(r, "ecs", "cluster/"+name))
		},
		Lookup: provider.One(lookupClusters), Lookups: lookupClusters, Batch: 100,
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			byName := *r
			byName.Name = text(r.Properties, "ClusterName")
			return provider.One(lookupClusters)(ctx, &byName)
		}),
	}
}

// lookupClusters tells who has names. A deleted cluster is told of for a while,
// but no longer active.
func lookupClusters(ctx context.Context, rs []*provider.Request) ([]*provider.Holder, error) {
	out, err := ecsClient(rs[0].Session).DescribeClusters(ctx, &ecs.DescribeClustersInput{
		Clusters: names(rs), Include: []types.ClusterField{types.ClusterFieldTags},
	})
	if err != nil {
		return nil, err
	}
	holders := make([]*provider.Holder, len(rs))
	for i, r := range rs {
		for _, c := range out.Clusters {
			if aws.ToString(c.Status) != "INACTIVE" && aws.ToString(c.ClusterName) == r.Name {
				holders[i] = &provider.Holder{PhysicalID: r.Name, Tags: ecsTagMap(c.Tags)}
			}
		}
	}
	return holders, nil
}

func ecsTagMap(list []types.Tag) map[string]string {
	return tagMap(list, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
}

func ecsTags(of func(*provider.Request) string) provider.Tags {
	return provider.Tags{
		Property: "Tags", AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			in := &ecs.TagResourceInput{ResourceArn: aws.String(of(r))}
			for _, k := range slices.Sorted(maps.Keys(tags)) {
				in.Tags = append(in.Tags, types.Tag{Key: aws.String(k), Value: aws.String(tags[k])})
			}
			_, err := ecsClient(r.Session).TagResource(ctx, in)
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			_, err := ecsClient(r.Session).UntagResource(ctx, &ecs.UntagResourceInput{ResourceArn: aws.String(of(r)), TagKeys: keys})
			return err
		},
	}
}

var registerTaskInput = provider.Bind[ecs.RegisterTaskDefinitionInput](
	provider.Rename{"ProxyConfiguration.ProxyConfigurationProperties": "Properties"},
	provider.Finish(func(r *provider.Request, in *ecs.RegisterTaskDefinitionInput) error {
		if in.Family == nil {
			in.Family = aws.String(familyOf(r))
		}
		return nil
	}))

func familyOf(r *provider.Request) string {
	if family := text(r.Properties, "Family"); family != "" {
		return family
	}
	return notInStatementID.ReplaceAllString(r.Stack.Name+"-"+r.LogicalID, "-")
}

// A task definition is known by the ARN of its revision. All but tags is in
// the revision, so that a change makes another one.
func taskDefinition() provider.Resource {
	return provider.Resource{
		Type:   "AWS::ECS::TaskDefinition",
		Inputs: []provider.Input{registerTaskInput},
		Tags:   ecsTags(func(r *provider.Request) string { return r.PhysicalID }),
		Create: createBy(ecsOnce, (*ecs.Client).RegisterTaskDefinition, registerTaskInput, func(o *ecs.RegisterTaskDefinitionOutput) *string { return o.TaskDefinition.TaskDefinitionArn }),
		Delete: deregisterTask,
		Gone:   []string{"ResourceNotFoundException"},
		Known:  knownID("TaskDefinitionArn"),
		Find:   byTag(findTaskDefinition),
	}
}

// deregisterTask makes the revision inactive, which is as good as gone: it is
// kept only for what still runs by it.
func deregisterTask(ctx context.Context, r *provider.Request) error {
	c := ecsClient(r.Session)
	_, err := c.DeregisterTaskDefinition(ctx, &ecs.DeregisterTaskDefinitionInput{TaskDefinition: &r.PhysicalID})
	if !provider.HasCode(err, "ClientException", "InvalidParameterException") {
		return err
	}
	out, readErr := c.DescribeTaskDefinition(ctx, &ecs.DescribeTaskDefinitionInput{TaskDefinition: &r.PhysicalID})
	if provider.HasCode(readErr, "ClientException") || readErr == nil && out.TaskDefinition.Status != types.TaskDefinitionStatusActive {
		return errors.Join(provider.ErrNotFound, err)
	}
	return err
}

// findTaskDefinition looks through the newest revisions of the family for the
// one with the create's tag.
func findTaskDefinition(ctx context.Context, r *provider.Request) (string, error) {
	const newest = 10
	c := ecsClient(r.Session)
	out, err := c.ListTaskDefinitions(ctx, &ecs.ListTaskDefinitionsInput{
		FamilyPrefix: aws.String(familyOf(r)), Sort: types.SortOrderDesc, MaxResults: aws.Int32(newest),
	})
	if err != nil {
		return "", err
	}
	for _, id := range out.TaskDefinitionArns {
		tags, err := c.ListTagsForResource(ctx, &ecs.ListTagsForResourceInput{ResourceArn: &id})
		if err != nil {
			return "", err
		}
		if ecsTagMap(tags.Tags)[provider.OwnerTagKey] == r.OwnerTag {
			return id, nil
		}
	}
	return "", nil
}
