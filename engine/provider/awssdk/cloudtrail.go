package awssdk

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudtrail"
	"github.com/aws/aws-sdk-go-v2/service/cloudtrail/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func trailClient(s *provider.Session) *cloudtrail.Client {
	return provider.Client(s, cloudtrail.NewFromConfig)
}

func trailOnce(s *provider.Session) *cloudtrail.Client {
	return provider.OnceClient(s, cloudtrail.NewFromConfig)
}

func cloudTrailResources() []provider.Resource { return []provider.Resource{trail()} }

// An SNS topic is given by its name or its ARN, in whichever property.
var trailShape = provider.Options(provider.Rename{"TrailName": "Name"}, provider.Skip("SnsTopicArn"))

var (
	createTrailInput = provider.Bind[cloudtrail.CreateTrailInput](trailShape, provider.Rename{"Tags": "TagsList"}, provider.Finish(func(r *provider.Request, in *cloudtrail.CreateTrailInput) error {
		if in.Name == nil {
			in.Name = aws.String(r.Stack.Name + "-" + r.LogicalID)
		}
		return nil
	}))
	updateTrailInput = provider.Bind[cloudtrail.UpdateTrailInput](trailShape, provider.ID("Name"), provider.Clear{
		"CloudWatchLogsLogGroupArn": "", "CloudWatchLogsRoleArn": "", "EnableLogFileValidation": "false", "IncludeGlobalServiceEvents": "true",
		"IsMultiRegionTrail": "false", "IsOrganizationTrail": "false", "KMSKeyId": "", "S3KeyPrefix": "", "SnsTopicName": "",
	})
	eventSelectorsInput   = provider.Bind[cloudtrail.PutEventSelectorsInput](provider.ID("TrailName"), provider.Only("EventSelectors", "AdvancedEventSelectors"))
	insightSelectorsInput = provider.Bind[cloudtrail.PutInsightSelectorsInput](provider.ID("TrailName"), provider.Only("InsightSelectors"))
	eventSettingsInput    = provider.Bind[cloudtrail.PutEventConfigurationInput](provider.ID("TrailName"), provider.Only("AggregationConfigurations"))
)

// byTrailName makes a call that is given the trail by its name, as Cloud Control
// has it, where we record the ARN.
func byTrailName[C, In, Out, O any](client func(*provider.Session) *C, op provider.Operation[C, In, Out, O], in *provider.Binding[In]) func(context.Context, *provider.Request) error {
	return func(ctx context.Context, r *provider.Request) error {
		named := *r
		named.PhysicalID = trailName(r)
		_, err := provider.Invoke(ctx, &named, client, op, in)
		return err
	}
}

func trailName(r *provider.Request) string { return lastSegment(r.PhysicalID, "/") }

// A trail is known by its ARN.
func trail() provider.Resource {
	describe := func(ctx context.Context, r *provider.Request, name string) (*types.Trail, error) {
		out, err := trailClient(r.Session).GetTrail(ctx, &cloudtrail.GetTrailInput{Name: &name})
		if err != nil {
			return nil, err
		}
		return out.Trail, nil
	}
	startLogging := byTrailName(trailClient, (*cloudtrail.Client).StartLogging, byID[cloudtrail.StartLoggingInput]("Name"))
	stopLogging := byTrailName(trailClient, (*cloudtrail.Client).StopLogging, byID[cloudtrail.StopLoggingInput]("Name"))
	tagsOf := func(ctx context.Context, r *provider.Request, arn string) (map[string]string, error) {
		out, err := trailClient(r.Session).ListTags(ctx, &cloudtrail.ListTagsInput{ResourceIdList: []string{arn}})
		if err != nil {
			return nil, err
		}
		tags := map[string]string{}
		for _, l := range out.ResourceTagList {
			for _, t := range l.TagsList {
				tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
			}
		}
		return tags, nil
	}
	return provider.Resource{
		Type:    "AWS::CloudTrail::Trail",
		Inputs:  []provider.Input{createTrailInput},
		Updates: []provider.Input{updateTrailInput},
		Satellites: []provider.Satellite{
			// Without selectors a trail has the default one.
			{Properties: []string{"EventSelectors", "AdvancedEventSelectors"}, Input: eventSelectorsInput,
				Put: byTrailName(trailClient, (*cloudtrail.Client).PutEventSelectors, eventSelectorsInput),
				Reset: func(ctx context.Context, r *provider.Request) error {
					_, err := trailClient(r.Session).PutEventSelectors(ctx, &cloudtrail.PutEventSelectorsInput{TrailName: aws.String(trailName(r)), EventSelectors: []types.EventSelector{{
						IncludeManagementEvents: aws.Bool(true), ReadWriteType: types.ReadWriteTypeAll,
					}}})
					return err
				}},
			{Properties: []string{"InsightSelectors"}, Input: insightSelectorsInput, After: []string{"EventSelectors"},
				Put: byTrailName(trailClient, (*cloudtrail.Client).PutInsightSelectors, insightSelectorsInput),
				Reset: func(ctx context.Context, r *provider.Request) error {
					_, err := trailClient(r.Session).PutInsightSelectors(ctx, &cloudtrail.PutInsightSelectorsInput{TrailName: aws.String(trailName(r)), InsightSelectors: []types.InsightSelector{}})
					return err
				}},
			{Properties: []string{"AggregationConfigurations"}, Input: eventSettingsInput, After: []string{"EventSelectors"},
				Put: byTrailName(trailClient, (*cloudtrail.Client).PutEventConfiguration, eventSettingsInput)},
			{Properties: []string{"IsLogging"}, After: []string{"EventSelectors"}, Put: func(ctx context.Context, r *provider.Request) error {
				if isTrue(r.Properties, "IsLogging") {
					return startLogging(ctx, r)
				} else if r.Previous == nil {
					return nil // a new trail does not log
				}
				return stopLogging(ctx, r)
			}},
		},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := trailClient(r.Session).AddTags(ctx, &cloudtrail.AddTagsInput{
					ResourceId: &r.PhysicalID, TagsList: tagSlice(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} }),
				})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				in := &cloudtrail.RemoveTagsInput{ResourceId: &r.PhysicalID}
				for _, k := range keys {
					in.TagsList = append(in.TagsList, types.Tag{Key: &k})
				}
				_, err := trailClient(r.Session).RemoveTags(ctx, in)
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, trailOnce, (*cloudtrail.Client).CreateTrail, createTrailInput)
			if err != nil {
				return provider.Created{}, err
			}
			known := value.NewObject("Arn", aws.ToString(out.TrailARN))
			set(known, "SnsTopicArn", out.SnsTopicARN)
			return provider.Created{PhysicalID: aws.ToString(out.TrailARN), Attributes: known}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			return provider.Updated{}, byTrailName(trailClient, (*cloudtrail.Client).UpdateTrail, updateTrailInput)(ctx, r)
		},
		Delete:     byTrailName(trailClient, (*cloudtrail.Client).DeleteTrail, byID[cloudtrail.DeleteTrailInput]("Name")),
		Gone:       []string{"TrailNotFoundException"},
		Identifier: trailName,
		Adopt: func(ctx context.Context, r *provider.Request) (string, error) {
			if r.PhysicalID == "" || strings.HasPrefix(r.PhysicalID, "arn:") {
				return r.PhysicalID, nil
			}
			found, err := describe(ctx, r, r.PhysicalID)
			if err != nil {
				return "", err
			}
			return aws.ToString(found.TrailARN), nil
		},
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			in, err := createTrailInput.Input(r)
			if err != nil {
				return nil, err
			}
			found, err := describe(ctx, r, aws.ToString(in.Name))
			if err != nil {
				return nil, unlessGone(err, []string{"TrailNotFoundException"})
			}
			tags, err := tagsOf(ctx, r, aws.ToString(found.TrailARN))
			return &provider.Holder{PhysicalID: aws.ToString(found.TrailARN), Tags: tags}, err
		}),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			found, err := describe(ctx, r, trailName(r))
			if err != nil {
				return nil, err
			}
			shape, _ := schema.Lookup(r.Type)
			props := provider.Unbind(found, shape, provider.Rename{"TrailName": "Name", "EnableLogFileValidation": "LogFileValidationEnabled"})
			status, err := trailClient(r.Session).GetTrailStatus(ctx, &cloudtrail.GetTrailStatusInput{Name: aws.String(trailName(r))})
			if err != nil {
				return nil, err
			}
			props.Set("IsLogging", aws.ToBool(status.IsLogging))
			if err := readSelectors(ctx, r, props, shape); err != nil {
				return nil, err
			}
			tags, err := tagsOf(ctx, r, r.PhysicalID)
			if tags := tagList(tags); len(tags) > 0 {
				props.Set("Tags", tags)
			}
			return props, err
		},
	}
}

// readSelectors reads the selectors of all kinds: who adds some by hand need not
// have found any.
func readSelectors(ctx context.Context, r *provider.Request, props *value.Object, shape *schema.Type) error {
	add := func(out any) {
		for name, v := range provider.Unbind(out, shape, provider.Only("EventSelectors", "AdvancedEventSelectors", "InsightSelectors")).All() {
			props.Set(name, v)
		}
	}
	name := trailName(r)
	events, err := trailClient(r.Session).GetEventSelectors(ctx, &cloudtrail.GetEventSelectorsInput{TrailName: &name})
	if err != nil {
		return err
	}
	add(events)
	out, err := trailClient(r.Session).GetInsightSelectors(ctx, &cloudtrail.GetInsightSelectorsInput{TrailName: &name})
	if err != nil {
		return unlessGone(err, []string{"InsightNotEnabledException"})
	}
	add(out)
	return nil
}
