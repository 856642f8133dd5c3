package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/codebuild"
	"github.com/aws/aws-sdk-go-v2/service/codebuild/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func codeBuildClient(s *provider.Session) *codebuild.Client {
	return provider.Client(s, codebuild.NewFromConfig)
}

func codeBuildOnce(s *provider.Session) *codebuild.Client {
	return provider.OnceClient(s, codebuild.NewFromConfig)
}

func codeBuildResources() []provider.Resource { return []provider.Resource{buildProject()} }

// buildDefaults are what an absent member of an update would leave as it is.
var buildDefaults = provider.Clear{
	"AutoRetryLimit": "0", "BadgeEnabled": "false", "BuildBatchConfig": &value.Object{},
	"Cache": value.NewObject("Type", "NO_CACHE"), "ConcurrentBuildLimit": "-1", "Description": "", "EncryptionKey": "",
	"FileSystemLocations": []any{}, "LogsConfig": &value.Object{}, "QueuedTimeoutInMinutes": "480",
	"SecondaryArtifacts": []any{}, "SecondarySourceVersions": []any{}, "SecondarySources": []any{}, "SourceVersion": "",
	"Tags": []any{}, "TimeoutInMinutes": "60", "VpcConfig": &value.Object{},
}

var (
	createProjectInput = provider.Bind[codebuild.CreateProjectInput]()
	updateProjectInput = provider.Bind[codebuild.UpdateProjectInput](buildDefaults)
	createWebhookInput = provider.Bind[codebuild.CreateWebhookInput](provider.Only("Triggers"), provider.Rename{"Triggers": "."}, provider.Skip("Triggers.Webhook"), provider.ID("ProjectName"))
	updateWebhookInput = provider.Bind[codebuild.UpdateWebhookInput](provider.Only("Triggers"), provider.Rename{"Triggers": "."}, provider.Skip("Triggers.Webhook"), provider.ID("ProjectName"))
)

// A project is known by its name. Its tags are part of it.
func buildProject() provider.Resource {
	describe := func(ctx context.Context, r *provider.Request, name string) (*types.Project, error) {
		out, err := codeBuildClient(r.Session).BatchGetProjects(ctx, &codebuild.BatchGetProjectsInput{Names: []string{name}})
		if err != nil {
			return nil, err
		}
		return described(out.Projects, nil, nil)
	}
	return provider.Resource{
		Type:    "AWS::CodeBuild::Project",
		Name:    "Name",
		Inputs:  []provider.Input{createProjectInput, createWebhookInput},
		Updates: []provider.Input{updateProjectInput},
		Handled: []string{"Triggers.Webhook"},
		Tags:    provider.Tags{Property: "Tags", AtCreate: true},
		SDKOnly: "Cloud Control does not manage it",
		Satellites: []provider.Satellite{
			{Properties: []string{"Triggers"}, Input: createWebhookInput, Put: putWebhook},
			{Properties: []string{"Visibility", "ResourceAccessRole"}, Put: func(ctx context.Context, r *provider.Request) error {
				visibility := types.ProjectVisibilityType(text(r.Properties, "Visibility"))
				if visibility == "" {
					visibility = types.ProjectVisibilityTypePrivate
				}
				_, err := codeBuildClient(r.Session).UpdateProjectVisibility(ctx, &codebuild.UpdateProjectVisibilityInput{
					ProjectArn: aws.String(arn(r, "codebuild", "project/"+r.PhysicalID)), ProjectVisibility: visibility,
					ResourceAccessRole: optional(text(r.Properties, "ResourceAccessRole")),
				})
				return err
			}},
		},
		Create: createBy(codeBuildOnce, (*codebuild.Client).CreateProject, createProjectInput, func(o *codebuild.CreateProjectOutput) *string { return o.Project.Name }),
		Update: updateBy(codeBuildClient, (*codebuild.Client).UpdateProject, updateProjectInput),
		Delete: provider.Call(codeBuildClient, (*codebuild.Client).DeleteProject, byID[codebuild.DeleteProjectInput]("Name")),
		Gone:   []string{"ResourceNotFoundException"},
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			p, err := describe(ctx, r, text(r.Properties, "Name"))
			if err == provider.ErrNotFound {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
			return &provider.Holder{PhysicalID: *p.Name, Tags: tagMap(p.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })}, nil
		}),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			p, err := describe(ctx, r, r.PhysicalID)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			props := provider.Unbind(p, shape, provider.Rename{"Triggers": "Webhook", "Visibility": "ProjectVisibility"})
			if p.Webhook != nil {
				props.Object("Triggers").Set("Webhook", true)
			}
			return props, nil
		},
		Known: func(r *provider.Request) *value.Object {
			name := r.PhysicalID
			if name == "" {
				name = r.Name
			}
			return value.NewObject("Arn", arn(r, "codebuild", "project/"+name))
		},
	}
}

// putWebhook brings the project's webhook to its triggers, which may say that
// there is none.
func putWebhook(ctx context.Context, r *provider.Request) error {
	wanted, had := isTrue(r.Properties.Object("Triggers"), "Webhook"), isTrue(r.Previous.Object("Triggers"), "Webhook")
	var err error
	switch {
	case wanted && had:
		_, err = provider.Invoke(ctx, r, codeBuildClient, (*codebuild.Client).UpdateWebhook, updateWebhookInput)
	case wanted:
		_, err = provider.Invoke(ctx, r, codeBuildClient, (*codebuild.Client).CreateWebhook, createWebhookInput)
	case had:
		_, err = codeBuildClient(r.Session).DeleteWebhook(ctx, &codebuild.DeleteWebhookInput{ProjectName: &r.PhysicalID})
		err = unlessGone(err, []string{"ResourceNotFoundException"})
	}
	return err
}
