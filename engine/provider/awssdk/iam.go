package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func iamClient(s *provider.Session) *iam.Client {
	return provider.Client(s, iam.NewFromConfig, patient)
}

func iamOnce(s *provider.Session) *iam.Client { return provider.OnceClient(s, iam.NewFromConfig) }

// patient lets a client repeat what IAM refuses because policies of one
// principal are changed side by side, as they are here.
func patient(o *iam.Options) {
	o.Retryer = retry.AddWithErrorCodes(o.Retryer, "ConcurrentModification", "ConcurrentModificationException")
}

// ownerOf returns the tags by which a find tells whose a resource is.
func ownerOf(tags []types.Tag) map[string]string {
	return tagMap(tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })
}

func iamResources() []provider.Resource {
	return []provider.Resource{role(), inlinePolicy(), managedPolicy(), instanceProfile(), user(), group(), userToGroup(), accessKey(), oidcProvider(), serviceLinkedRole()}
}

const noSuchEntity = "NoSuchEntity"

var iamGone = []string{noSuchEntity, "NoSuchEntityException"}

// ifThere drops the error that says that something is gone already.
func ifThere(err error) error {
	if provider.HasCode(err, iamGone...) {
		return nil
	}
	return err
}

// iamPath is the Path property as it stands in ARNs.
func iamPath(r *provider.Request) string {
	if p := text(r.Properties, "Path"); p != "" {
		return p
	}
	return "/"
}

// knownARN gives the ARN of a role, user, group or profile: the recorded one,
// which is right also for what was imported from another path.
func knownARN(kind string) func(*provider.Request) *value.Object {
	return func(r *provider.Request) *value.Object {
		if recorded, ok := r.Attributes.Get("Arn"); ok && !pathChanged(r) {
			return value.NewObject("Arn", recorded)
		}
		if r.PhysicalID == "" && pending(r, "Path") {
			return nil
		}
		name := r.PhysicalID
		if name == "" {
			name = r.Name
		}
		return value.NewObject("Arn", globalARN(r, "iam", kind+iamPath(r)+name))
	}
}

func pathChanged(r *provider.Request) bool {
	return r.Previous != nil && !value.Equal(r.Previous.Value("Path"), r.Properties.Value("Path"))
}

func iamTags(tags map[string]string) []types.Tag {
	var out []types.Tag
	for k, v := range tags {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	return out
}

// onEach calls do for each principal that a policy resource names.
func onEach(ctx context.Context, props *value.Object, do func(ctx context.Context, p principal, name string) error) error {
	type named struct {
		kind principal
		name string
	}
	var all []named
	for _, kind := range []principal{roles, users, groups} {
		for _, name := range texts(props, kind.property) {
			all = append(all, named{kind, name})
		}
	}
	return forEach(ctx, all, func(ctx context.Context, n named) error { return do(ctx, n.kind, n.name) })
}

// removed returns the principals that the old properties name and the new do
// not, as properties.
func removed(old, new *value.Object) *value.Object {
	out := &value.Object{}
	for _, kind := range []principal{roles, users, groups} {
		out.Set(kind.property, list(less(texts(old, kind.property), texts(new, kind.property))))
	}
	return out
}

// An AWS::IAM::Policy is no resource of its own: it is the same inline policy
// on each of the principals that it names. It is known by the policy's name.
func inlinePolicy() provider.Resource {
	put := func(ctx context.Context, r *provider.Request) error {
		name, d := text(r.Properties, "PolicyName"), document(r.Properties, "PolicyDocument")
		return onEach(ctx, r.Properties, func(ctx context.Context, p principal, on string) error {
			return p.put(ctx, iamClient(r.Session), on, name, d)
		})
	}
	remove := func(ctx context.Context, r *provider.Request, from *value.Object) error {
		return onEach(ctx, from, func(ctx context.Context, p principal, on string) error {
			return p.remove(ctx, iamClient(r.Session), on, r.PhysicalID)
		})
	}
	return provider.Resource{
		Type:  "AWS::IAM::Policy",
		PutOn: []string{"Roles", "Users", "Groups"},
		Name:  "PolicyName",
		Satellites: []provider.Satellite{{
			Properties: []string{"PolicyDocument", "Roles", "Users", "Groups"},
			Put: func(ctx context.Context, r *provider.Request) error {
				if err := put(ctx, r); err != nil {
					return err
				}
				return remove(ctx, r, removed(r.Previous, r.Properties))
			},
		}},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			return provider.Created{PhysicalID: text(r.Properties, "PolicyName")}, nil
		},
		// A new name is a new policy; the old one goes when the engine deletes what
		// was replaced.
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			return provider.Updated{PhysicalID: text(r.Properties, "PolicyName")}, put(ctx, r)
		},
		Adopt:  adoptedBy(func(r *provider.Request) string { return text(r.Properties, "PolicyName") }),
		Delete: func(ctx context.Context, r *provider.Request) error { return remove(ctx, r, r.Properties) },
		Gone:   iamGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Id", r.PhysicalID)
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			props := value.NewObject("PolicyName", r.PhysicalID)
			for _, kind := range []principal{roles, users, groups} {
				var on []string
				for _, name := range texts(r.Properties, kind.property) {
					d, err := kind.read(ctx, iamClient(r.Session), name, r.PhysicalID)
					if provider.HasCode(err, iamGone...) {
						continue
					} else if err != nil {
						return nil, err
					}
					on = append(on, name)
					props.Set("PolicyDocument", documentOf(d))
				}
				if len(on) > 0 {
					props.Set(kind.property, list(on))
				}
			}
			if !props.Has("PolicyDocument") {
				return nil, provider.ErrNotFound
			}
			return props, nil
		},
		SDKOnly: "its physical id is the policy's name, by which Cloud Control cannot find it",
	}
}
