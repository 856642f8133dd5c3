package awssdk

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func dynamoClient(s *provider.Session) *dynamodb.Client {
	return provider.Client(s, dynamodb.NewFromConfig)
}

func dynamoOnce(s *provider.Session) *dynamodb.Client {
	return provider.OnceClient(s, dynamodb.NewFromConfig)
}

func dynamodbResources() []provider.Resource {
	return []provider.Resource{table("AWS::DynamoDB::Table"), globalTable()}
}

var tableGone = []string{"ResourceNotFoundException"}

// tableBusy also refuses a create of a name that is taken.
const tableBusy = "ResourceInUseException"

// tableShape are the options that every input with table properties shares.
var tableShape = []provider.Option{
	provider.Rename{"SSESpecification.SSEEnabled": "Enabled"},
	provider.Custom("ResourcePolicy", func(v any) (string, error) {
		o, _ := v.(*value.Object)
		return document(o, "PolicyDocument"), nil
	}),
}

var (
	createTableInput = provider.Bind[dynamodb.CreateTableInput](append(tableShape[:len(tableShape):len(tableShape)],
		provider.Finish(func(r *provider.Request, in *dynamodb.CreateTableInput) error {
			if in.StreamSpecification != nil { // which here is there or not
				in.StreamSpecification.StreamEnabled = aws.Bool(true)
			}
			return nil
		}))...)

	// These tell which changes updateTable can make.
	updateTableInput = provider.Bind[dynamodb.UpdateTableInput](
		provider.ID("TableName"),
		provider.Rename{"SSESpecification.SSEEnabled": "Enabled"},
		provider.Clear{
			"BillingMode":               "PROVISIONED",
			"DeletionProtectionEnabled": "false",
			"SSESpecification":          value.NewObject("SSEEnabled", "false"),
			"TableClass":                "STANDARD",
			"OnDemandThroughput":        value.NewObject("MaxReadRequestUnits", "-1", "MaxWriteRequestUnits", "-1"),
		})
	tableRest = provider.Bind[dynamodb.CreateTableInput](append(tableShape[:len(tableShape):len(tableShape)],
		provider.Only("GlobalSecondaryIndexes", "ResourcePolicy"))...)

	timeToLiveInput  = provider.Bind[dynamodb.UpdateTimeToLiveInput](provider.ID("TableName"), provider.Only("TimeToLiveSpecification"))
	backupsInput     = provider.Bind[dynamodb.UpdateContinuousBackupsInput](provider.ID("TableName"), provider.Only("PointInTimeRecoverySpecification"))
	kinesisEnable    = provider.Bind[dynamodb.EnableKinesisStreamingDestinationInput](provider.ID("TableName"), kinesisOnly, kinesisSpread, kinesisPrecision)
	kinesisOnly      = provider.Only("KinesisStreamSpecification")
	kinesisSpread    = provider.Rename{"KinesisStreamSpecification": "."}
	kinesisPrecision = provider.Rename{"KinesisStreamSpecification.ApproximateCreationDateTimePrecision": "EnableKinesisStreamingConfiguration.ApproximateCreationDateTimePrecision"}
)

// tableActive is awaited in every mode: a table that is being made takes no
// satellites and no further change.
var tableActive = &provider.Waiter{
	From: provider.WaitNone, What: "the table and its indexes to be ACTIVE",
	OK:    []string{string(types.TableStatusActive)},
	First: 500 * time.Millisecond, Cap: 5 * time.Second, Timeout: 30 * time.Minute,
	Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		t, err := describeTable(ctx, r, r.PhysicalID)
		if err != nil {
			return "", "", err
		}
		for _, i := range t.GlobalSecondaryIndexes {
			if i.IndexStatus != types.IndexStatusActive {
				return string(i.IndexStatus), "index " + aws.ToString(i.IndexName), nil
			}
		}
		return string(t.TableStatus), "", nil
	},
}

// backupsSet sets them, as soon as that can be: for some seconds after a table
// became ACTIVE the service is still preparing them.
var backupsSet = &provider.Waiter{
	What: "the table's backups to be configurable", OK: []string{"set"}, Cap: 5 * time.Second, Timeout: 3 * time.Minute,
	Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		_, err = provider.Invoke(ctx, r, dynamoClient, (*dynamodb.Client).UpdateContinuousBackups, backupsInput)
		if provider.HasCode(err, "ContinuousBackupsUnavailableException") {
			return "unavailable", "", nil
		}
		return "set", "", err
	},
}

func describeTable(ctx context.Context, r *provider.Request, name string) (*types.TableDescription, error) {
	out, err := dynamoClient(r.Session).DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return nil, err
	}
	return out.Table, nil
}

// A table is known by its name.
func table(typ string) provider.Resource {
	tableARN := func(r *provider.Request) string { return arn(r, "dynamodb", "table/"+r.PhysicalID) }
	return provider.Resource{
		Type:    typ,
		Name:    "TableName",
		Inputs:  []provider.Input{createTableInput},
		Updates: []provider.Input{updateTableInput, tableRest},
		Satellites: []provider.Satellite{
			{Properties: []string{"TimeToLiveSpecification"}, Input: timeToLiveInput, Settled: true, Put: putTimeToLive, Reset: resetTimeToLive},
			{
				Properties: []string{"PointInTimeRecoverySpecification"}, Input: backupsInput, Settled: true,
				Put: backupsSet.Wait,
				Reset: func(ctx context.Context, r *provider.Request) error {
					_, err := dynamoClient(r.Session).UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
						TableName: &r.PhysicalID, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(false)},
					})
					return err
				},
			},
			{Properties: []string{"ContributorInsightsSpecification"}, Settled: true, Put: putContributorInsights},
			{Properties: []string{"KinesisStreamSpecification"}, Input: kinesisEnable, Settled: true, Put: putKinesisDestination},
		},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				in := &dynamodb.TagResourceInput{ResourceArn: aws.String(tableARN(r))}
				for k, v := range tags {
					in.Tags = append(in.Tags, types.Tag{Key: aws.String(k), Value: aws.String(v)})
				}
				_, err := dynamoClient(r.Session).TagResource(ctx, in)
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := dynamoClient(r.Session).UntagResource(ctx, &dynamodb.UntagResourceInput{ResourceArn: aws.String(tableARN(r)), TagKeys: keys})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, dynamoOnce, (*dynamodb.Client).CreateTable, createTableInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.TableDescription.TableName, Attributes: madeTable(typ, out.TableDescription)}, nil
		},
		Update: updateTable,
		Delete: func(ctx context.Context, r *provider.Request) error {
			return whenSettled(ctx, r, tableActive, tableBusy, func() error {
				_, err := dynamoClient(r.Session).DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &r.PhysicalID})
				return err
			})
		},
		Gone: tableGone,
		Wait: tableActive,
		DeleteWait: &provider.Waiter{
			From: provider.WaitNone, What: "the table to be gone", First: 500 * time.Millisecond, Cap: 5 * time.Second,
			Read: tableActive.Read,
		},
		Known: func(r *provider.Request) *value.Object {
			name := r.PhysicalID
			if name == "" {
				name = r.Name
			}
			return value.NewObject("Arn", arn(r, "dynamodb", "table/"+name), "TableName", name)
		},
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			t, err := describeTable(ctx, r, text(r.Properties, "TableName"))
			if provider.HasCode(err, tableGone...) {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
			out, err := dynamoClient(r.Session).ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: t.TableArn})
			if err != nil {
				return nil, err
			}
			h := &provider.Holder{PhysicalID: *t.TableName, Tags: map[string]string{}}
			for _, tag := range out.Tags {
				h.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
			}
			return h, nil
		}),
		Unprotect: func(ctx context.Context, r *provider.Request) error {
			_, err := dynamoClient(r.Session).UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &r.PhysicalID, DeletionProtectionEnabled: aws.Bool(false)})
			return err
		},
	}
}

// madeTable are the attributes that a create tells.
func madeTable(typ string, t *types.TableDescription) *value.Object {
	o := streamARN(t)
	if typ == "AWS::DynamoDB::GlobalTable" && t.TableId != nil {
		if o == nil {
			o = value.NewObject()
		}
		o.Set("TableId", *t.TableId)
	}
	return o
}

func streamARN(t *types.TableDescription) *value.Object {
	if t.LatestStreamArn == nil {
		return nil
	}
	return value.NewObject("StreamArn", *t.LatestStreamArn)
}

func putTimeToLive(ctx context.Context, r *provider.Request) error {
	now, before := r.Properties.Object("TimeToLiveSpecification"), r.Previous.Object("TimeToLiveSpecification")
	was := text(before, "Enabled") == "true"
	if text(now, "Enabled") != "true" && !was {
		return nil // it is off already, and switching it off again is refused
	}
	if was && text(before, "AttributeName") != text(now, "AttributeName") {
		if err := resetTimeToLive(ctx, r); err != nil {
			return err
		}
	}
	_, err := provider.Invoke(ctx, r, dynamoClient, (*dynamodb.Client).UpdateTimeToLive, timeToLiveInput)
	return err
}

func resetTimeToLive(ctx context.Context, r *provider.Request) error {
	before := r.Previous.Object("TimeToLiveSpecification")
	if text(before, "Enabled") != "true" {
		return nil
	}
	_, err := dynamoClient(r.Session).UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &r.PhysicalID,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(text(before, "AttributeName")), Enabled: aws.Bool(false),
		},
	})
	return err
}

func putContributorInsights(ctx context.Context, r *provider.Request) error {
	spec := r.Properties.Object("ContributorInsightsSpecification")
	in := &dynamodb.UpdateContributorInsightsInput{
		TableName: &r.PhysicalID, ContributorInsightsAction: types.ContributorInsightsActionDisable,
		ContributorInsightsMode: types.ContributorInsightsMode(text(spec, "Mode")),
	}
	if text(spec, "Enabled") == "true" {
		in.ContributorInsightsAction = types.ContributorInsightsActionEnable
	} else if r.Previous == nil {
		return nil // new tables have none
	}
	_, err := dynamoClient(r.Session).UpdateContributorInsights(ctx, in)
	return err
}

// putKinesisDestination streams to the data stream named now and no longer to
// the one named before. Another precision is an update of the destination.
func putKinesisDestination(ctx context.Context, r *provider.Request) error {
	c := dynamoClient(r.Session)
	now, before := r.Properties.Object("KinesisStreamSpecification"), r.Previous.Object("KinesisStreamSpecification")
	to, from := text(now, "StreamArn"), text(before, "StreamArn")
	if from != "" && from == to {
		precision := types.ApproximateCreationDateTimePrecision(text(now, "ApproximateCreationDateTimePrecision"))
		if precision == "" {
			precision = types.ApproximateCreationDateTimePrecisionMillisecond
		}
		_, err := c.UpdateKinesisStreamingDestination(ctx, &dynamodb.UpdateKinesisStreamingDestinationInput{
			TableName: &r.PhysicalID, StreamArn: &to,
			UpdateKinesisStreamingConfiguration: &types.UpdateKinesisStreamingConfiguration{ApproximateCreationDateTimePrecision: precision},
		})
		return err
	}
	if from != "" {
		_, err := c.DisableKinesisStreamingDestination(ctx, &dynamodb.DisableKinesisStreamingDestinationInput{TableName: &r.PhysicalID, StreamArn: &from})
		if err != nil {
			return err
		}
	}
	if to == "" {
		return nil
	}
	_, err := provider.Invoke(ctx, r, dynamoClient, (*dynamodb.Client).EnableKinesisStreamingDestination, kinesisEnable)
	return err
}
