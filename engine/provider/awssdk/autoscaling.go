package awssdk

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func scalingClient(s *provider.Session) *autoscaling.Client {
	return provider.Client(s, autoscaling.NewFromConfig)
}

func scalingOnce(s *provider.Session) *autoscaling.Client {
	return provider.OnceClient(s, autoscaling.NewFromConfig)
}

func autoScalingResources() []provider.Resource {
	return []provider.Resource{scalingGroup(), lifecycleHook()}
}

// groupShape are the options of the create and the update. Subnets are one text
// in the API.
var groupShape = provider.Options(
	provider.Rename{"Cooldown": "DefaultCooldown"},
	provider.Skip("Tags"),
	provider.Custom("VPCZoneIdentifier", func(v any) (string, error) {
		return strings.Join(texts(value.NewObject("v", v), "v"), ","), nil
	}))

var (
	createScalingInput = provider.Bind[autoscaling.CreateAutoScalingGroupInput](groupShape, provider.Finish(func(r *provider.Request, in *autoscaling.CreateAutoScalingGroupInput) error {
		in.Tags = groupTags(r, text(r.Properties, "AutoScalingGroupName"), r.Properties.List("Tags"))
		return nil
	}, "Tags"))
	updateScalingInput = provider.Bind[autoscaling.UpdateAutoScalingGroupInput](groupShape, provider.ID("AutoScalingGroupName"), provider.Clear{
		"CapacityRebalance": "false", "Cooldown": "300", "DefaultInstanceWarmup": "-1", "DeletionProtection": "none",
		"HealthCheckGracePeriod": "0", "HealthCheckType": "EC2", "MaxInstanceLifetime": "0",
		"InstanceMaintenancePolicy":        value.NewObject("MinHealthyPercentage", "-1", "MaxHealthyPercentage", "-1"),
		"NewInstancesProtectedFromScaleIn": "false", "PlacementGroup": "", "TerminationPolicies": []any{"Default"}, "Context": "",
	}, provider.Finish(keepSizes))
	hookInput    = provider.Shape[autoscaling.PutLifecycleHookInput](asIs)
	metricsInput = provider.Shape[autoscaling.EnableMetricsCollectionInput](asIs)
	sourceInput  = provider.Shape[types.TrafficSourceIdentifier](asIs)
)

// keepSizes leaves out the sizes that the template did not change: the group may
// have been scaled since, and its instances are at work.
func keepSizes(r *provider.Request, in *autoscaling.UpdateAutoScalingGroupInput) error {
	for property, size := range map[string]**int32{"MinSize": &in.MinSize, "MaxSize": &in.MaxSize, "DesiredCapacity": &in.DesiredCapacity} {
		if value.Equal(r.Previous.Value(property), r.Properties.Value(property)) {
			*size = nil
		}
	}
	return nil
}

func groupTags(r *provider.Request, group string, tags []any) []types.Tag {
	var out []types.Tag
	for _, v := range tags {
		tag, _ := v.(*value.Object)
		out = append(out, types.Tag{
			ResourceId: &group, ResourceType: aws.String("auto-scaling-group"),
			Key: aws.String(text(tag, "Key")), Value: aws.String(text(tag, "Value")), PropagateAtLaunch: aws.Bool(isTrue(tag, "PropagateAtLaunch")),
		})
	}
	return out
}

func describeScalingGroup(ctx context.Context, r *provider.Request, name string) (*types.AutoScalingGroup, error) {
	out, err := scalingClient(r.Session).DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if err != nil {
		return nil, err
	}
	return described(out.AutoScalingGroups, nil, nil)
}

// A group is known by its name. Its tags say whether instances get them, so
// that they are members of a list and no plain tags.
func scalingGroup() provider.Resource {
	name := func(r *provider.Request) *string { return &r.PhysicalID }
	return provider.Resource{
		Type:       "AWS::AutoScaling::AutoScalingGroup",
		Name:       "AutoScalingGroupName",
		Inputs:     []provider.Input{createScalingInput},
		Updates:    []provider.Input{updateScalingInput},
		Satellites: groupParts(name),
		Tags:       provider.Tags{Property: "Tags", AtCreate: true},
		Exclusive:  [][]string{{"NotificationConfiguration", "NotificationConfigurations"}},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, scalingOnce, (*autoscaling.Client).CreateAutoScalingGroup, createScalingInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: text(r.Properties, "AutoScalingGroupName")}, nil
		},
		Update: updateBy(scalingClient, (*autoscaling.Client).UpdateAutoScalingGroup, updateScalingInput),
		// Its instances go with it.
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := scalingClient(r.Session).DeleteAutoScalingGroup(ctx, &autoscaling.DeleteAutoScalingGroupInput{AutoScalingGroupName: &r.PhysicalID, ForceDelete: aws.Bool(true)})
			if provider.HasCode(err, "ValidationError") && strings.Contains(err.Error(), "not found") {
				return provider.ErrNotFound
			}
			return err
		},
		Gone: []string{"AutoScalingGroupNotFound"},
		DeleteWait: &provider.Waiter{
			From: provider.WaitNone, What: "the group and its instances to be gone", First: time.Second, Timeout: 15 * time.Minute,
			Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
				g, err := describeScalingGroup(ctx, r, r.PhysicalID)
				if err != nil {
					return "", "", err
				}
				return aws.ToString(g.Status), "", nil
			},
		},
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			g, err := describeScalingGroup(ctx, r, text(r.Properties, "AutoScalingGroupName"))
			if err == provider.ErrNotFound {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
			return &provider.Holder{PhysicalID: *g.AutoScalingGroupName, Tags: tagMap(g.Tags, func(t types.TagDescription) (k, v *string) { return t.Key, t.Value })}, nil
		}),
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			if r.Attributes.Has("AutoScalingGroupARN") {
				return nil, nil
			}
			g, err := describeScalingGroup(ctx, r, r.PhysicalID)
			if err != nil {
				return nil, err
			}
			return value.NewObject("AutoScalingGroupARN", aws.ToString(g.AutoScalingGroupARN)), nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			g, err := describeScalingGroup(ctx, r, r.PhysicalID)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			props := provider.Unbind(g, shape, provider.Rename{"Cooldown": "DefaultCooldown"}, provider.Skip("VPCZoneIdentifier"))
			if subnets := aws.ToString(g.VPCZoneIdentifier); subnets != "" {
				props.Set("VPCZoneIdentifier", list(strings.Split(subnets, ",")))
			}
			return props, nil
		},
		Unprotect: func(ctx context.Context, r *provider.Request) error {
			_, err := scalingClient(r.Session).UpdateAutoScalingGroup(ctx, &autoscaling.UpdateAutoScalingGroupInput{
				AutoScalingGroupName: &r.PhysicalID, DeletionProtection: types.DeletionProtectionNone, NewInstancesProtectedFromScaleIn: aws.Bool(false),
			})
			return err
		},
	}
}

// groupParts are what has calls of its own: all of it after the create, some of
// it only when it changes, as the create takes it.
func groupParts(name func(*provider.Request) *string) []provider.Satellite {
	later := func(s provider.Satellite) provider.Satellite {
		put := s.Put
		s.Put = func(ctx context.Context, r *provider.Request) error {
			if r.Previous == nil {
				return nil // the create took it
			}
			return put(ctx, r)
		}
		return s
	}
	each := func(property string, add, remove func(ctx context.Context, c *autoscaling.Client, group *string, element any) error) provider.Satellite {
		return provider.Members(property, provider.Itself,
			func(ctx context.Context, r *provider.Request, e any) error {
				return add(ctx, scalingClient(r.Session), name(r), e)
			},
			func(ctx context.Context, r *provider.Request, e any) error {
				return remove(ctx, scalingClient(r.Session), name(r), e)
			})
	}
	hooks := provider.Members("LifecycleHookSpecificationList", provider.Key("LifecycleHookName"),
		func(ctx context.Context, r *provider.Request, e any) error {
			in, err := hookInput(e)
			if err != nil {
				return err
			}
			in.AutoScalingGroupName = name(r)
			_, err = scalingClient(r.Session).PutLifecycleHook(ctx, &in)
			return err
		},
		func(ctx context.Context, r *provider.Request, e any) error {
			hook, _ := e.(*value.Object)
			_, err := scalingClient(r.Session).DeleteLifecycleHook(ctx, &autoscaling.DeleteLifecycleHookInput{AutoScalingGroupName: name(r), LifecycleHookName: aws.String(text(hook, "LifecycleHookName"))})
			return err
		})
	return []provider.Satellite{
		later(hooks),
		later(each("TargetGroupARNs",
			func(ctx context.Context, c *autoscaling.Client, group *string, e any) error {
				_, err := c.AttachLoadBalancerTargetGroups(ctx, &autoscaling.AttachLoadBalancerTargetGroupsInput{AutoScalingGroupName: group, TargetGroupARNs: []string{provider.Itself(e)}})
				return err
			},
			func(ctx context.Context, c *autoscaling.Client, group *string, e any) error {
				_, err := c.DetachLoadBalancerTargetGroups(ctx, &autoscaling.DetachLoadBalancerTargetGroupsInput{AutoScalingGroupName: group, TargetGroupARNs: []string{provider.Itself(e)}})
				return err
			})),
		later(each("LoadBalancerNames",
			func(ctx context.Context, c *autoscaling.Client, group *string, e any) error {
				_, err := c.AttachLoadBalancers(ctx, &autoscaling.AttachLoadBalancersInput{AutoScalingGroupName: group, LoadBalancerNames: []string{provider.Itself(e)}})
				return err
			},
			func(ctx context.Context, c *autoscaling.Client, group *string, e any) error {
				_, err := c.DetachLoadBalancers(ctx, &autoscaling.DetachLoadBalancersInput{AutoScalingGroupName: group, LoadBalancerNames: []string{provider.Itself(e)}})
				return err
			})),
		later(each("TrafficSources",
			func(ctx context.Context, c *autoscaling.Client, group *string, e any) error {
				source, err := sourceInput(e)
				if err == nil {
					_, err = c.AttachTrafficSources(ctx, &autoscaling.AttachTrafficSourcesInput{AutoScalingGroupName: group, TrafficSources: []types.TrafficSourceIdentifier{source}})
				}
				return err
			},
			func(ctx context.Context, c *autoscaling.Client, group *string, e any) error {
				source, err := sourceInput(e)
				if err == nil {
					_, err = c.DetachTrafficSources(ctx, &autoscaling.DetachTrafficSourcesInput{AutoScalingGroupName: group, TrafficSources: []types.TrafficSourceIdentifier{source}})
				}
				return err
			})),
		later(provider.Members("Tags", provider.Key("Key"),
			func(ctx context.Context, r *provider.Request, e any) error {
				_, err := scalingClient(r.Session).CreateOrUpdateTags(ctx, &autoscaling.CreateOrUpdateTagsInput{Tags: groupTags(r, r.PhysicalID, []any{e})})
				return err
			},
			func(ctx context.Context, r *provider.Request, e any) error {
				_, err := scalingClient(r.Session).DeleteTags(ctx, &autoscaling.DeleteTagsInput{Tags: groupTags(r, r.PhysicalID, []any{e})})
				return err
			})),
		each("MetricsCollection",
			func(ctx context.Context, c *autoscaling.Client, group *string, e any) error {
				in, err := metricsInput(e)
				if err == nil {
					in.AutoScalingGroupName = group
					_, err = c.EnableMetricsCollection(ctx, &in)
				}
				return err
			},
			func(ctx context.Context, c *autoscaling.Client, group *string, e any) error {
				o, _ := e.(*value.Object)
				_, err := c.DisableMetricsCollection(ctx, &autoscaling.DisableMetricsCollectionInput{AutoScalingGroupName: group, Metrics: texts(o, "Metrics")})
				return err
			}),
		{Properties: []string{"NotificationConfiguration", "NotificationConfigurations"}, Put: putGroupNotifications},
	}
}

// putGroupNotifications brings the topics that are told of launches to those
// wanted. A put replaces what a topic is told of.
func putGroupNotifications(ctx context.Context, r *provider.Request) error {
	wanted, had := groupTopics(r.Properties), groupTopics(r.Previous)
	c := scalingClient(r.Session)
	for topic := range had.All() {
		if wanted.Has(topic) {
			continue
		}
		if _, err := c.DeleteNotificationConfiguration(ctx, &autoscaling.DeleteNotificationConfigurationInput{AutoScalingGroupName: &r.PhysicalID, TopicARN: &topic}); err != nil {
			return err
		}
	}
	for topic := range wanted.All() {
		if value.Equal(had.Value(topic), wanted.Value(topic)) {
			continue
		}
		_, err := c.PutNotificationConfiguration(ctx, &autoscaling.PutNotificationConfigurationInput{
			AutoScalingGroupName: &r.PhysicalID, TopicARN: &topic, NotificationTypes: texts(wanted, topic),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// groupTopics are the kinds of events by topic. A configuration names its topic
// as text or as a list of one.
func groupTopics(props *value.Object) *value.Object {
	configurations := props.List("NotificationConfigurations")
	if one := props.Value("NotificationConfiguration"); one != nil {
		configurations = append(configurations, one)
	}
	topics := value.NewObject()
	for _, v := range configurations {
		o, _ := v.(*value.Object)
		kinds := o.List("NotificationTypes")
		if kinds == nil {
			kinds = []any{o.Value("NotificationTypes")}
		}
		for _, topic := range append(texts(o, "TopicARN"), texts(value.NewObject("t", []any{o.Value("TopicARN")}), "t")...) {
			topics.Set(topic, kinds)
		}
	}
	return topics
}
