package awssdk

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	cloudmap "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	"github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func cloudMapClient(s *provider.Session) *cloudmap.Client {
	return provider.Client(s, cloudmap.NewFromConfig)
}

func cloudMapResources() []provider.Resource {
	return []provider.Resource{privateNamespace(), publicNamespace(), httpNamespace(), discoveryService()}
}

func cloudMapTags(kind string) provider.Tags {
	of := func(r *provider.Request) *string {
		return aws.String(arn(r, "servicediscovery", kind+"/"+r.PhysicalID))
	}
	return provider.Tags{
		Property: "Tags", AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			_, err := cloudMapClient(r.Session).TagResource(ctx, &cloudmap.TagResourceInput{
				ResourceARN: of(r), Tags: tagSlice(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} }),
			})
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			_, err := cloudMapClient(r.Session).UntagResource(ctx, &cloudmap.UntagResourceInput{ResourceARN: of(r), TagKeys: keys})
			return err
		},
	}
}

// cloudMapProps returns what a get gave as properties.
func cloudMapProps(ctx context.Context, r *provider.Request, from any, of *string, opts ...provider.Option) (*value.Object, error) {
	shape, _ := schema.Lookup(r.Type)
	props := provider.Unbind(from, shape, opts...)
	out, err := cloudMapClient(r.Session).ListTagsForResource(ctx, &cloudmap.ListTagsForResourceInput{ResourceARN: of})
	if err != nil {
		return nil, err
	}
	if tags := tagList(tagMap(out.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })); len(tags) > 0 {
		props.Set("Tags", tags)
	}
	return props, nil
}

// finished waits for the end of an operation, and returns what it was about.
func finished(ctx context.Context, r *provider.Request, operation *string) (target string, err error) {
	w := provider.Waiter{
		What: "Cloud Map's operation " + aws.ToString(operation), OK: []string{string(types.OperationStatusSuccess)}, Failed: []string{string(types.OperationStatusFail)},
		First: time.Second, Cap: 5 * time.Second,
		Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
			out, err := cloudMapClient(r.Session).GetOperation(ctx, &cloudmap.GetOperationInput{OperationId: operation})
			if err != nil {
				return "", "", err
			}
			for _, id := range out.Operation.Targets {
				target = id
			}
			return string(out.Operation.Status), aws.ToString(out.Operation.ErrorMessage), nil
		},
	}
	return target, w.Wait(ctx, r)
}

// begun is the operation that a create began: now, or when it was sent before.
func begun(operation *string, err error) (*string, error) {
	if duplicate, ok := errors.AsType[*types.DuplicateRequest](err); ok && duplicate.DuplicateOperationId != nil {
		return duplicate.DuplicateOperationId, nil
	}
	return operation, err
}

func getNamespace(ctx context.Context, r *provider.Request) (*types.Namespace, error) {
	out, err := cloudMapClient(r.Session).GetNamespace(ctx, &cloudmap.GetNamespaceInput{Id: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	return out.Namespace, nil
}

// namespace is what all kinds of namespaces share. One is known by its id, which
// only the operation that made it tells. Services must be gone before it.
func namespace(typ string, create, change provider.Input, begin, alter func(ctx context.Context, r *provider.Request) (operation *string, err error)) provider.Resource {
	return provider.Resource{
		Type:    typ,
		Inputs:  []provider.Input{create},
		Updates: []provider.Input{change},
		Tags:    cloudMapTags("namespace"),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			operation, err := begun(begin(ctx, r))
			// Sent before, and answered when nobody heard it any more.
			if taken, ok := errors.AsType[*types.NamespaceAlreadyExists](err); ok && r.Token != "" && aws.ToString(taken.CreatorRequestId) == r.Token && taken.NamespaceId != nil {
				return provider.Created{PhysicalID: *taken.NamespaceId}, nil
			}
			if err != nil {
				return provider.Created{}, err
			}
			id, err := finished(ctx, r, operation)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: id}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, _ provider.Diff) (provider.Updated, error) {
			operation, err := alter(ctx, r)
			if err == nil {
				_, err = finished(ctx, r, operation)
			}
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			out, err := cloudMapClient(r.Session).DeleteNamespace(ctx, &cloudmap.DeleteNamespaceInput{Id: &r.PhysicalID})
			if err == nil {
				_, err = finished(ctx, r, out.OperationId)
			}
			return err
		},
		Gone: []string{"NamespaceNotFound"},
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			n, err := getNamespace(ctx, r)
			if err != nil {
				return nil, err
			}
			o := value.NewObject("Id", aws.ToString(n.Id), "Arn", aws.ToString(n.Arn))
			if p := n.Properties; p != nil && p.DnsProperties != nil {
				set(o, "HostedZoneId", p.DnsProperties.HostedZoneId)
			}
			return o, nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			n, err := getNamespace(ctx, r)
			if err != nil {
				return nil, err
			}
			props, err := cloudMapProps(ctx, r, n, n.Arn)
			if err == nil && r.Properties.Has("Vpc") {
				props.Set("Vpc", r.Properties.Value("Vpc")) // Cloud Map does not tell
			}
			return props, err
		},
	}
}

var (
	createPrivateInput = provider.Bind[cloudmap.CreatePrivateDnsNamespaceInput](provider.Token("CreatorRequestId"))
	updatePrivateInput = provider.Bind[cloudmap.UpdatePrivateDnsNamespaceInput](provider.ID("Id"), inNamespace)
	createPublicInput  = provider.Bind[cloudmap.CreatePublicDnsNamespaceInput](provider.Token("CreatorRequestId"))
	updatePublicInput  = provider.Bind[cloudmap.UpdatePublicDnsNamespaceInput](provider.ID("Id"), inNamespace)
	createHTTPInput    = provider.Bind[cloudmap.CreateHttpNamespaceInput](provider.Token("CreatorRequestId"))
	updateHTTPInput    = provider.Bind[cloudmap.UpdateHttpNamespaceInput](provider.ID("Id"), provider.Rename{"Description": "Namespace.Description"}, provider.Clear{"Description": ""})
	inNamespace        = provider.Options(
		provider.Rename{"Description": "Namespace.Description", "Properties": "Namespace.Properties"},
		provider.Clear{"Description": "", "Properties": value.NewObject("DnsProperties", value.NewObject("SOA", value.NewObject("TTL", "15")))})
)

func privateNamespace() provider.Resource {
	return namespace("AWS::ServiceDiscovery::PrivateDnsNamespace", createPrivateInput, updatePrivateInput,
		operation((*cloudmap.Client).CreatePrivateDnsNamespace, createPrivateInput, func(o *cloudmap.CreatePrivateDnsNamespaceOutput) *string { return o.OperationId }),
		operation((*cloudmap.Client).UpdatePrivateDnsNamespace, updatePrivateInput, func(o *cloudmap.UpdatePrivateDnsNamespaceOutput) *string { return o.OperationId }))
}

func publicNamespace() provider.Resource {
	return namespace("AWS::ServiceDiscovery::PublicDnsNamespace", createPublicInput, updatePublicInput,
		operation((*cloudmap.Client).CreatePublicDnsNamespace, createPublicInput, func(o *cloudmap.CreatePublicDnsNamespaceOutput) *string { return o.OperationId }),
		operation((*cloudmap.Client).UpdatePublicDnsNamespace, updatePublicInput, func(o *cloudmap.UpdatePublicDnsNamespaceOutput) *string { return o.OperationId }))
}

func httpNamespace() provider.Resource {
	return namespace("AWS::ServiceDiscovery::HttpNamespace", createHTTPInput, updateHTTPInput,
		operation((*cloudmap.Client).CreateHttpNamespace, createHTTPInput, func(o *cloudmap.CreateHttpNamespaceOutput) *string { return o.OperationId }),
		operation((*cloudmap.Client).UpdateHttpNamespace, updateHTTPInput, func(o *cloudmap.UpdateHttpNamespaceOutput) *string { return o.OperationId }))
}

// operation sends a call that answers with the id of what goes on then.
func operation[In, Out any](op provider.Operation[cloudmap.Client, In, Out, cloudmap.Options], in *provider.Binding[In], id func(*Out) *string) func(context.Context, *provider.Request) (*string, error) {
	return func(ctx context.Context, r *provider.Request) (*string, error) {
		out, err := provider.Invoke(ctx, r, cloudMapClient, op, in)
		if err != nil {
			return nil, err
		}
		return id(out), nil
	}
}

var (
	createDiscoveryInput = provider.Bind[cloudmap.CreateServiceInput](provider.Token("CreatorRequestId"))
	updateDiscoveryInput = provider.Bind[cloudmap.UpdateServiceInput](provider.ID("Id"),
		provider.Rename{"Description": "Service.Description", "DnsConfig": "Service.DnsConfig", "HealthCheckConfig": "Service.HealthCheckConfig"},
		provider.Clear{"Description": ""})
	discoveryAttributes = provider.Bind[cloudmap.UpdateServiceAttributesInput](provider.ID("ServiceId"), provider.Only("ServiceAttributes"), provider.Rename{"ServiceAttributes": "Attributes"})
)

func getDiscovery(ctx context.Context, r *provider.Request) (*types.Service, error) {
	out, err := cloudMapClient(r.Session).GetService(ctx, &cloudmap.GetServiceInput{Id: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	return out.Service, nil
}

// A service is known by its id. A create that is sent again is refused, with the
// id that the first made.
func discoveryService() provider.Resource {
	return provider.Resource{
		Type:    "AWS::ServiceDiscovery::Service",
		Inputs:  []provider.Input{createDiscoveryInput},
		Updates: []provider.Input{updateDiscoveryInput},
		Tags:    cloudMapTags("service"),
		Satellites: []provider.Satellite{{
			Properties: []string{"ServiceAttributes"}, Input: discoveryAttributes,
			Put: func(ctx context.Context, r *provider.Request) error {
				if err := dropDiscoveryAttributes(ctx, r); err != nil {
					return err
				}
				_, err := provider.Invoke(ctx, r, cloudMapClient, (*cloudmap.Client).UpdateServiceAttributes, discoveryAttributes)
				return err
			},
			Reset: dropDiscoveryAttributes,
		}},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, cloudMapClient, (*cloudmap.Client).CreateService, createDiscoveryInput)
			if taken, ok := errors.AsType[*types.ServiceAlreadyExists](err); ok && r.Token != "" && aws.ToString(taken.CreatorRequestId) == r.Token {
				return provider.Created{PhysicalID: aws.ToString(taken.ServiceId)}, nil
			}
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: aws.ToString(out.Service.Id)}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, _ provider.Diff) (provider.Updated, error) {
			out, err := provider.Invoke(ctx, r, cloudMapClient, (*cloudmap.Client).UpdateService, updateDiscoveryInput)
			if err == nil {
				_, err = finished(ctx, r, out.OperationId)
			}
			return provider.Updated{}, err
		},
		Delete: provider.Call(cloudMapClient, (*cloudmap.Client).DeleteService, byID[cloudmap.DeleteServiceInput]("Id")),
		Gone:   []string{"ServiceNotFound"},
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			s, err := getDiscovery(ctx, r)
			if err != nil {
				return nil, err
			}
			return value.NewObject("Id", aws.ToString(s.Id), "Arn", aws.ToString(s.Arn), "Name", aws.ToString(s.Name)), nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			s, err := getDiscovery(ctx, r)
			if err != nil {
				return nil, err
			}
			props, err := cloudMapProps(ctx, r, s, s.Arn)
			if err != nil || !r.Properties.Has("ServiceAttributes") {
				return props, err
			}
			out, err := cloudMapClient(r.Session).GetServiceAttributes(ctx, &cloudmap.GetServiceAttributesInput{ServiceId: &r.PhysicalID})
			if err != nil {
				return nil, err
			}
			attributes := value.NewObject()
			for k, v := range out.ServiceAttributes.Attributes {
				attributes.Set(k, v)
			}
			props.Set("ServiceAttributes", attributes)
			return props, nil
		},
	}
}

// dropDiscoveryAttributes takes away those that are no longer named.
func dropDiscoveryAttributes(ctx context.Context, r *provider.Request) error {
	wanted := r.Properties.Object("ServiceAttributes")
	var gone []string
	for name := range r.Previous.Object("ServiceAttributes").All() {
		if !wanted.Has(name) {
			gone = append(gone, name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	_, err := cloudMapClient(r.Session).DeleteServiceAttributes(ctx, &cloudmap.DeleteServiceAttributesInput{ServiceId: &r.PhysicalID, Attributes: gone})
	return err
}
