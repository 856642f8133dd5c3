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
	"gopkg.in/yaml.v3"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

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
