package awssdk

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/wafv2"
	"github.com/aws/aws-sdk-go-v2/service/wafv2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func wafClient(s *provider.Session) *wafv2.Client { return provider.Client(s, wafv2.NewFromConfig) }

func wafOnce(s *provider.Session) *wafv2.Client { return provider.OnceClient(s, wafv2.NewFromConfig) }

func wafResources() []provider.Resource { return []provider.Resource{webACL()} }

var (
	createWebACLInput = provider.Bind[wafv2.CreateWebACLInput](wafRules)
	updateWebACLInput = provider.Bind[wafv2.UpdateWebACLInput](wafRules)
	wafRules          = provider.Custom("Rules", func(v any) ([]types.Rule, error) {
		plain, err := withPlainSearches(v)
		if err != nil {
			return nil, err
		}
		holder, err := ruleList(value.NewObject("Rules", plain))
		return holder.Rules, err
	})
	ruleList = provider.Shape[struct{ Rules []types.Rule }](asIs, provider.TextBytes())
)

// withPlainSearches puts what a statement searches for, wherever it is nested,
// in the one place that the API has for it.
func withPlainSearches(v any) (any, error) {
	var err error
	each := func(v any) any {
		var failed error
		if v, failed = withPlainSearches(v); failed != nil {
			err = failed
		}
		return v
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = each(e)
		}
		return out, err
	case *value.Object:
		o := value.NewObject()
		for k, m := range v.All() {
			if k != "SearchStringBase64" {
				o.Set(k, each(m))
				continue
			}
			decoded, err := base64.StdEncoding.DecodeString(text(v, k))
			if err != nil {
				return nil, fmt.Errorf("SearchStringBase64: %w", err)
			}
			o.Set("SearchString", string(decoded))
		}
		return o, err
	}
	return v, nil
}

// webACLOf splits an ARN, by which a web ACL is known:
// arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/name/id
func webACLOf(r *provider.Request) (name, id *string, scope types.Scope) {
	parts := strings.Split(r.PhysicalID, "/")
	if len(parts) != 4 {
		return optional(text(r.Properties, "Name")), &r.PhysicalID, types.Scope(text(r.Properties, "Scope"))
	}
	scope = types.ScopeRegional
	if strings.HasSuffix(parts[0], ":global") {
		scope = types.ScopeCloudfront
	}
	return &parts[2], &parts[3], scope
}

func getWebACL(ctx context.Context, r *provider.Request) (*wafv2.GetWebACLOutput, error) {
	name, id, scope := webACLOf(r)
	return wafClient(r.Session).GetWebACL(ctx, &wafv2.GetWebACLInput{Name: name, Id: id, Scope: scope})
}

// unlocked makes a change that needs a token of the state that it changes, once
// more when somebody else was quicker.
func unlocked(ctx context.Context, r *provider.Request, change func(token *string) error) error {
	for n := 1; ; n++ {
		acl, err := getWebACL(ctx, r)
		if err != nil {
			return err
		}
		if err := change(acl.LockToken); n == 5 || !provider.HasCode(err, "WAFOptimisticLockException") {
			return err
		}
	}
}

// A web ACL is known by its ARN; a name is unique in its scope. One for
// CloudFront is made in us-east-1.
func webACL() provider.Resource {
	return provider.Resource{
		Type:    "AWS::WAFv2::WebACL",
		Name:    "Name",
		Inputs:  []provider.Input{createWebACLInput},
		Updates: []provider.Input{updateWebACLInput},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := wafClient(r.Session).TagResource(ctx, &wafv2.TagResourceInput{
					ResourceARN: &r.PhysicalID, Tags: tagSlice(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} }),
				})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := wafClient(r.Session).UntagResource(ctx, &wafv2.UntagResourceInput{ResourceARN: &r.PhysicalID, TagKeys: keys})
				return err
			},
		},
		Create: createBy(wafOnce, (*wafv2.Client).CreateWebACL, createWebACLInput, func(o *wafv2.CreateWebACLOutput) *string { return o.Summary.ARN }),
		// The update is of the whole.
		Update: func(ctx context.Context, r *provider.Request, _ provider.Diff) (provider.Updated, error) {
			in, err := updateWebACLInput.Input(r)
			if err != nil {
				return provider.Updated{}, err
			}
			in.Name, in.Id, in.Scope = webACLOf(r)
			return provider.Updated{}, unlocked(ctx, r, func(token *string) error {
				in.LockToken = token
				_, err := wafClient(r.Session).UpdateWebACL(ctx, in)
				return err
			})
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			name, id, scope := webACLOf(r)
			return unlocked(ctx, r, func(token *string) error {
				_, err := wafClient(r.Session).DeleteWebACL(ctx, &wafv2.DeleteWebACLInput{Name: name, Id: id, Scope: scope, LockToken: token})
				return err
			})
		},
		Gone: []string{"WAFNonexistentItemException"},
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			in := &wafv2.ListWebACLsInput{Scope: types.Scope(text(r.Properties, "Scope"))}
			for {
				out, err := wafClient(r.Session).ListWebACLs(ctx, in)
				if err != nil {
					return nil, err
				}
				for _, acl := range out.WebACLs {
					if aws.ToString(acl.Name) == text(r.Properties, "Name") {
						tags, err := wafTags(ctx, r, acl.ARN)
						return &provider.Holder{PhysicalID: aws.ToString(acl.ARN), Tags: tags}, err
					}
				}
				if in.NextMarker = out.NextMarker; aws.ToString(in.NextMarker) == "" {
					return nil, nil
				}
			}
		}),
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := getWebACL(ctx, r)
			if err != nil {
				return nil, err
			}
			acl := out.WebACL
			o := value.NewObject("Arn", aws.ToString(acl.ARN), "Id", aws.ToString(acl.Id), "Capacity", value.Int(acl.Capacity))
			set(o, "LabelNamespace", acl.LabelNamespace)
			return o, nil
		},
		Identifier: func(r *provider.Request) string {
			name, id, scope := webACLOf(r)
			return aws.ToString(name) + "|" + aws.ToString(id) + "|" + string(scope)
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := getWebACL(ctx, r)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			props := provider.Unbind(out.WebACL, shape)
			_, _, scope := webACLOf(r)
			props.Set("Scope", string(scope))
			tags, err := wafTags(ctx, r, &r.PhysicalID)
			if err != nil {
				return nil, err
			}
			if tags := tagList(tags); len(tags) > 0 {
				props.Set("Tags", tags)
			}
			return props, nil
		},
	}
}

func wafTags(ctx context.Context, r *provider.Request, of *string) (map[string]string, error) {
	tags := map[string]string{}
	in := &wafv2.ListTagsForResourceInput{ResourceARN: of}
	for {
		out, err := wafClient(r.Session).ListTagsForResource(ctx, in)
		if err != nil {
			return nil, err
		}
		if out.TagInfoForResource != nil {
			for _, t := range out.TagInfoForResource.TagList {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
		}
		if in.NextMarker = out.NextMarker; aws.ToString(in.NextMarker) == "" {
			return tags, nil
		}
	}
}
