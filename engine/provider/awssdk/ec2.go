package awssdk

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func ec2Client(s *provider.Session) *ec2.Client { return provider.Client(s, ec2.NewFromConfig) }

// ec2Once is for the creates that take no client token.
func ec2Once(s *provider.Session) *ec2.Client { return provider.OnceClient(s, ec2.NewFromConfig) }

func ec2Resources() []provider.Resource {
	return []provider.Resource{
		vpc(), subnet(),
		internetGateway(), gatewayAttachment(), elasticIP(), natGateway(),
		routeTable(), route(), routeTableAssociation(),
		securityGroup(), groupRule(ingress), groupRule(egress),
		vpcEndpoint(), flowLog(),
		networkACL(), networkACLEntry(), networkACLAssociation(),
		egressOnlyGateway(), vpcCIDRBlock(),
		launchTemplate(), instance(),
	}
}

// bindTagged is provider.Bind for a create that takes its tags as the
// specification of what it makes.
func bindTagged[In any](kind types.ResourceType, opts ...provider.Option) *provider.Binding[In] {
	return provider.Bind[In](append(opts,
		provider.Rename{"Tags": "TagSpecifications"},
		provider.Custom("Tags", func(v any) ([]types.TagSpecification, error) { return specifyTags(kind, provider.TagMap(v)), nil }))...)
}

func specifyTags(kind types.ResourceType, tags map[string]string) []types.TagSpecification {
	if len(tags) == 0 {
		return nil // one without tags is refused
	}
	return []types.TagSpecification{{ResourceType: kind, Tags: ec2Tags(tags)}}
}

func ec2Tags(tags map[string]string) []types.Tag {
	var out []types.Tag
	for k, v := range tags {
		out = append(out, types.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	return out
}

// taggable are the tags of everything in EC2: they are changed by the id alone.
func taggable(id func(r *provider.Request) string) provider.Tags {
	return provider.Tags{
		Property: "Tags", AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			_, err := ec2Client(r.Session).CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id(r)}, Tags: ec2Tags(tags)})
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			in := &ec2.DeleteTagsInput{Resources: []string{id(r)}}
			for _, k := range keys {
				in.Tags = append(in.Tags, types.Tag{Key: aws.String(k)})
			}
			_, err := ec2Client(r.Session).DeleteTags(ctx, in)
			return err
		},
	}
}

func physicalID(r *provider.Request) string { return r.PhysicalID }

// findTagged is the Find of what is tagged when it is made. The tag names one
// create, so that the kind need not be asked for.
func findTagged(ctx context.Context, r *provider.Request) (string, error) {
	out, err := ec2Client(r.Session).DescribeTags(ctx, &ec2.DescribeTagsInput{Filters: []types.Filter{
		having("key", provider.OwnerTagKey), having("value", r.OwnerTag),
	}})
	if err != nil || len(out.Tags) == 0 {
		return "", err
	}
	return aws.ToString(out.Tags[0].ResourceId), nil
}

func having(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}

// shaped returns what a describe gave as properties of a type, tags apart.
func shaped(typ string, from any, tags []types.Tag, opts ...provider.Option) *value.Object {
	shape, _ := schema.Lookup(typ)
	props := provider.Unbind(from, shape, append(opts, provider.Skip("Tags"))...)
	if tags := templateTags(tags); len(tags) > 0 {
		props.Set("Tags", tags)
	}
	return props
}

func templateTags(tags []types.Tag) []any {
	return tagList(tagMap(tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value }))
}

// described is the answer of a describe by id: its one element, or that there
// is none.
func described[T any](list []T, err error, gone []string) (*T, error) {
	switch {
	case provider.HasCode(err, gone...):
		return nil, provider.ErrNotFound
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, provider.ErrNotFound
	}
	return &list[0], nil
}

// unsuccessful is the error in the answer of a call that takes many ids, of
// which there is one.
func unsuccessful(items []types.UnsuccessfulItem) error {
	for _, i := range items {
		if i.Error != nil {
			return &smithy.GenericAPIError{Code: aws.ToString(i.Error.Code), Message: aws.ToString(i.Error.Message)}
		}
	}
	return nil
}

// isTrue tells whether a boolean property, which may be text, is set.
func isTrue(o *value.Object, property string) bool {
	on, _ := strconv.ParseBool(text(o, property))
	return on
}

func boxedBool(on bool) *types.AttributeBooleanValue { return &types.AttributeBooleanValue{Value: &on} }

// optional is a pointer to the text, nil for none.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// set puts members that are not empty.
func set(o *value.Object, name string, s *string) {
	if aws.ToString(s) != "" {
		o.Set(name, *s)
	}
}

// unblocked deletes what other resources may be in the way of, as the code busy
// says: interfaces and addresses outlive what had them by up to some minutes.
// That is longer than the retries wait, which therefore do not follow.
func unblocked(ctx context.Context, r *provider.Request, busy string, remove func() error) error {
	beat := provider.Heartbeat{Of: r.LogicalID, What: "waiting for what depends on it to go"}
	for n := 1; ; n++ {
		err := remove()
		if !provider.HasCode(err, busy) {
			return err
		}
		if n == 12 {
			return retry.Terminal(err)
		}
		beat.Tell(r, busy)
		if err := provider.Sleep(ctx, r.Draining, min(time.Duration(n*n)*time.Second, 30*time.Second)); err != nil {
			return err
		}
	}
}

// withoutLambda deletes what Lambda's network interfaces, which outlive their
// function, may keep busy. Those that Lambda has let go of are deleted; for
// the others it takes up to half an hour.
func withoutLambda(ctx context.Context, r *provider.Request, filterName string, remove func() error) error {
	err := remove()
	if !provider.HasCode(err, "DependencyViolation") {
		return err
	}
	seen := false
	left := &provider.Waiter{
		What: "network interfaces that Lambda left behind in " + r.PhysicalID, OK: []string{"gone"},
		First: 5 * time.Second, Timeout: 30 * time.Minute,
		Read: func(ctx context.Context, r *provider.Request) (string, string, error) {
			c := ec2Client(r.Session)
			out, err := c.DescribeNetworkInterfaces(ctx, &ec2.DescribeNetworkInterfacesInput{Filters: []types.Filter{
				having(filterName, r.PhysicalID), having("description", "AWS Lambda VPC ENI*"),
			}})
			if err != nil || len(out.NetworkInterfaces) == 0 {
				return "gone", "", err
			}
			seen = true
			state := "gone"
			for _, n := range out.NetworkInterfaces {
				if n.Status != types.NetworkInterfaceStatusAvailable {
					state = "in use"
					continue
				}
				_, err := c.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: n.NetworkInterfaceId})
				if err != nil && !provider.HasCode(err, "InvalidNetworkInterfaceID.NotFound") {
					return "", "", err
				}
			}
			return state, "", nil
		},
	}
	if waited := left.Wait(ctx, r); waited != nil || !seen {
		return cmp.Or(waited, err)
	}
	return remove()
}
