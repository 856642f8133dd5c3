package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// publishTemplate puts the template of a nested stack where the one above it says
// that it is, unless it is there: a deploy has no use for it, and CloudFormation
// reads it from there.
func (x *exporting) publishTemplate(ctx context.Context, logicalID string) error {
	v, _ := x.scope.Property(ctx, logicalID, "TemplateURL")
	address, _ := v.(string)
	bucket, key := objectOf(address)
	if key == "" {
		return fmt.Errorf("the TemplateURL of nested stack %s names no object in S3: %q", logicalID, address)
	}
	body, err := value.Marshal(x.children[logicalID].t.Template.Body)
	if err != nil {
		return err
	}
	_, err = provider.Client(x.e.session(x.t.Region).provider, s3.NewFromConfig).PutObject(ctx, &s3.PutObjectInput{
		Bucket: &bucket, Key: &key, Body: strings.NewReader(string(body)), ContentType: new("application/json"), IfNoneMatch: new("*"),
	})
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "PreconditionFailed" {
		return nil
	}
	switch answered(err) {
	case http.StatusForbidden, http.StatusNotFound:
		return &InputError{
			What: fmt.Sprintf("the template of nested stack %s cannot be put into bucket %s for CloudFormation: %v", logicalID, bucket, err),
			Next: "allow s3:PutObject on the bucket, or have it made: it is the one for assets that the app names, which cdk bootstrap makes; then export again",
			Page: guide.ExportRefused,
		}
	}
	if err != nil {
		return fmt.Errorf("put the template of nested stack %s into bucket %s for CloudFormation: %w", logicalID, bucket, err)
	}
	return nil
}

// objectOf is what an address names in S3, in either of its forms; "" when it
// names nothing there.
func objectOf(address string) (bucket, key string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	path := strings.TrimPrefix(u.Path, "/")
	if strings.HasPrefix(u.Host, "s3.") || strings.HasPrefix(u.Host, "s3-") {
		bucket, key, _ = strings.Cut(path, "/")
		return bucket, key
	}
	bucket, _, ok := strings.Cut(u.Host, ".s3")
	if !ok {
		return "", ""
	}
	return bucket, path
}
