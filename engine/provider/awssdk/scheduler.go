package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func schedulerClient(s *provider.Session) *scheduler.Client {
	return provider.Client(s, scheduler.NewFromConfig)
}

func schedulerResources() []provider.Resource { return []provider.Resource{schedule()} }

var (
	createScheduleInput = provider.Bind[scheduler.CreateScheduleInput](provider.Token("ClientToken"))
	// An update is of the whole.
	updateScheduleInput = provider.Bind[scheduler.UpdateScheduleInput](provider.ID("Name"))
)

// A schedule is known by its name, which is unique in its group: every call
// names both. Cloud Control knows no groups.
func schedule() provider.Resource {
	group := func(r *provider.Request) *string { return optional(text(r.Properties, "GroupName")) }
	get := func(ctx context.Context, r *provider.Request) (*scheduler.GetScheduleOutput, error) {
		return schedulerClient(r.Session).GetSchedule(ctx, &scheduler.GetScheduleInput{Name: &r.PhysicalID, GroupName: group(r)})
	}
	return provider.Resource{
		Type:    "AWS::Scheduler::Schedule",
		Inputs:  []provider.Input{createScheduleInput},
		Updates: []provider.Input{updateScheduleInput},
		SDKOnly: "Cloud Control does not find schedules that are in a group",
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			in, err := createScheduleInput.Input(r)
			if err != nil {
				return provider.Created{}, err
			}
			if in.Name == nil { // it is nobody's but this stack's
				in.Name = aws.String(r.Stack.Name + "-" + r.LogicalID)
			}
			out, err := schedulerClient(r.Session).CreateSchedule(ctx, in)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *in.Name, Attributes: value.NewObject("Arn", aws.ToString(out.ScheduleArn))}, nil
		},
		Update: updateBy(schedulerClient, (*scheduler.Client).UpdateSchedule, updateScheduleInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := schedulerClient(r.Session).DeleteSchedule(ctx, &scheduler.DeleteScheduleInput{Name: &r.PhysicalID, GroupName: group(r)})
			return err
		},
		Gone: []string{"ResourceNotFoundException"},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := get(ctx, r)
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			return provider.Unbind(out, shape), nil
		},
	}
}
