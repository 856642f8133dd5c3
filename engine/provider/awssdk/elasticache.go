package awssdk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	"github.com/aws/aws-sdk-go-v2/service/elasticache/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func cacheClient(s *provider.Session) *elasticache.Client {
	return provider.Client(s, elasticache.NewFromConfig)
}

func cacheOnce(s *provider.Session) *elasticache.Client {
	return provider.OnceClient(s, elasticache.NewFromConfig)
}

func elastiCacheResources() []provider.Resource {
	return []provider.Resource{cacheSubnetGroup(), cacheCluster()}
}

var cacheGone = []string{"CacheClusterNotFound", "CacheClusterNotFoundFault", "CacheSubnetGroupNotFoundFault"}

// cacheARN is that of what has the name: names are in lower case in AWS.
func cacheARN(r *provider.Request, kind, name string) *string {
	return aws.String(arn(r, "elasticache", kind+":"+strings.ToLower(name)))
}

func cacheTags(kind string) provider.Tags {
	return provider.Tags{
		Property: "Tags", AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			_, err := cacheClient(r.Session).AddTagsToResource(ctx, &elasticache.AddTagsToResourceInput{
				ResourceName: cacheARN(r, kind, r.PhysicalID), Tags: tagSlice(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} }),
			})
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			_, err := cacheClient(r.Session).RemoveTagsFromResource(ctx, &elasticache.RemoveTagsFromResourceInput{ResourceName: cacheARN(r, kind, r.PhysicalID), TagKeys: keys})
			return err
		},
	}
}

func cacheTagsOf(ctx context.Context, r *provider.Request, kind, name string) (map[string]string, error) {
	out, err := cacheClient(r.Session).ListTagsForResource(ctx, &elasticache.ListTagsForResourceInput{ResourceName: cacheARN(r, kind, name)})
	if err != nil {
		return nil, err
	}
	return tagMap(out.TagList, func(t types.Tag) (k, v *string) { return t.Key, t.Value }), nil
}

// findCache finds what has the name and this create's own tag.
func findCache(property, kind string) func(context.Context, *provider.Request) (string, error) {
	return findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
		name := strings.ToLower(text(r.Properties, property))
		tags, err := cacheTagsOf(ctx, r, kind, name)
		if err != nil {
			return nil, unlessGone(err, cacheGone)
		}
		return &provider.Holder{PhysicalID: name, Tags: tags}, nil
	})
}

// cacheProps returns what a describe gave as properties.
func cacheProps(ctx context.Context, r *provider.Request, kind string, from any, opts ...provider.Option) (*value.Object, error) {
	shape, _ := schema.Lookup(r.Type)
	props := provider.Unbind(from, shape, opts...)
	tags, err := cacheTagsOf(ctx, r, kind, r.PhysicalID)
	if tags := tagList(tags); len(tags) > 0 {
		props.Set("Tags", tags)
	}
	return props, err
}

var (
	createCacheSubnetsInput = provider.Bind[elasticache.CreateCacheSubnetGroupInput](provider.Rename{"Description": "CacheSubnetGroupDescription"})
	modifyCacheSubnetsInput = provider.Bind[elasticache.ModifyCacheSubnetGroupInput](provider.ID("CacheSubnetGroupName"), provider.Rename{"Description": "CacheSubnetGroupDescription"})
)

// A subnet group is known by its name.
func cacheSubnetGroup() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ElastiCache::SubnetGroup",
		Name:    "CacheSubnetGroupName",
		Inputs:  []provider.Input{createCacheSubnetsInput},
		Updates: []provider.Input{modifyCacheSubnetsInput},
		Tags:    cacheTags("subnetgroup"),
		Create: createBy(cacheOnce, (*elasticache.Client).CreateCacheSubnetGroup, createCacheSubnetsInput, func(o *elasticache.CreateCacheSubnetGroupOutput) *string {
			return o.CacheSubnetGroup.CacheSubnetGroupName
		}),
		Update: updateBy(cacheClient, (*elasticache.Client).ModifyCacheSubnetGroup, modifyCacheSubnetsInput),
		Delete: provider.Call(cacheClient, (*elasticache.Client).DeleteCacheSubnetGroup, byID[elasticache.DeleteCacheSubnetGroupInput]("CacheSubnetGroupName")),
		Gone:   cacheGone,
		Find:   findCache("CacheSubnetGroupName", "subnetgroup"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := cacheClient(r.Session).DescribeCacheSubnetGroups(ctx, &elasticache.DescribeCacheSubnetGroupsInput{CacheSubnetGroupName: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			group, err := described(out.CacheSubnetGroups, nil, nil)
			if err != nil {
				return nil, err
			}
			props, err := cacheProps(ctx, r, "subnetgroup", group, provider.Rename{"Description": "CacheSubnetGroupDescription"})
			var ids []string
			for _, s := range group.Subnets {
				ids = append(ids, aws.ToString(s.SubnetIdentifier))
			}
			slices.Sort(ids)
			props.Set("SubnetIds", list(ids))
			return props, err
		},
	}
}

var (
	cacheNames              = provider.Rename{"ClusterName": "CacheClusterId", "VpcSecurityGroupIds": "SecurityGroupIds"}
	createCacheClusterInput = provider.Bind[elasticache.CreateCacheClusterInput](cacheNames)
	modifyCacheClusterInput = provider.Bind[elasticache.ModifyCacheClusterInput](provider.ID("CacheClusterId"), cacheNames,
		provider.Rename{"PreferredAvailabilityZones": "NewAvailabilityZones"},
		provider.Clear{"SnapshotRetentionLimit": "0"},
		provider.Finish(func(r *provider.Request, in *elasticache.ModifyCacheClusterInput) error {
			in.ApplyImmediately = aws.Bool(true)
			same := func(property string) bool {
				return value.Equal(r.Properties.Value(property), r.Previous.Value(property))
			}
			if same("EngineVersion") {
				in.EngineVersion = nil // AWS may have gone on to a later one
			}
			if same("Engine") {
				in.Engine = nil
			}
			if same("CacheNodeType") {
				in.CacheNodeType = nil
			}
			if r.Previous.Has("NotificationTopicArn") && !r.Properties.Has("NotificationTopicArn") {
				in.NotificationTopicStatus = aws.String("inactive")
			}
			in.LogDeliveryConfigurations = append(in.LogDeliveryConfigurations, undelivered(r)...)
			return fewerNodes(r, in)
		}))
)

// undelivered switches off the logs that are no longer delivered.
func undelivered(r *provider.Request) (off []types.LogDeliveryConfigurationRequest) {
	kept := keysIn(r.Properties.List("LogDeliveryConfigurations"), "LogType")
	for _, kind := range less(keysIn(r.Previous.List("LogDeliveryConfigurations"), "LogType"), kept) {
		off = append(off, types.LogDeliveryConfigurationRequest{LogType: types.LogType(kind), Enabled: aws.Bool(false)})
	}
	return off
}

func keysIn(list []any, member string) (keys []string) {
	for _, e := range list {
		keys = append(keys, provider.Key(member)(e))
	}
	return keys
}

// fewerNodes names the nodes that a smaller number takes away, the last ones, and
// leaves the zones out unless there are new nodes to be put there.
func fewerNodes(r *provider.Request, in *elasticache.ModifyCacheClusterInput) error {
	was, err := strconv.Atoi(cmp.Or(text(r.Previous, "NumCacheNodes"), "0"))
	if err != nil {
		return fmt.Errorf("NumCacheNodes of %s: %w", r.LogicalID, err)
	}
	wanted := int(aws.ToInt32(in.NumCacheNodes))
	if wanted == was {
		in.NumCacheNodes = nil
	}
	for n := was; wanted > 0 && n > wanted; n-- {
		in.CacheNodeIdsToRemove = append(in.CacheNodeIdsToRemove, fmt.Sprintf("%04d", n))
	}
	zones := in.NewAvailabilityZones
	in.NewAvailabilityZones = nil
	if wanted > was && len(zones) > was {
		in.NewAvailabilityZones = zones[was:min(wanted, len(zones))]
	}
	return nil
}

func describeCache(ctx context.Context, r *provider.Request) (*types.CacheCluster, error) {
	out, err := cacheClient(r.Session).DescribeCacheClusters(ctx, &elasticache.DescribeCacheClustersInput{CacheClusterId: &r.PhysicalID, ShowCacheNodeInfo: aws.Bool(true)})
	if err != nil {
		return nil, err
	}
	return described(out.CacheClusters, nil, nil)
}

var cacheAvailable = &provider.Waiter{
	From: provider.WaitDefault, What: "the cache cluster to be available", OK: []string{"available"},
	Failed: []string{"deleted", "deleting", "incompatible-network", "restore-failed"},
	First:  5 * time.Second, Cap: 15 * time.Second, Timeout: time.Hour,
	Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		c, err := describeCache(ctx, r)
		if err != nil {
			return "", "", err
		}
		return aws.ToString(c.CacheClusterStatus), "", nil
	},
	Command: func(r *provider.Request) string {
		return "aws elasticache wait cache-cluster-available --cache-cluster-id " + r.PhysicalID + " --region " + r.Stack.Region
	},
}

// A cache cluster is known by its name, in lower case.
func cacheCluster() provider.Resource {
	return provider.Resource{
		Type:          "AWS::ElastiCache::CacheCluster",
		Name:          "ClusterName",
		Inputs:        []provider.Input{createCacheClusterInput},
		Updates:       []provider.Input{modifyCacheClusterInput},
		Tags:          cacheTags("cluster"),
		FinalSnapshot: true,
		Create:        createBy(cacheOnce, (*elasticache.Client).CreateCacheCluster, createCacheClusterInput, func(o *elasticache.CreateCacheClusterOutput) *string { return o.CacheCluster.CacheClusterId }),
		Update:        updateBy(cacheClient, (*elasticache.Client).ModifyCacheCluster, modifyCacheClusterInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := cacheClient(r.Session).DeleteCacheCluster(ctx, &elasticache.DeleteCacheClusterInput{CacheClusterId: &r.PhysicalID, FinalSnapshotIdentifier: optional(r.FinalSnapshot)})
			return err
		},
		Gone:       cacheGone,
		Wait:       cacheAvailable,
		DeleteWait: untilGone(cacheAvailable, "the cache cluster"),
		Find:       findCache("ClusterName", "cluster"),
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			c, err := describeCache(ctx, r)
			if err != nil {
				return nil, err
			}
			o := value.NewObject()
			endpoint := func(name string, e *types.Endpoint) {
				if e != nil {
					set(o, name+".Address", e.Address)
					o.Set(name+".Port", value.Int(aws.ToInt32(e.Port)))
				}
			}
			endpoint("ConfigurationEndpoint", c.ConfigurationEndpoint)
			if c.ConfigurationEndpoint == nil && len(c.CacheNodes) > 0 {
				endpoint("RedisEndpoint", c.CacheNodes[0].Endpoint)
			}
			return o, nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			c, err := describeCache(ctx, r)
			if err != nil {
				return nil, err
			}
			props, err := cacheProps(ctx, r, "cluster", c, provider.Skip("ConfigurationEndpoint", "RedisEndpoint", "CacheSecurityGroupNames"), provider.Rename{
				"ClusterName": "CacheClusterId", "CacheParameterGroupName": "CacheParameterGroup.CacheParameterGroupName",
				"NotificationTopicArn": "NotificationConfiguration.TopicArn",
			})
			var groups []string
			for _, g := range c.SecurityGroups {
				groups = append(groups, aws.ToString(g.SecurityGroupId))
			}
			if len(groups) > 0 {
				props.Set("VpcSecurityGroupIds", list(groups))
			}
			if len(c.CacheNodes) > 0 && c.CacheNodes[0].Endpoint != nil && c.CacheNodes[0].Endpoint.Port != nil {
				props.Set("Port", value.Int(*c.CacheNodes[0].Endpoint.Port))
			}
			return props, err
		},
	}
}
