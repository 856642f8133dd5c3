package awssdk

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

var (
	createDocumentInput = provider.Bind[ssm.CreateDocumentInput]()
	updateDocumentInput = provider.Bind[ssm.UpdateDocumentInput](
		provider.ID("Name"),
		provider.Finish(func(r *provider.Request, in *ssm.UpdateDocumentInput) error {
			in.DocumentVersion = aws.String("$LATEST")
			return nil
		}))
)

func describeDocument(ctx context.Context, r *provider.Request) (*types.DocumentDescription, error) {
	out, err := ssmClient(r.Session).DescribeDocument(ctx, &ssm.DescribeDocumentInput{Name: &r.PhysicalID, DocumentVersion: aws.String("$LATEST")})
	if err != nil {
		return nil, err
	}
	return out.Document, nil
}

var documentActive = &provider.Waiter{
	From: provider.WaitNone, What: "the document to be active",
	OK: []string{string(types.DocumentStatusActive)}, Failed: []string{string(types.DocumentStatusFailed)},
	First: 500 * time.Millisecond, Cap: 3 * time.Second, Timeout: 5 * time.Minute,
	Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		d, err := describeDocument(ctx, r)
		if err != nil {
			return "", "", err
		}
		return string(d.Status), aws.ToString(d.StatusInformation), nil
	},
}

// A document is known by its name. An update makes a version of it and then the
// default, whatever UpdateMethod says: a replacement would come to the same, and
// lose who it is shared with.
func ssmDocument() provider.Resource {
	return provider.Resource{
		Type:    "AWS::SSM::Document",
		Name:    "Name",
		Inputs:  []provider.Input{createDocumentInput},
		Updates: []provider.Input{updateDocumentInput},
		Handled: []string{"UpdateMethod"},
		Tags:    ssmTags(types.ResourceTypeForTaggingDocument),
		Create:  createBy(ssmOnce, (*ssm.Client).CreateDocument, createDocumentInput, func(o *ssm.CreateDocumentOutput) *string { return o.DocumentDescription.Name }),
		Update:  updateDocument,
		Delete:  provider.Call(ssmClient, (*ssm.Client).DeleteDocument, byID[ssm.DeleteDocumentInput]("Name")),
		Gone:    []string{"InvalidDocument"},
		Wait:    documentActive,
		Find:    findSSM(types.ResourceTypeForTaggingDocument),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			about, err := describeDocument(ctx, r)
			if err != nil {
				return nil, err
			}
			out, err := ssmClient(r.Session).GetDocument(ctx, &ssm.GetDocumentInput{Name: &r.PhysicalID, DocumentFormat: about.DocumentFormat})
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			props := provider.Unbind(out, shape)
			set(props, "TargetType", about.TargetType)
			if tags := tagList(ssmTagMap(about.Tags)); len(tags) > 0 {
				props.Set("Tags", tags)
			}
			return props, nil
		},
	}
}

func updateDocument(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	var version *string
	out, err := provider.Invoke(ctx, r, ssmClient, (*ssm.Client).UpdateDocument, updateDocumentInput)
	switch {
	case provider.HasCode(err, "DuplicateDocumentContent"): // an update before this made it
		latest, err := describeDocument(ctx, r)
		if err != nil {
			return provider.Updated{}, err
		}
		version = latest.DocumentVersion
	case err != nil:
		return provider.Updated{}, err
	default:
		version = out.DocumentDescription.DocumentVersion
	}
	if err := documentActive.Wait(ctx, r); err != nil {
		return provider.Updated{}, err
	}
	_, err = ssmClient(r.Session).UpdateDocumentDefaultVersion(ctx, &ssm.UpdateDocumentDefaultVersionInput{Name: &r.PhysicalID, DocumentVersion: version})
	return provider.Updated{}, err
}
