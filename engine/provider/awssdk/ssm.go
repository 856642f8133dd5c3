package awssdk

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func ssmClient(s *provider.Session) *ssm.Client { return provider.Client(s, ssm.NewFromConfig) }

func ssmOnce(s *provider.Session) *ssm.Client { return provider.OnceClient(s, ssm.NewFromConfig) }

func ssmResources() []provider.Resource { return []provider.Resource{parameter(), ssmDocument()} }

var (
	createParameterInput = provider.Bind[ssm.PutParameterInput]()
	// Tags cannot ride on an overwrite.
	updateParameterInput = provider.Bind[ssm.PutParameterInput](
		provider.Skip("Tags"),
		provider.Clear{"AllowedPattern": "", "Description": "", "Policies": "[{}]"},
		provider.Finish(func(r *provider.Request, in *ssm.PutParameterInput) error {
			// An overwrite takes whatever has the name: only what is recorded as ours may.
			in.Name, in.Overwrite = &r.PhysicalID, aws.Bool(true)
			return nil
		}))
)

// ssmTags are the tags of what is known by its name.
func ssmTags(kind types.ResourceTypeForTagging) provider.Tags {
	return provider.Tags{
		Property: "Tags", AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			_, err := ssmClient(r.Session).AddTagsToResource(ctx, &ssm.AddTagsToResourceInput{
				ResourceId: &r.PhysicalID, ResourceType: kind, Tags: tagSlice(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} }),
			})
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			_, err := ssmClient(r.Session).RemoveTagsFromResource(ctx, &ssm.RemoveTagsFromResourceInput{ResourceId: &r.PhysicalID, ResourceType: kind, TagKeys: keys})
			return err
		},
	}
}

// findSSM finds what has the name and this create's own tag.
func findSSM(kind types.ResourceTypeForTagging) func(context.Context, *provider.Request) (string, error) {
	return findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
		name := text(r.Properties, "Name")
		out, err := ssmClient(r.Session).ListTagsForResource(ctx, &ssm.ListTagsForResourceInput{ResourceId: &name, ResourceType: kind})
		if err != nil {
			return nil, unlessGone(err, []string{"InvalidResourceId"})
		}
		return &provider.Holder{PhysicalID: name, Tags: ssmTagMap(out.TagList)}, nil
	})
}

func ssmTagMap(tags []types.Tag) map[string]string {
	return tagMap(tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
}

// A parameter is known by its name.
func parameter() provider.Resource {
	return provider.Resource{
		Type:    "AWS::SSM::Parameter",
		Name:    "Name",
		Inputs:  []provider.Input{createParameterInput},
		Updates: []provider.Input{updateParameterInput},
		Tags:    ssmTags(types.ResourceTypeForTaggingParameter),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, ssmOnce, (*ssm.Client).PutParameter, createParameterInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: text(r.Properties, "Name")}, nil
		},
		Update: updateBy(ssmClient, (*ssm.Client).PutParameter, updateParameterInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := ssmClient(r.Session).DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: &r.PhysicalID})
			return err
		},
		Gone: []string{"ParameterNotFound"},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return value.NewObject("Arn", arn(r, "ssm", "parameter/"+strings.TrimPrefix(r.Name, "/")))
			}
			return value.NewObject(
				"Type", text(r.Properties, "Type"),
				"Value", text(r.Properties, "Value"),
				"Arn", arn(r, "ssm", "parameter/"+strings.TrimPrefix(r.PhysicalID, "/")))
		},
		Find: findSSM(types.ResourceTypeForTaggingParameter),
	}
}

var associationInput = provider.Shape[ssm.CreateAssociationInput](func(v any) any {
	o, _ := v.(*value.Object)
	parameters := value.NewObject()
	for _, p := range o.List("AssociationParameters") {
		p, _ := p.(*value.Object)
		parameters.Set(text(p, "Key"), p.Value("Value"))
	}
	return value.NewObject("Name", o.Value("DocumentName"), "Parameters", parameters)
})

// instanceAssociations is the satellite of the SSM documents that run on an
// instance. A document with other parameters is another association.
func instanceAssociations() provider.Satellite {
	return provider.Members("SsmAssociations", provider.Itself,
		func(ctx context.Context, r *provider.Request, element any) error {
			in, err := associationInput(element)
			if err != nil {
				return err
			}
			in.InstanceId = &r.PhysicalID
			_, err = ssmOnce(r.Session).CreateAssociation(ctx, &in)
			return err
		},
		func(ctx context.Context, r *provider.Request, element any) error {
			in, err := associationInput(element)
			if err != nil {
				return err
			}
			_, err = ssmClient(r.Session).DeleteAssociation(ctx, &ssm.DeleteAssociationInput{Name: in.Name, InstanceId: &r.PhysicalID})
			return unlessGone(err, []string{"AssociationDoesNotExist"})
		})
}
