package awssdk

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/scheduler/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func schedulerClient(s *provider.Session) *scheduler.Client {
	return provider.Client(s, scheduler.NewFromConfig)
}

func schedulerResources() []provider.Resource {
	return []provider.Resource{schedule(), scheduleGroup()}
}

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

var createScheduleGroupInput = provider.Bind[scheduler.CreateScheduleGroupInput](provider.Token("ClientToken"))

// A group is known by its name. Its schedules go with it, by and by.
func scheduleGroup() provider.Resource {
	get := func(ctx context.Context, r *provider.Request) (*scheduler.GetScheduleGroupOutput, error) {
		return schedulerClient(r.Session).GetScheduleGroup(ctx, &scheduler.GetScheduleGroupInput{Name: &r.PhysicalID})
	}
	groupARN := func(r *provider.Request) *string {
		return aws.String(arn(r, "scheduler", "schedule-group/"+r.PhysicalID))
	}
	k := composite{"Name"}
	return keyed(k, provider.Resource{
		Type:   "AWS::Scheduler::ScheduleGroup",
		Name:   "Name",
		Inputs: []provider.Input{createScheduleGroupInput},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := schedulerClient(r.Session).TagResource(ctx, &scheduler.TagResourceInput{
					ResourceArn: groupARN(r), Tags: tagSlice(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} }),
				})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := schedulerClient(r.Session).UntagResource(ctx, &scheduler.UntagResourceInput{ResourceArn: groupARN(r), TagKeys: keys})
				return err
			},
		},
		Create: k.made(provider.Call(schedulerClient, (*scheduler.Client).CreateScheduleGroup, createScheduleGroupInput)),
		Delete: provider.Call(schedulerClient, (*scheduler.Client).DeleteScheduleGroup, byID[scheduler.DeleteScheduleGroupInput]("Name")),
		DeleteWait: &provider.Waiter{What: "the schedule group to be gone", Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
			out, err := get(ctx, r)
			if err != nil {
				return "", "", err
			}
			return string(out.State), "", nil
		}},
		Gone: []string{"ResourceNotFoundException"},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Arn", *groupARN(r))
		},
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := get(ctx, r)
			if err != nil {
				return nil, err
			}
			return value.NewObject("Arn", aws.ToString(out.Arn), "State", string(out.State),
				"CreationDate", aws.ToTime(out.CreationDate).UTC().Format(time.RFC3339), "LastModificationDate", aws.ToTime(out.LastModificationDate).UTC().Format(time.RFC3339)), nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := get(ctx, r)
			if err != nil {
				return nil, err
			}
			labels, err := schedulerClient(r.Session).ListTagsForResource(ctx, &scheduler.ListTagsForResourceInput{ResourceArn: out.Arn})
			if err != nil {
				return nil, err
			}
			props := value.NewObject("Name", aws.ToString(out.Name))
			if tags := tagList(tagMap(labels.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })); len(tags) > 0 {
				props.Set("Tags", tags)
			}
			return props, nil
		},
	})
}
