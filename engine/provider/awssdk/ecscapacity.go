package awssdk

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

var (
	putAssociationsInput   = provider.Bind[ecs.PutClusterCapacityProvidersInput](provider.Skip("Cluster"), provider.ID("Cluster"), neitherNil)
	clearAssociationsInput = provider.Bind[ecs.PutClusterCapacityProvidersInput](provider.Only(), provider.ID("Cluster"), neitherNil)
)

// clusterAttached waits for the capacity providers of a cluster to be attached to
// it or detached: it takes no other change of them meanwhile.
var clusterAttached = &provider.Waiter{
	From: provider.WaitNone, What: "the cluster's capacity providers to be attached",
	OK: []string{"", "UPDATE_COMPLETE"}, Failed: []string{"UPDATE_FAILED"},
	First: 500 * time.Millisecond, Cap: 5 * time.Second, Timeout: 10 * time.Minute,
	Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		c, err := describeCapacity(ctx, r)
		if err != nil {
			return "", "", err
		}
		return aws.ToString(c.AttachmentsStatus), "", nil
	},
}

func describeCapacity(ctx context.Context, r *provider.Request) (*types.Cluster, error) {
	out, err := ecsClient(r.Session).DescribeClusters(ctx, &ecs.DescribeClustersInput{Clusters: []string{r.PhysicalID}, Include: []types.ClusterField{types.ClusterFieldAttachments}})
	if err != nil {
		return nil, err
	}
	return described(out.Clusters, nil, nil)
}

// The capacity providers of a cluster are one setting, which a call puts whole.
// A cluster that has some was given them by something else.
func capacityAssociations() provider.Resource {
	put := func(ctx context.Context, r *provider.Request, in *provider.Binding[ecs.PutClusterCapacityProvidersInput]) error {
		return whenSettled(ctx, r, clusterAttached, "UpdateInProgressException", func() error {
			_, err := provider.Invoke(ctx, r, ecsClient, (*ecs.Client).PutClusterCapacityProviders, in)
			return err
		})
	}
	read := func(ctx context.Context, r *provider.Request) (*value.Object, error) {
		c, err := describeCapacity(ctx, r)
		if err != nil {
			return nil, err
		}
		if len(c.CapacityProviders)+len(c.DefaultCapacityProviderStrategy) == 0 {
			return nil, provider.ErrNotFound
		}
		shape, _ := schema.Lookup(r.Type)
		props := provider.Unbind(c, shape)
		props.Set("Cluster", r.PhysicalID)
		return props, nil
	}
	return provider.Resource{
		Type:    "AWS::ECS::ClusterCapacityProviderAssociations",
		Inputs:  []provider.Input{putAssociationsInput},
		Updates: []provider.Input{putAssociationsInput},
		Handled: []string{"Cluster"},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			named := *r
			named.PhysicalID = text(r.Properties, "Cluster")
			now, err := describeCapacity(ctx, &named)
			if err != nil {
				return provider.Created{}, err
			}
			wanted, err := putAssociationsInput.Input(&named)
			if err != nil {
				return provider.Created{}, err
			}
			// Those of an earlier attempt are the wanted ones.
			if len(less(now.CapacityProviders, wanted.CapacityProviders)) > 0 ||
				len(now.DefaultCapacityProviderStrategy) > 0 && !reflect.DeepEqual(now.DefaultCapacityProviderStrategy, wanted.DefaultCapacityProviderStrategy) {
				return provider.Created{}, fmt.Errorf("cluster %s has capacity providers already, which this stack did not put: take them off the cluster first, or import %s", named.PhysicalID, r.LogicalID)
			}
			if err := put(ctx, &named, putAssociationsInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: named.PhysicalID}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			return provider.Updated{}, put(ctx, r, putAssociationsInput)
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			return put(ctx, r, clearAssociationsInput)
		},
		Gone: []string{clusterGone},
		Wait: clusterAttached,
		Read: read,
	}
}
