package cloudcontrol

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// ErrUntold says that who made a resource cannot be told for its type: it takes
// no tags, or there are too many of its kind to look at.
var ErrUntold = errors.New("its type does not tell who made one")

// mostOwned is how many resources of a type are looked at for their tags.
const mostOwned = 1000

// FindOwned looks among all resources of the type for the one that carries the
// request's ownership tag: what the create with it made. "" is nothing.
func (p *Provider) FindOwned(ctx context.Context, r *provider.Request) (identifier string, err error) {
	typ, ok := schema.Lookup(r.Type)
	if !ok || typ.TagProperty == "" || r.OwnerTag == "" {
		return "", ErrUntold
	}
	pages := cloudcontrol.NewListResourcesPaginator(client(r), &cloudcontrol.ListResourcesInput{TypeName: &r.Type})
	for seen := 0; pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", fmt.Errorf("list the resources of type %s: %w", r.Type, err)
		}
		if seen += len(page.ResourceDescriptions); seen > mostOwned {
			return "", ErrUntold
		}
		for _, d := range page.ResourceDescriptions {
			owner, err := p.owner(ctx, r, typ, d)
			if err != nil {
				return "", err
			}
			if owner == r.OwnerTag {
				return aws.ToString(d.Identifier), nil
			}
		}
	}
	return "", nil
}

// owner is the ownership tag of a listed resource. What a listing says of one
// may be no more than its identifier.
func (p *Provider) owner(ctx context.Context, r *provider.Request, typ *schema.Type, d types.ResourceDescription) (string, error) {
	props, err := value.ParseObject([]byte(aws.ToString(d.Properties)))
	if err != nil || !props.Has(typ.TagProperty) {
		out, err := client(r).GetResource(ctx, &cloudcontrol.GetResourceInput{TypeName: &r.Type, Identifier: d.Identifier})
		if errors.Is(gone(r, err), provider.ErrNotFound) {
			return "", nil // deleted since it was listed
		}
		if err != nil {
			return "", fmt.Errorf("read %s %s for its tags: %w", r.Type, aws.ToString(d.Identifier), err)
		}
		if out.ResourceDescription == nil {
			return "", nil
		}
		if props, err = value.ParseObject([]byte(aws.ToString(out.ResourceDescription.Properties))); err != nil {
			return "", fmt.Errorf("read %s %s for its tags: %w", r.Type, aws.ToString(d.Identifier), err)
		}
	}
	if tags, ok := props.Value(typ.TagProperty).(*value.Object); ok {
		owner, _ := value.Text(tags.Value(provider.OwnerTagKey))
		return owner, nil
	}
	return provider.TagMap(props.List(typ.TagProperty))[provider.OwnerTagKey], nil
}
