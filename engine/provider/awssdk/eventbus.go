package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var (
	createBusInput = provider.Bind[eventbridge.CreateEventBusInput](provider.Skip("Policy"))
	updateBusInput = provider.Bind[eventbridge.UpdateEventBusInput](provider.ID("Name"), provider.Skip("Policy"),
		provider.Clear{"Description": "", "KmsKeyIdentifier": "", "DeadLetterConfig": &value.Object{}})
)

// An event bus is known by its name. Its rules are other resources and go
// first.
func eventBus() provider.Resource {
	return provider.Resource{
		Type:    "AWS::Events::EventBus",
		Name:    "Name",
		Inputs:  []provider.Input{createBusInput},
		Updates: []provider.Input{updateBusInput},
		Satellites: []provider.Satellite{{
			Properties: []string{"Policy"},
			Put: func(ctx context.Context, r *provider.Request) error {
				policy := document(r.Properties, "Policy")
				_, err := eventsClient(r.Session).PutPermission(ctx, &eventbridge.PutPermissionInput{EventBusName: &r.PhysicalID, Policy: &policy})
				return err
			},
			Reset: func(ctx context.Context, r *provider.Request) error {
				_, err := eventsClient(r.Session).RemovePermission(ctx, &eventbridge.RemovePermissionInput{
					EventBusName: &r.PhysicalID, RemoveAllPermissions: true,
				})
				return err
			},
		}},
		Tags: eventsTags(),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, eventsOnce, (*eventbridge.Client).CreateEventBus, createBusInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: text(r.Properties, "Name")}, nil
		},
		Update: updateBy(eventsClient, (*eventbridge.Client).UpdateEventBus, updateBusInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := eventsClient(r.Session).DeleteEventBus(ctx, &eventbridge.DeleteEventBusInput{Name: &r.PhysicalID})
			return err
		},
		Gone: eventsGone,
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			id := arn(r, "events", "event-bus/"+text(r.Properties, "Name"))
			out, err := eventsClient(r.Session).ListTagsForResource(ctx, &eventbridge.ListTagsForResourceInput{ResourceARN: &id})
			if provider.HasCode(err, eventsGone...) {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
			return &provider.Holder{PhysicalID: text(r.Properties, "Name"), Tags: tagMap(out.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })}, nil
		}),
		Known: func(r *provider.Request) *value.Object {
			name := r.PhysicalID
			if name == "" {
				name = r.Name
			}
			return value.NewObject("Arn", arn(r, "events", "event-bus/"+name), "Name", name)
		},
	}
}
