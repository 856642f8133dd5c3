package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

var putHookInput = provider.Bind[autoscaling.PutLifecycleHookInput]()

// A lifecycle hook is known by its group and its name. A put keeps what it does
// not mention, so that a hook that loses something is made anew.
func lifecycleHook() provider.Resource {
	k := composite{"AutoScalingGroupName", "LifecycleHookName"}
	put := provider.Call(scalingClient, (*autoscaling.Client).PutLifecycleHook, putHookInput)
	remove := provider.Call(scalingClient, (*autoscaling.Client).DeleteLifecycleHook, provider.Bind[autoscaling.DeleteLifecycleHookInput]())
	read := func(ctx context.Context, r *provider.Request) (*value.Object, error) {
		out, err := scalingClient(r.Session).DescribeLifecycleHooks(ctx, &autoscaling.DescribeLifecycleHooksInput{
			AutoScalingGroupName: optional(text(r.Properties, "AutoScalingGroupName")), LifecycleHookNames: []string{text(r.Properties, "LifecycleHookName")},
		})
		if err != nil {
			return nil, err
		}
		if len(out.LifecycleHooks) == 0 {
			return nil, provider.ErrNotFound
		}
		shape, _ := schema.Lookup(r.Type)
		return provider.Unbind(out.LifecycleHooks[0], shape), nil
	}
	return keyed(k, provider.Resource{
		Type:    "AWS::AutoScaling::LifecycleHook",
		PutOn:   []string{"AutoScalingGroupName"},
		Name:    "LifecycleHookName",
		Inputs:  []provider.Input{putHookInput},
		Updates: []provider.Input{putHookInput},
		Create:  k.made(put),
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			for _, property := range d.Properties() {
				if d.Removed(property) {
					if err := remove(ctx, r); err != nil {
						return provider.Updated{}, err
					}
					break
				}
			}
			return provider.Updated{}, put(ctx, r)
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			// A hook that is not there is no code of its own when it is deleted.
			if _, err := read(ctx, r); err != nil {
				return err
			}
			return remove(ctx, r)
		},
		Gone: []string{"HookNotFound"},
		Read: read,
	})
}
