package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func sfnClient(s *provider.Session) *sfn.Client { return provider.Client(s, sfn.NewFromConfig) }

func stepFunctionsResources() []provider.Resource { return []provider.Resource{stateMachine()} }

// definitionProperties hold the definition in one of three forms, and what to
// replace in it.
var definitionProperties = []string{"Definition", "DefinitionString", "DefinitionS3Location", "DefinitionSubstitutions"}

var (
	createMachineInput = provider.Bind[sfn.CreateStateMachineInput](
		provider.Rename{"StateMachineName": "Name", "StateMachineType": "Type"}, provider.Skip("Definition"))
	updateMachineInput = provider.Bind[sfn.UpdateStateMachineInput](
		provider.ID("StateMachineArn"), provider.Skip("Definition"),
		provider.Clear{
			"EncryptionConfiguration": value.NewObject("Type", "AWS_OWNED_KEY"),
			"LoggingConfiguration":    value.NewObject("Level", "OFF"),
			"TracingConfiguration":    value.NewObject("Enabled", "false"),
		})
)

// A state machine is known by its ARN. CreateStateMachine hands back one that
// has the name and the same definition.
func stateMachine() provider.Resource {
	return provider.Resource{
		Type:    "AWS::StepFunctions::StateMachine",
		Name:    "StateMachineName",
		Inputs:  []provider.Input{createMachineInput},
		Updates: []provider.Input{updateMachineInput},
		Handled: definitionProperties,
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: tagMachine,
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := sfnClient(r.Session).UntagResource(ctx, &sfn.UntagResourceInput{ResourceArn: &r.PhysicalID, TagKeys: keys})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			in, err := createMachineInput.Input(r)
			if err != nil {
				return provider.Created{}, err
			}
			if in.Definition, err = definition(ctx, r); err != nil {
				return provider.Created{}, err
			}
			out, err := sfnClient(r.Session).CreateStateMachine(ctx, in)
			if provider.HasCode(err, "StateMachineAlreadyExists") {
				return takeMachineBack(ctx, r, err)
			}
			if err != nil {
				return provider.Created{}, err
			}
			// A machine that was never updated has no revision in the API, and this
			// one in CloudFormation.
			return provider.Created{PhysicalID: *out.StateMachineArn, Attributes: value.NewObject("StateMachineRevisionId", "INITIAL")}, nil
		},
		Update: updateMachine,
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := sfnClient(r.Session).DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: &r.PhysicalID})
			return err
		},
		Gone:   []string{"StateMachineDoesNotExist"},
		Lookup: lookupMachine,
		Known: func(r *provider.Request) *value.Object {
			id := r.PhysicalID
			if id == "" {
				id = arn(r, "states", "stateMachine:"+r.Name)
			}
			return value.NewObject("Arn", id, "Name", lastSegment(id, ":"))
		},
	}
}

func tagMachine(ctx context.Context, r *provider.Request, tags map[string]string) error {
	in := &sfn.TagResourceInput{ResourceArn: &r.PhysicalID}
	for k, v := range tags {
		in.Tags = append(in.Tags, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	_, err := sfnClient(r.Session).TagResource(ctx, in)
	return err
}

func updateMachine(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	in, err := updateMachineInput.Input(r)
	if err != nil {
		return provider.Updated{}, err
	}
	if d.Changed(definitionProperties...) {
		if in.Definition, err = definition(ctx, r); err != nil {
			return provider.Updated{}, err
		}
	}
	out, err := sfnClient(r.Session).UpdateStateMachine(ctx, in)
	if err != nil || out.RevisionId == nil {
		return provider.Updated{}, err
	}
	return provider.Updated{Attributes: value.NewObject("StateMachineRevisionId", *out.RevisionId)}, nil
}

func lookupMachine(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
	id := arn(r, "states", "stateMachine:"+r.Name)
	out, err := sfnClient(r.Session).DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &id})
	if provider.HasCode(err, "StateMachineDoesNotExist") || err == nil && out.Status == types.StateMachineStatusDeleting {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	h := &provider.Holder{PhysicalID: id, Created: aws.ToTime(out.CreationDate)}
	tags, err := sfnClient(r.Session).ListTagsForResource(ctx, &sfn.ListTagsForResourceInput{ResourceArn: &id})
	if err != nil {
		return withTags(h, nil, err)
	}
	return withTags(h, tagMap(tags.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value }), nil)
}

// takeMachineBack brings a state machine that was kept to what is wanted now.
func takeMachineBack(ctx context.Context, r *provider.Request, refusal error) (provider.Created, error) {
	named := *r
	named.Name = text(r.Properties, "StateMachineName")
	h, err := lookupMachine(ctx, &named)
	if err != nil || !takenBack(r, h) {
		return provider.Created{}, refusal
	}
	kept := asExisting(r, h.PhysicalID)
	out, err := updateMachine(ctx, kept, provider.Compare(kept.Previous, kept.Properties))
	if err != nil {
		return provider.Created{}, err
	}
	if tags := tagsOfFound(r); len(tags) > 0 {
		if err := tagMachine(ctx, kept, tags); err != nil {
			return provider.Created{}, err
		}
	}
	return provider.Created{PhysicalID: h.PhysicalID, Attributes: out.Attributes}, nil
}
