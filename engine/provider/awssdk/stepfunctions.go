package awssdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"gopkg.in/yaml.v3"

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
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				in := &sfn.TagResourceInput{ResourceArn: &r.PhysicalID}
				for k, v := range tags {
					in.Tags = append(in.Tags, types.Tag{Key: aws.String(k), Value: aws.String(v)})
				}
				_, err := sfnClient(r.Session).TagResource(ctx, in)
				return err
			},
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
			if err != nil {
				return provider.Created{}, err
			}
			// A machine that was never updated has no revision in the API, and this
			// one in CloudFormation.
			return provider.Created{PhysicalID: *out.StateMachineArn, Attributes: value.NewObject("StateMachineRevisionId", "INITIAL")}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
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
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := sfnClient(r.Session).DeleteStateMachine(ctx, &sfn.DeleteStateMachineInput{StateMachineArn: &r.PhysicalID})
			return err
		},
		Gone: []string{"StateMachineDoesNotExist"},
		Lookup: func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			id := arn(r, "states", "stateMachine:"+r.Name)
			out, err := sfnClient(r.Session).DescribeStateMachine(ctx, &sfn.DescribeStateMachineInput{StateMachineArn: &id})
			if provider.HasCode(err, "StateMachineDoesNotExist") || err == nil && out.Status == types.StateMachineStatusDeleting {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
			h := &provider.Holder{PhysicalID: id, Created: aws.ToTime(out.CreationDate), Tags: map[string]string{}}
			if out, err := sfnClient(r.Session).ListTagsForResource(ctx, &sfn.ListTagsForResourceInput{ResourceArn: &id}); err == nil {
				for _, t := range out.Tags {
					h.Tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
				}
			}
			return h, nil
		},
		Known: func(r *provider.Request) *value.Object {
			id := r.PhysicalID
			if id == "" {
				id = arn(r, "states", "stateMachine:"+r.Name)
			}
			return value.NewObject("Arn", id, "Name", lastSegment(id, ":"))
		},
	}
}

// definition returns the state machine's definition as JSON text.
func definition(ctx context.Context, r *provider.Request) (*string, error) {
	var found string
	switch {
	case r.Properties.Has("DefinitionString"):
		found = document(r.Properties, "DefinitionString")
	case r.Properties.Has("Definition"):
		found = document(r.Properties, "Definition")
	case r.Properties.Has("DefinitionS3Location"):
		var err error
		if found, err = definitionFromS3(ctx, r); err != nil {
			return nil, err
		}
	default:
		return nil, errors.New("there is no definition: give Definition, DefinitionString or DefinitionS3Location")
	}
	found = substituted(found, r.Properties.Object("DefinitionSubstitutions"))
	return &found, nil
}

func definitionFromS3(ctx context.Context, r *provider.Request) (string, error) {
	at := r.Properties.Object("DefinitionS3Location")
	in := &s3.GetObjectInput{Bucket: aws.String(text(at, "Bucket")), Key: aws.String(text(at, "Key"))}
	if v := text(at, "Version"); v != "" {
		in.VersionId = &v
	}
	out, err := S3Client(r.Session).GetObject(ctx, in)
	if err != nil {
		return "", fmt.Errorf("read the definition at s3://%s/%s: %w", *in.Bucket, *in.Key, err)
	}
	defer out.Body.Close()
	const most = 5 << 20 // five times what a definition may have
	raw, err := io.ReadAll(io.LimitReader(out.Body, most))
	if err != nil {
		return "", fmt.Errorf("read the definition at s3://%s/%s: %w", *in.Bucket, *in.Key, err)
	}
	if json.Valid(raw) {
		return string(raw), nil
	}
	var v map[string]any
	if err := yaml.Unmarshal(raw, &v); err != nil {
		return "", fmt.Errorf("the definition at s3://%s/%s is neither JSON nor YAML: %w", *in.Bucket, *in.Key, err)
	}
	converted, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("the definition at s3://%s/%s has no JSON form: %w", *in.Bucket, *in.Key, err)
	}
	return string(converted), nil
}

var placeholder = regexp.MustCompile(`\$\{[a-zA-Z0-9_]+\}`)

// substituted replaces ${name} by the substitution of that name. Other
// placeholders stay: they may mean something to the definition.
func substituted(definition string, by *value.Object) string {
	return placeholder.ReplaceAllStringFunc(definition, func(found string) string {
		if v, ok := by.Get(found[2 : len(found)-1]); ok {
			if s, ok := value.Text(v); ok {
				return s
			}
		}
		return found
	})
}
