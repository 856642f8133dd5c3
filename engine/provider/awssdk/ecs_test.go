package awssdk

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

func TestCluster(t *testing.T) {
	s := emulated(t)
	c := ecs.NewFromConfig(s.Config)
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.DescribeClusters(ctx, &ecs.DescribeClustersInput{Clusters: []string{id},
			Include: []types.ClusterField{types.ClusterFieldTags, types.ClusterFieldSettings, types.ClusterFieldConfigurations}})
		if err != nil {
			return nil, err
		}
		cl := out.Clusters[0]
		got := map[string]string{}
		for _, set := range cl.Settings {
			got[string(set.Name)] = *set.Value
		}
		for _, p := range cl.CapacityProviders {
			got["provider"] += p + " "
		}
		for k, v := range ecsTagMap(cl.Tags) {
			got["tag:"+k] = v
		}
		return got, nil
	}
	const owner = "0123456789abcdef0123456789abcdef"
	life{
		typ: "AWS::ECS::Cluster", physical: "Shop-Cluster", id: "Shop-Cluster",
		attributes: map[string]string{"Arn": "arn:aws:ecs:eu-west-1:123456789012:cluster/Shop-Cluster"},
		steps: []step{
			{"create", `{"ClusterSettings": [{"Name": "containerInsights", "Value": "enabled"}], "CapacityProviders": ["FARGATE"],
				"DefaultCapacityProviderStrategy": [{"CapacityProvider": "FARGATE", "Weight": 1}], "Tags": [{"Key": "a", "Value": "1"}]}`, seen,
				map[string]string{"containerInsights": "enabled", "provider": "FARGATE ", "tag:a": "1", "tag:cdkd-action:create": owner}},
			{"change", `{"ClusterSettings": [{"Name": "containerInsights", "Value": "enhanced"}], "CapacityProviders": ["FARGATE", "FARGATE_SPOT"], "Tags": [{"Key": "b", "Value": "2"}]}`, seen,
				map[string]string{"containerInsights": "enhanced", "provider": "FARGATE FARGATE_SPOT ", "tag:b": "2", "tag:cdkd-action:create": owner}},
			{"remove", `{}`, seen, map[string]string{"containerInsights": "disabled", "tag:cdkd-action:create": owner}},
		},
		noRead: true,
	}.run(t, s)

	// Who holds a name (S-200): a deleted cluster is told of, but holds nothing.
	d := provider.Drive(describe(t, "AWS::ECS::Cluster"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "C", Type: "AWS::ECS::Cluster", Name: "Shop-Cluster"}
	if h, err := d.Lookup(t.Context(), r); h != nil || err != nil {
		t.Errorf("a deleted cluster holds its name: %+v, %v", h, err)
	}
	if _, err := c.CreateCluster(t.Context(), &ecs.CreateClusterInput{ClusterName: &r.Name, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}}}); err != nil {
		t.Fatal(err)
	}
	if h, err := d.Lookup(t.Context(), r); err != nil || h == nil || h.PhysicalID != "Shop-Cluster" || h.Tags["a"] != "1" {
		t.Errorf("holder is %+v, %v", h, err)
	}
}

const containers = `"ContainerDefinitions": [{"Name": "web", "Image": "nginx", "Memory": "128", "Essential": true,
	"Environment": [{"Name": "A", "Value": "1"}], "PortMappings": [{"ContainerPort": 80}],
	"LogConfiguration": {"LogDriver": "awslogs", "Options": {"awslogs-group": "g", "Awslogs-Other": "o"}}}]`

func TestTaskDefinition(t *testing.T) {
	s := emulated(t)
	c := ecs.NewFromConfig(s.Config)
	get := func(ctx context.Context, id string) (*ecs.DescribeTaskDefinitionOutput, error) {
		return c.DescribeTaskDefinition(ctx, &ecs.DescribeTaskDefinitionInput{TaskDefinition: &id, Include: []types.TaskDefinitionField{types.TaskDefinitionFieldTags}})
	}
	const id = "arn:aws:ecs:eu-west-1:123456789012:task-definition/Shop-task:1"
	props := `{"Family": "Shop-task", ` + containers + `, "Cpu": 256, "Memory": 512, "NetworkMode": "awsvpc", "RequiresCompatibilities": ["FARGATE"],
		"Volumes": [{"Name": "v", "EFSVolumeConfiguration": {"FilesystemId": "fs-1", "AuthorizationConfig": {"IAM": "ENABLED"}, "TransitEncryption": "ENABLED"}}], "Tags": [{"Key": "`
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := get(ctx, id)
		if err != nil {
			return nil, err
		}
		task := out.TaskDefinition
		return []any{*task.Cpu, *task.Memory, task.ContainerDefinitions[0].LogConfiguration.Options, *task.Volumes[0].EfsVolumeConfiguration.FileSystemId,
			ecsTagMap(out.Tags)["a"], ecsTagMap(out.Tags)["b"]}, nil
	}
	options := map[string]string{"awslogs-group": "g", "Awslogs-Other": "o"}
	life{
		typ: "AWS::ECS::TaskDefinition", id: id,
		attributes: map[string]string{"TaskDefinitionArn": id},
		steps: []step{
			{"create", props + `a", "Value": "1"}]}`, seen, []any{"256", "512", options, "fs-1", "1", ""}},
			{"only its tags", props + `b", "Value": "2"}]}`, seen, []any{"256", "512", options, "fs-1", "", "2"}},
		},
		gone: func(ctx context.Context, id string) error {
			out, err := get(ctx, id)
			if err == nil && out.TaskDefinition.Status != types.TaskDefinitionStatusActive {
				err = errors.New("inactive")
			}
			return err
		},
		noRead: true,
	}.run(t, s)
}

func TestECSService(t *testing.T) {
	s := emulated(t)
	c := ecs.NewFromConfig(s.Config)
	if _, err := c.CreateCluster(t.Context(), &ecs.CreateClusterInput{ClusterName: aws.String("Shop-Serving")}); err != nil {
		t.Fatal(err)
	}
	d := provider.Drive(describe(t, "AWS::ECS::TaskDefinition"), nil)
	var tasks []string
	for range 2 {
		made, err := d.Create(t.Context(), &provider.Request{Session: s, Stack: stack, LogicalID: "Task", Type: "AWS::ECS::TaskDefinition", Properties: object(t, `{`+containers+`}`)})
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, made.PhysicalID)
	}
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.DescribeServices(ctx, &ecs.DescribeServicesInput{Cluster: aws.String("Shop-Serving"), Services: []string{id}, Include: []types.ServiceField{types.ServiceFieldTags}})
		if err != nil || len(out.Services) == 0 || *out.Services[0].Status == "INACTIVE" {
			return nil, errors.Join(err, errors.New("none"))
		}
		sv := out.Services[0]
		return []any{sv.DesiredCount, *sv.TaskDefinition, ecsTagMap(sv.Tags)["a"], ecsTagMap(sv.Tags)["b"]}, nil
	}
	base := `{"Cluster": "Shop-Serving", "LaunchType": "EC2", "TaskDefinition": "`
	const id = "arn:aws:ecs:eu-west-1:123456789012:service/Shop-Serving/Shop-Service"
	life{
		typ: "AWS::ECS::Service", physical: "Shop-Service", id: id,
		attributes: map[string]string{"ServiceArn": id, "Name": "Shop-Service"},
		steps: []step{
			{"create", base + tasks[0] + `", "DesiredCount": "2", "Tags": [{"Key": "a", "Value": "1"}]}`, seen, []any{int32(2), tasks[0], "1", ""}},
			{"change", base + tasks[1] + `", "DesiredCount": "1", "Tags": [{"Key": "b", "Value": "2"}]}`, seen, []any{int32(1), tasks[1], "", "2"}},
		},
		gone:   func(ctx context.Context, id string) error { _, err := seen(ctx, id); return err },
		noRead: true,
	}.run(t, s)
}

// An update tells of changes only, and of what is gone by what is without it.
func TestUpdateServiceInput(t *testing.T) {
	old := object(t, `{"Cluster": "c", "TaskDefinition": "t:1", "LoadBalancers": [{"ContainerName": "w"}], "PlatformVersion": "1.3.0",
		"DeploymentConfiguration": {"MaximumPercent": 150, "Alarms": {"Enable": true, "Rollback": true, "AlarmNames": ["a"]}}, "ForceNewDeployment": {"EnableForceNewDeployment": true, "ForceNewDeploymentNonce": "1"}}`)
	new := object(t, `{"Cluster": "c", "TaskDefinition": "t:2", "LoadBalancers": [{"ContainerName": "w"}], "DesiredCount": 3,
		"ForceNewDeployment": {"EnableForceNewDeployment": true, "ForceNewDeploymentNonce": "1"}}`)
	r := &provider.Request{PhysicalID: "arn:aws:ecs:eu-west-1:1:service/c/s|c", Properties: new, Previous: old}
	in, err := updateServiceInput.Input(onlyChanged(r, provider.Compare(old, new), "Cluster"))
	if err != nil {
		t.Fatal(err)
	}
	d := in.DeploymentConfiguration
	if *in.Service != "arn:aws:ecs:eu-west-1:1:service/c/s" || *in.Cluster != "c" || *in.TaskDefinition != "t:2" || *in.DesiredCount != 3 ||
		in.LoadBalancers != nil || in.ForceNewDeployment || *in.PlatformVersion != "LATEST" || *d.MaximumPercent != 200 || d.Alarms.Enable {
		t.Errorf("the update is %+v, deployment %+v", in, d)
	}
	new.Set("ForceNewDeployment", object(t, `{"EnableForceNewDeployment": true, "ForceNewDeploymentNonce": "2"}`))
	if in, err := updateServiceInput.Input(onlyChanged(r, provider.Compare(old, new), "Cluster")); err != nil || !in.ForceNewDeployment {
		t.Errorf("another nonce: %+v, %v, want a new deployment", in, err)
	}
	new.Set("CapacityProviderStrategy", object(t, `{"l": [{"CapacityProvider": "FARGATE"}]}`).Value("l"))
	if in, err := updateServiceInput.Input(onlyChanged(r, provider.Compare(old, new), "Cluster")); err != nil || !in.ForceNewDeployment || len(in.CapacityProviderStrategy) != 1 {
		t.Errorf("other capacity providers: %+v, %v, want a new deployment", in, err)
	}
}

func TestHookDetails(t *testing.T) {
	for _, details := range []any{`{"a": [1, "b"]}`, object(t, `{"a": [1, "b"]}`)} {
		doc, err := hookDetails(details)
		if err != nil {
			t.Fatal(err)
		}
		text, err := doc.MarshalSmithyDocument()
		if diff := cmp.Diff(`{"a":[1,"b"]}`, string(text)); diff != "" || err != nil {
			t.Errorf("details %v (-want +got):\n%s", err, diff)
		}
	}
}

func TestSteadiness(t *testing.T) {
	primary := func(state types.DeploymentRolloutState) types.Deployment {
		return types.Deployment{Status: aws.String("PRIMARY"), RolloutState: state, RolloutStateReason: aws.String("why")}
	}
	for name, test := range map[string]struct {
		service types.Service
		want    string
	}{
		"all runs":                   {types.Service{Status: aws.String("ACTIVE"), RunningCount: 2, DesiredCount: 2, Deployments: []types.Deployment{primary("COMPLETED")}}, "steady"},
		"tasks are missing":          {types.Service{Status: aws.String("ACTIVE"), RunningCount: 1, DesiredCount: 2, Deployments: []types.Deployment{primary("COMPLETED")}}, "starting tasks"},
		"an old deployment is left":  {types.Service{Status: aws.String("ACTIVE"), Deployments: []types.Deployment{primary("COMPLETED"), {Status: aws.String("ACTIVE")}}}, "starting tasks"},
		"it rolls out":               {types.Service{Status: aws.String("ACTIVE"), Deployments: []types.Deployment{primary("IN_PROGRESS")}}, "IN_PROGRESS"},
		"the rollout failed":         {types.Service{Status: aws.String("ACTIVE"), Deployments: []types.Deployment{primary("FAILED")}}, "FAILED"},
		"it was deleted by somebody": {types.Service{Status: aws.String("INACTIVE")}, "INACTIVE"},
	} {
		if got, _ := steadiness(&test.service); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
