package awssdk

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecsdocument "github.com/aws/aws-sdk-go-v2/service/ecs/document"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var (
	createServiceInput = provider.Bind[ecs.CreateServiceInput](
		provider.Token("ClientToken"),
		provider.Rename{"PlacementStrategies": "PlacementStrategy"},
		provider.Custom("DeploymentConfiguration.LifecycleHooks.HookDetails", hookDetails))

	updateServiceInput = provider.Bind[ecs.UpdateServiceInput](
		provider.ID("Service"),
		provider.Rename{
			"PlacementStrategies":                         "PlacementStrategy",
			"ForceNewDeployment":                          ".",
			"ForceNewDeployment.EnableForceNewDeployment": "ForceNewDeployment",
		},
		provider.Custom("DeploymentConfiguration.LifecycleHooks.HookDetails", hookDetails),
		provider.Clear{
			"CapacityProviderStrategy": []any{},
			"DeploymentConfiguration.Alarms": value.NewObject(
				"AlarmNames", []any{}, "Enable", "false", "Rollback", "false"),
			"DeploymentConfiguration.MaximumPercent":           "200",
			"DeploymentConfiguration.MinimumHealthyPercent":    "100",
			"DeploymentConfiguration.DeploymentCircuitBreaker": value.NewObject("Enable", "false", "Rollback", "false"),
			"DeploymentConfiguration.LifecycleHooks":           []any{},
			"EnableECSManagedTags":                             "false",
			"EnableExecuteCommand":                             "false",
			"HealthCheckGracePeriodSeconds":                    "0",
			"LoadBalancers":                                    []any{},
			"PlacementConstraints":                             []any{},
			"PlacementStrategies":                              []any{},
			"PlatformVersion":                                  "LATEST",
			"PropagateTags":                                    "NONE",
			"ServiceConnectConfiguration":                      value.NewObject("Enabled", "false"),
			"ServiceRegistries":                                []any{},
			"VolumeConfigurations":                             []any{},
			"VpcLatticeConfigurations":                         []any{},
		},
		provider.Finish(func(r *provider.Request, in *ecs.UpdateServiceInput) error {
			in.Service = serviceARN(r)
			// Other capacity providers take effect in a new deployment only.
			in.ForceNewDeployment = in.ForceNewDeployment || in.CapacityProviderStrategy != nil
			return nil
		}, "ForceNewDeployment.ForceNewDeploymentNonce"))
)

// hookDetails passes what a deployment's hook is told, as it is.
func hookDetails(v any) (ecsdocument.Interface, error) {
	s, ok := v.(string)
	if !ok {
		s = value.JSON(v)
	}
	var details any
	if err := json.Unmarshal([]byte(s), &details); err != nil {
		return nil, err
	}
	return ecsdocument.NewLazyDocument(details), nil
}

var serviceGone = []string{"ServiceNotFoundException", "ServiceNotActiveException", clusterGone}

// A service is known by its ARN. Its calls take the cluster too.
func ecsService() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ECS::Service",
		Name:    "ServiceName",
		Inputs:  []provider.Input{createServiceInput},
		Updates: []provider.Input{updateServiceInput},
		Handled: []string{"LaunchType"},
		Tags:    ecsTags(func(r *provider.Request) string { return *serviceARN(r) }),
		Create:  createBy(ecsOnce, (*ecs.Client).CreateService, createServiceInput, func(o *ecs.CreateServiceOutput) *string { return o.Service.ServiceArn }),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			// Capacity providers can take a launch type's place, another launch type
			// cannot.
			if d.Changed("LaunchType") && !d.Changed("CapacityProviderStrategy") {
				return provider.Updated{}, &provider.UnsupportedUpdateError{Type: r.Type, LogicalID: r.LogicalID, Properties: []string{"LaunchType"}}
			}
			_, err := provider.Invoke(ctx, onlyChanged(r, d, "Cluster"), ecsClient, (*ecs.Client).UpdateService, updateServiceInput)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := ecsClient(r.Session).DeleteService(ctx, &ecs.DeleteServiceInput{Cluster: clusterOf(r), Service: serviceARN(r), Force: aws.Bool(true)})
			return err
		},
		Gone: serviceGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			id := *serviceARN(r)
			return value.NewObject("ServiceArn", id, "Name", lastSegment(id, "/"))
		},
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			s, err := describeService(ctx, r, text(r.Properties, "ServiceName"))
			if s == nil || err != nil || aws.ToString(s.Status) != "ACTIVE" {
				return nil, unlessGone(err, serviceGone)
			}
			return &provider.Holder{PhysicalID: *s.ServiceArn, Tags: ecsTagMap(s.Tags)}, nil
		}),
		Identifier: func(r *provider.Request) string {
			if strings.Contains(r.PhysicalID, "|") {
				return r.PhysicalID
			}
			return r.PhysicalID + "|" + aws.ToString(clusterOf(r))
		},
		Wait: &provider.Waiter{
			From: provider.WaitFull, What: "the service to be steady and rolled out",
			OK: []string{"steady"}, Failed: []string{"FAILED", "INACTIVE", "MISSING"},
			First: 5 * time.Second,
			Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
				s, err := describeService(ctx, r, *serviceARN(r))
				if s == nil || err != nil {
					return "MISSING", "", err
				}
				state, detail = steadiness(s)
				return state, detail, nil
			},
			Command: func(r *provider.Request) string {
				return "aws ecs wait services-stable --region " + r.Stack.Region + " --cluster " + aws.ToString(clusterOf(r)) + " --services " + *serviceARN(r)
			},
		},
		// The tasks of a service that is draining still hold the cluster, the
		// network and the targets.
		DeleteWait: &provider.Waiter{
			From: provider.WaitNone, What: "the service's tasks to end", OK: []string{"INACTIVE", "MISSING"},
			First: 2 * time.Second, TimeoutWarns: true,
			Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
				s, err := describeService(ctx, r, *serviceARN(r))
				if s == nil || err != nil {
					return "MISSING", "", err
				}
				return aws.ToString(s.Status), "", nil
			},
		},
	}
}

// onlyChanged returns the request with the properties that change, and some
// that its call needs, for calls that keep what they are not told and refuse
// some of it in some states.
func onlyChanged(r *provider.Request, d provider.Diff, needed ...string) *provider.Request {
	c := *r
	names := append(d.Properties(), needed...)
	c.Properties, c.Previous = part(r.Properties, names...), part(r.Previous, names...)
	return &c
}

// serviceARN is the service's ARN; Cloud Control has the cluster after it.
func serviceARN(r *provider.Request) *string { return deploymentOf(r) }

// clusterOf is the cluster of a service, nil for the account's default one.
func clusterOf(r *provider.Request) *string {
	if c := text(r.Properties, "Cluster"); c != "" {
		return &c
	}
	return nil
}

func describeService(ctx context.Context, r *provider.Request, service string) (*types.Service, error) {
	out, err := ecsClient(r.Session).DescribeServices(ctx, &ecs.DescribeServicesInput{
		Cluster: clusterOf(r), Services: []string{service}, Include: []types.ServiceField{types.ServiceFieldTags},
	})
	if err != nil || len(out.Services) == 0 {
		return nil, err
	}
	return &out.Services[0], nil
}

// steadiness tells how far a service is: "steady" when all that is wanted runs
// and nothing of an earlier deployment is left.
func steadiness(s *types.Service) (state, detail string) {
	if status := aws.ToString(s.Status); status != "ACTIVE" {
		return status, ""
	}
	for _, d := range s.Deployments {
		if aws.ToString(d.Status) != "PRIMARY" {
			continue
		}
		switch {
		case d.RolloutState == types.DeploymentRolloutStateFailed:
			return string(d.RolloutState), aws.ToString(d.RolloutStateReason)
		case d.RolloutState == types.DeploymentRolloutStateInProgress:
			return string(d.RolloutState), aws.ToString(d.RolloutStateReason)
		}
	}
	if len(s.Deployments) > 1 || s.RunningCount != s.DesiredCount {
		return "starting tasks", ""
	}
	return "steady", ""
}
