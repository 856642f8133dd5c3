package awssdk

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/firehose"
	"github.com/aws/aws-sdk-go-v2/service/firehose/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func firehoseClient(s *provider.Session) *firehose.Client {
	return provider.Client(s, firehose.NewFromConfig)
}

func firehoseOnce(s *provider.Session) *firehose.Client {
	return provider.OnceClient(s, firehose.NewFromConfig)
}

func firehoseResources() []provider.Resource { return []provider.Resource{deliveryStream()} }

var (
	createDeliveryInput = provider.Bind[firehose.CreateDeliveryStreamInput]()
	// A destination is called its update here, and so is the bucket inside.
	updateDeliveryInput = provider.Bind[firehose.UpdateDestinationInput](
		provider.ID("DeliveryStreamName"),
		provider.Rename{
			"AmazonOpenSearchServerlessDestinationConfiguration":                 "AmazonOpenSearchServerlessDestinationUpdate",
			"AmazonOpenSearchServerlessDestinationConfiguration.S3Configuration": "S3Update",
			"AmazonopensearchserviceDestinationConfiguration":                    "AmazonopensearchserviceDestinationUpdate",
			"AmazonopensearchserviceDestinationConfiguration.S3Configuration":    "S3Update",
			"ElasticsearchDestinationConfiguration":                              "ElasticsearchDestinationUpdate",
			"ElasticsearchDestinationConfiguration.S3Configuration":              "S3Update",
			"ExtendedS3DestinationConfiguration":                                 "ExtendedS3DestinationUpdate",
			"ExtendedS3DestinationConfiguration.S3BackupConfiguration":           "S3BackupUpdate",
			"HttpEndpointDestinationConfiguration":                               "HttpEndpointDestinationUpdate",
			"HttpEndpointDestinationConfiguration.S3Configuration":               "S3Update",
			"IcebergDestinationConfiguration":                                    "IcebergDestinationUpdate",
			"RedshiftDestinationConfiguration":                                   "RedshiftDestinationUpdate",
			"RedshiftDestinationConfiguration.S3Configuration":                   "S3Update",
			"RedshiftDestinationConfiguration.S3BackupConfiguration":             "S3BackupUpdate",
			"S3DestinationConfiguration":                                         "S3DestinationUpdate",
			"SnowflakeDestinationConfiguration":                                  "SnowflakeDestinationUpdate",
			"SnowflakeDestinationConfiguration.S3Configuration":                  "S3Update",
			"SplunkDestinationConfiguration":                                     "SplunkDestinationUpdate",
			"SplunkDestinationConfiguration.S3Configuration":                     "S3Update",
		})
	startDeliveryEncryption = provider.Bind[firehose.StartDeliveryStreamEncryptionInput](provider.ID("DeliveryStreamName"), provider.Only("DeliveryStreamEncryptionConfigurationInput"))
)

func describeDelivery(ctx context.Context, r *provider.Request, name string) (*types.DeliveryStreamDescription, error) {
	out, err := firehoseClient(r.Session).DescribeDeliveryStream(ctx, &firehose.DescribeDeliveryStreamInput{DeliveryStreamName: &name})
	if err != nil {
		return nil, err
	}
	return out.DeliveryStreamDescription, nil
}

var deliveryActive = &provider.Waiter{
	From: provider.WaitNone, What: "the delivery stream to be ACTIVE",
	OK:     []string{string(types.DeliveryStreamStatusActive)},
	Failed: []string{string(types.DeliveryStreamStatusCreatingFailed)},
	Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		d, err := describeDelivery(ctx, r, r.PhysicalID)
		if err != nil {
			return "", "", err
		}
		if d.FailureDescription != nil {
			detail = aws.ToString(d.FailureDescription.Details)
		}
		return string(d.DeliveryStreamStatus), detail, nil
	},
}

// A delivery stream is known by its name.
func deliveryStream() provider.Resource {
	return provider.Resource{
		Type:    "AWS::KinesisFirehose::DeliveryStream",
		Name:    "DeliveryStreamName",
		Inputs:  []provider.Input{createDeliveryInput},
		Updates: []provider.Input{updateDeliveryInput},
		Satellites: []provider.Satellite{{
			Properties: []string{"DeliveryStreamEncryptionConfigurationInput"}, Input: startDeliveryEncryption,
			Put: func(ctx context.Context, r *provider.Request) error {
				if r.Previous == nil {
					return nil // the create took it
				}
				_, err := provider.Invoke(ctx, r, firehoseClient, (*firehose.Client).StartDeliveryStreamEncryption, startDeliveryEncryption)
				return err
			},
			Reset: provider.Call(firehoseClient, (*firehose.Client).StopDeliveryStreamEncryption, byID[firehose.StopDeliveryStreamEncryptionInput]("DeliveryStreamName")),
		}},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := firehoseClient(r.Session).TagDeliveryStream(ctx, &firehose.TagDeliveryStreamInput{
					DeliveryStreamName: &r.PhysicalID, Tags: tagSlice(tags, func(k, v *string) types.Tag { return types.Tag{Key: k, Value: v} }),
				})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := firehoseClient(r.Session).UntagDeliveryStream(ctx, &firehose.UntagDeliveryStreamInput{DeliveryStreamName: &r.PhysicalID, TagKeys: keys})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, firehoseOnce, (*firehose.Client).CreateDeliveryStream, createDeliveryInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: text(r.Properties, "DeliveryStreamName")}, nil
		},
		// An update names the version that it changes, and the one destination.
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			in, err := updateDeliveryInput.Input(r)
			if err != nil {
				return provider.Updated{}, err
			}
			now, err := describeDelivery(ctx, r, r.PhysicalID)
			if err != nil {
				return provider.Updated{}, err
			}
			in.CurrentDeliveryStreamVersionId = now.VersionId
			if len(now.Destinations) > 0 {
				in.DestinationId = now.Destinations[0].DestinationId
			}
			_, err = firehoseClient(r.Session).UpdateDestination(ctx, in)
			return provider.Updated{}, err
		},
		Delete: provider.Call(firehoseClient, (*firehose.Client).DeleteDeliveryStream, byID[firehose.DeleteDeliveryStreamInput]("DeliveryStreamName")),
		Gone:   []string{"ResourceNotFoundException"},
		Wait:   deliveryActive,
		DeleteWait: &provider.Waiter{
			From: provider.WaitNone, What: "the delivery stream to be gone", First: 500 * time.Millisecond, Read: deliveryActive.Read,
			Failed: []string{string(types.DeliveryStreamStatusDeletingFailed)},
		},
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			name := text(r.Properties, "DeliveryStreamName")
			out, err := firehoseClient(r.Session).ListTagsForDeliveryStream(ctx, &firehose.ListTagsForDeliveryStreamInput{DeliveryStreamName: &name})
			if err != nil {
				return nil, unlessGone(err, []string{"ResourceNotFoundException"})
			}
			return &provider.Holder{PhysicalID: name, Tags: tagMap(out.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })}, nil
		}),
		Known: func(r *provider.Request) *value.Object {
			name := r.PhysicalID
			if name == "" {
				name = r.Name
			}
			if name == "" {
				return nil
			}
			return value.NewObject("Arn", arn(r, "firehose", "deliverystream/"+name))
		},
	}
}
