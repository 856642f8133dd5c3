package awssdk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func eventsClient(s *provider.Session) *eventbridge.Client {
	return provider.Client(s, eventbridge.NewFromConfig)
}

func eventsOnce(s *provider.Session) *eventbridge.Client {
	return provider.OnceClient(s, eventbridge.NewFromConfig)
}

func eventsResources() []provider.Resource { return []provider.Resource{rule(), eventBus()} }

var eventsGone = []string{"ResourceNotFoundException"}

var (
	putRuleInput = provider.Bind[eventbridge.PutRuleInput](provider.JSON("EventPattern"))
	// A second PutRule takes no tags. What it leaves out is taken away.
	putRuleAgainInput = provider.Bind[eventbridge.PutRuleInput](provider.JSON("EventPattern"), provider.Skip("Tags"))
	putTargetsInput   = provider.Bind[eventbridge.PutTargetsInput](
		provider.Only("Targets"),
		provider.Rename{
			"Targets.EcsParameters.PlacementStrategies": "PlacementStrategy",
			"Targets.EcsParameters.TagList":             "Tags",
		})
)

// ruleName splits a rule's ARN, …:rule/[bus/]name, as the calls want it; the
// default bus is "".
func ruleName(id string) (name, bus string) {
	_, path, ok := strings.Cut(id, ":rule/")
	if !ok {
		path = id // imported by name
	}
	if i := strings.LastIndex(path, "/"); i >= 0 {
		return path[i+1:], path[:i]
	}
	return path, ""
}

// ruleOf returns the rule's name and bus for calls. The bus is the property
// where there is one: a partner's bus has slashes in its name, and another
// account's is an ARN.
func ruleOf(r *provider.Request) (name, bus *string) {
	n, b := ruleName(r.PhysicalID)
	if v := text(r.Properties, "EventBusName"); v != "" {
		b = v
	}
	if b == "" {
		return &n, nil
	}
	return &n, &b
}

// ruleARN builds the ARN of a rule that is still to be made.
func ruleARN(r *provider.Request) string {
	bus := text(r.Properties, "EventBusName")
	if _, name, ok := strings.Cut(bus, ":event-bus/"); ok {
		bus = name
	}
	if bus == "" || bus == "default" {
		return arn(r, "events", "rule/"+r.Name)
	}
	return arn(r, "events", "rule/"+bus+"/"+r.Name)
}

// A rule is known by its ARN. PutRule overwrites a rule of the same name.
func rule() provider.Resource {
	return provider.Resource{
		Type:       "AWS::Events::Rule",
		Name:       "Name",
		Inputs:     []provider.Input{putRuleInput},
		Updates:    []provider.Input{provider.Bind[eventbridge.PutRuleInput](provider.Skip("Name", "EventBusName", "Tags"))},
		Satellites: []provider.Satellite{{Properties: []string{"Targets"}, Input: putTargetsInput, Put: putTargets}},
		Tags:       eventsTags(),
		Create:     createBy(eventsClient, (*eventbridge.Client).PutRule, putRuleInput, func(o *eventbridge.PutRuleOutput) *string { return o.RuleArn }),
		Update:     updateBy(eventsClient, (*eventbridge.Client).PutRule, putRuleAgainInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			name, bus := ruleOf(r)
			return deleteRule(ctx, r, name, bus)
		},
		Gone:  eventsGone,
		Adopt: adoptRule,
		Lookup: func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			in := &eventbridge.DescribeRuleInput{Name: &r.Name}
			if bus := text(r.Properties, "EventBusName"); bus != "" {
				in.EventBusName = &bus
			}
			out, err := eventsClient(r.Session).DescribeRule(ctx, in)
			if provider.HasCode(err, eventsGone...) {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
			h := &provider.Holder{PhysicalID: aws.ToString(out.Arn)}
			tags, err := eventsClient(r.Session).ListTagsForResource(ctx, &eventbridge.ListTagsForResourceInput{ResourceARN: out.Arn})
			if err != nil {
				return withTags(h, nil, err)
			}
			return withTags(h, tagMap(tags.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value }), nil)
		},
		Known: func(r *provider.Request) *value.Object {
			id := r.PhysicalID
			if id == "" && pending(r, "EventBusName") {
				return nil
			}
			if id == "" {
				id = ruleARN(r)
			}
			name, _ := ruleName(id)
			return value.NewObject("Arn", id, "RuleName", name)
		},
	}
}

func eventsTags() provider.Tags {
	of := func(r *provider.Request) *string {
		if isARN(r.PhysicalID) {
			return &r.PhysicalID
		}
		return aws.String(arn(r, "events", "event-bus/"+r.PhysicalID))
	}
	return provider.Tags{
		Property: "Tags", AtCreate: true,
		Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
			in := &eventbridge.TagResourceInput{ResourceARN: of(r)}
			for k, v := range tags {
				in.Tags = append(in.Tags, types.Tag{Key: aws.String(k), Value: aws.String(v)})
			}
			_, err := eventsClient(r.Session).TagResource(ctx, in)
			return err
		},
		Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
			_, err := eventsClient(r.Session).UntagResource(ctx, &eventbridge.UntagResourceInput{ResourceARN: of(r), TagKeys: keys})
			return err
		},
	}
}

// targetsAtOnce is how many targets a call takes.
const targetsAtOnce = 10

// putTargets puts the targets that are new or changed and removes those that
// are not named any more.
func putTargets(ctx context.Context, r *provider.Request) error {
	c := eventsClient(r.Session)
	name, bus := ruleOf(r)
	in, err := putTargetsInput.Input(r)
	if err != nil {
		return err
	}
	byID := func(props *value.Object) map[string]any {
		out := map[string]any{}
		for _, v := range props.List("Targets") {
			if o, ok := v.(*value.Object); ok {
				out[text(o, "Id")] = o
			}
		}
		return out
	}
	was, now := byID(r.Previous), byID(r.Properties)
	changed := slices.DeleteFunc(in.Targets, func(t types.Target) bool {
		old, ok := was[aws.ToString(t.Id)]
		return ok && value.Equal(old, now[aws.ToString(t.Id)])
	})
	for batch := range slices.Chunk(changed, targetsAtOnce) {
		out, err := c.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: name, EventBusName: bus, Targets: batch})
		if err != nil {
			return err
		}
		for _, e := range out.FailedEntries {
			return fmt.Errorf("target %s was refused: %s: %s", aws.ToString(e.TargetId), aws.ToString(e.ErrorCode), aws.ToString(e.ErrorMessage))
		}
	}
	var gone []string
	for id := range was {
		if _, ok := now[id]; !ok {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	return removeTargets(ctx, r, name, bus, gone)
}

func removeTargets(ctx context.Context, r *provider.Request, name, bus *string, ids []string) error {
	for batch := range slices.Chunk(ids, targetsAtOnce) {
		out, err := eventsClient(r.Session).RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: name, EventBusName: bus, Ids: batch})
		if err != nil {
			return err
		}
		for _, e := range out.FailedEntries {
			return fmt.Errorf("target %s was not removed: %s: %s", aws.ToString(e.TargetId), aws.ToString(e.ErrorCode), aws.ToString(e.ErrorMessage))
		}
	}
	return nil
}

// deleteRule takes all targets from a rule first, whoever put them there: a
// rule that has any is not deleted.
func deleteRule(ctx context.Context, r *provider.Request, name, bus *string) error {
	c := eventsClient(r.Session)
	var ids []string
	in := &eventbridge.ListTargetsByRuleInput{Rule: name, EventBusName: bus}
	for {
		out, err := c.ListTargetsByRule(ctx, in)
		if err != nil {
			return err
		}
		for _, t := range out.Targets {
			ids = append(ids, aws.ToString(t.Id))
		}
		if out.NextToken == nil {
			break
		}
		in.NextToken = out.NextToken
	}
	if err := removeTargets(ctx, r, name, bus, ids); err != nil {
		return err
	}
	_, err := c.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: name, EventBusName: bus})
	return err
}
