package awssdk

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func kinesisClient(s *provider.Session) *kinesis.Client {
	return provider.Client(s, kinesis.NewFromConfig)
}

func kinesisOnce(s *provider.Session) *kinesis.Client {
	return provider.OnceClient(s, kinesis.NewFromConfig)
}

func kinesisResources() []provider.Resource { return []provider.Resource{stream(), streamConsumer()} }

var streamGone = []string{"ResourceNotFoundException"}

var (
	createStreamInput = provider.Bind[kinesis.CreateStreamInput](
		provider.Rename{"Name": "StreamName"},
		provider.Finish(func(r *provider.Request, in *kinesis.CreateStreamInput) error {
			// Without a mode a stream is provisioned, of one shard.
			if in.ShardCount == nil && (in.StreamModeDetails == nil || in.StreamModeDetails.StreamMode == types.StreamModeProvisioned) {
				in.ShardCount = aws.Int32(1)
			}
			return nil
		}))
	shardCountInput   = provider.Bind[kinesis.UpdateShardCountInput](provider.ID("StreamName"), provider.Only("ShardCount"), provider.Rename{"ShardCount": "TargetShardCount"}, provider.Clear{"ShardCount": "1"})
	streamModeInput   = provider.Bind[kinesis.UpdateStreamModeInput](provider.Only("StreamModeDetails"), provider.Clear{"StreamModeDetails": value.NewObject("StreamMode", "PROVISIONED")})
	recordSizeInput   = provider.Bind[kinesis.UpdateMaxRecordSizeInput](provider.Only("MaxRecordSizeInKiB"), provider.Clear{"MaxRecordSizeInKiB": "1024"})
	throughputInput   = provider.Bind[kinesis.UpdateStreamWarmThroughputInput](provider.ID("StreamName"), provider.Only("WarmThroughputMiBps"), provider.Clear{"WarmThroughputMiBps": "0"})
	startEncryption   = provider.Bind[kinesis.StartStreamEncryptionInput](provider.ID("StreamName"), provider.Only("StreamEncryption"), provider.Rename{"StreamEncryption": "."})
	shardMetricsInput = provider.Bind[kinesis.EnableEnhancedMonitoringInput](provider.ID("StreamName"), provider.Only("DesiredShardLevelMetrics"), provider.Rename{"DesiredShardLevelMetrics": "ShardLevelMetrics"})
)

// streamActive is awaited in every mode: a stream takes one change at a time.
var streamActive = &provider.Waiter{
	From: provider.WaitNone, What: "the stream to be ACTIVE", OK: []string{string(types.StreamStatusActive)},
	First: 500 * time.Millisecond, Cap: 5 * time.Second, Timeout: 15 * time.Minute,
	Read: func(ctx context.Context, r *provider.Request) (state, detail string, err error) {
		s, err := describeStream(ctx, r)
		if err != nil {
			return "", "", err
		}
		return string(s.StreamStatus), "", nil
	},
}

func describeStream(ctx context.Context, r *provider.Request) (*types.StreamDescriptionSummary, error) {
	out, err := kinesisClient(r.Session).DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	return out.StreamDescriptionSummary, nil
}

// streamPart is a satellite that waits for what it changed.
func streamPart(property string, in provider.Input, put func(context.Context, *provider.Request) error) provider.Satellite {
	return provider.Satellite{Properties: []string{property}, Input: in, Settled: true, Serial: true,
		Put: func(ctx context.Context, r *provider.Request) error {
			if err := put(ctx, r); err != nil {
				return err
			}
			return streamActive.Wait(ctx, r)
		}}
}

// A stream is known by its name.
func stream() provider.Resource {
	streamARN := func(r *provider.Request, name string) string { return arn(r, "kinesis", "stream/"+name) }
	return provider.Resource{
		Type:    "AWS::Kinesis::Stream",
		Name:    "Name",
		Inputs:  []provider.Input{createStreamInput},
		Updates: []provider.Input{shardCountInput, streamModeInput, recordSizeInput, throughputInput},
		Satellites: []provider.Satellite{
			streamPart("RetentionPeriodHours", nil, putRetention),
			streamPart("StreamEncryption", startEncryption, putStreamEncryption),
			streamPart("DesiredShardLevelMetrics", shardMetricsInput, putShardMetrics),
		},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := kinesisClient(r.Session).AddTagsToStream(ctx, &kinesis.AddTagsToStreamInput{StreamName: &r.PhysicalID, Tags: tags})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := kinesisClient(r.Session).RemoveTagsFromStream(ctx, &kinesis.RemoveTagsFromStreamInput{StreamName: &r.PhysicalID, TagKeys: keys})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			if _, err := provider.Invoke(ctx, r, kinesisOnce, (*kinesis.Client).CreateStream, createStreamInput); err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: text(r.Properties, "Name")}, nil
		},
		Update: updateStream,
		// Consumers go with their stream.
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := kinesisClient(r.Session).DeleteStream(ctx, &kinesis.DeleteStreamInput{StreamName: &r.PhysicalID, EnforceConsumerDeletion: aws.Bool(true)})
			return err
		},
		Gone:       streamGone,
		Wait:       streamActive,
		DeleteWait: &provider.Waiter{From: provider.WaitNone, What: "the stream to be gone", First: 500 * time.Millisecond, Cap: 5 * time.Second, Read: streamActive.Read},
		Find: findOwned(func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			name := text(r.Properties, "Name")
			out, err := kinesisClient(r.Session).ListTagsForStream(ctx, &kinesis.ListTagsForStreamInput{StreamName: &name})
			if err != nil {
				return nil, unlessGone(err, streamGone)
			}
			h := &provider.Holder{PhysicalID: name, Tags: map[string]string{}}
			for _, tag := range out.Tags {
				h.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
			}
			return h, nil
		}),
		Read: readStream,
		Known: func(r *provider.Request) *value.Object {
			name := r.PhysicalID
			if name == "" {
				name = r.Name
			}
			return value.NewObject("Arn", streamARN(r, name))
		},
	}
}

// updateStream makes one change after the other. The mode comes first: only a
// provisioned stream has a count of shards.
func updateStream(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
	c := kinesisClient(r.Session)
	streamARN := arn(r, "kinesis", "stream/"+r.PhysicalID)
	onDemand := text(r.Properties.Object("StreamModeDetails"), "StreamMode") == string(types.StreamModeOnDemand)
	for _, change := range []struct {
		made bool
		call func() error
	}{
		{d.Changed("StreamModeDetails"), func() error {
			in, err := streamModeInput.Input(r)
			if err == nil {
				in.StreamARN = &streamARN
				_, err = c.UpdateStreamMode(ctx, in)
			}
			return err
		}},
		{d.Changed("ShardCount") && !onDemand, func() error {
			in, err := shardCountInput.Input(r)
			if err == nil {
				in.ScalingType = types.ScalingTypeUniformScaling
				_, err = c.UpdateShardCount(ctx, in)
			}
			return err
		}},
		{d.Changed("MaxRecordSizeInKiB"), func() error {
			in, err := recordSizeInput.Input(r)
			if err == nil {
				in.StreamARN = &streamARN
				_, err = c.UpdateMaxRecordSize(ctx, in)
			}
			return err
		}},
		{d.Changed("WarmThroughputMiBps"), func() error {
			_, err := provider.Invoke(ctx, r, kinesisClient, (*kinesis.Client).UpdateStreamWarmThroughput, throughputInput)
			return err
		}},
	} {
		if !change.made {
			continue
		}
		if err := change.call(); err != nil {
			return provider.Updated{}, err
		}
		if err := streamActive.Wait(ctx, r); err != nil {
			return provider.Updated{}, err
		}
	}
	return provider.Updated{}, nil
}

// putRetention is two calls in the API: for longer and for shorter.
func putRetention(ctx context.Context, r *provider.Request) error {
	const least = 24
	hours := func(o *value.Object) (int64, bool) {
		if !o.Has("RetentionPeriodHours") {
			return least, true
		}
		n, ok := value.Integer(o.Value("RetentionPeriodHours"))
		return n, ok && n == int64(int32(n))
	}
	old, _ := hours(r.Previous)
	wanted, ok := hours(r.Properties)
	if !ok {
		return fmt.Errorf("RetentionPeriodHours of %s is no whole number", r.LogicalID)
	}
	n := aws.Int32(int32(wanted))
	switch {
	case wanted > old:
		_, err := kinesisClient(r.Session).IncreaseStreamRetentionPeriod(ctx, &kinesis.IncreaseStreamRetentionPeriodInput{StreamName: &r.PhysicalID, RetentionPeriodHours: n})
		return err
	case wanted < old:
		_, err := kinesisClient(r.Session).DecreaseStreamRetentionPeriod(ctx, &kinesis.DecreaseStreamRetentionPeriodInput{StreamName: &r.PhysicalID, RetentionPeriodHours: n})
		return err
	}
	return nil
}

func putStreamEncryption(ctx context.Context, r *provider.Request) error {
	if r.Properties.Has("StreamEncryption") {
		_, err := provider.Invoke(ctx, r, kinesisClient, (*kinesis.Client).StartStreamEncryption, startEncryption)
		return err
	}
	old := r.Previous.Object("StreamEncryption")
	_, err := kinesisClient(r.Session).StopStreamEncryption(ctx, &kinesis.StopStreamEncryptionInput{
		StreamName: &r.PhysicalID, EncryptionType: types.EncryptionType(text(old, "EncryptionType")), KeyId: aws.String(text(old, "KeyId")),
	})
	return err
}

func putShardMetrics(ctx context.Context, r *provider.Request) error {
	const property = "DesiredShardLevelMetrics"
	wanted := texts(r.Properties, property)
	if gone := less(texts(r.Previous, property), wanted); len(gone) > 0 {
		in := &kinesis.DisableEnhancedMonitoringInput{StreamName: &r.PhysicalID}
		for _, m := range gone {
			in.ShardLevelMetrics = append(in.ShardLevelMetrics, types.MetricsName(m))
		}
		if _, err := kinesisClient(r.Session).DisableEnhancedMonitoring(ctx, in); err != nil {
			return err
		}
		if err := streamActive.Wait(ctx, r); err != nil {
			return err
		}
	}
	if len(less(wanted, texts(r.Previous, property))) == 0 {
		return nil
	}
	_, err := provider.Invoke(ctx, r, kinesisClient, (*kinesis.Client).EnableEnhancedMonitoring, shardMetricsInput)
	return err
}

func readStream(ctx context.Context, r *provider.Request) (*value.Object, error) {
	s, err := describeStream(ctx, r)
	if err != nil {
		return nil, err
	}
	props := value.NewObject("Name", aws.ToString(s.StreamName))
	if m := s.StreamModeDetails; m != nil {
		props.Set("StreamModeDetails", value.NewObject("StreamMode", string(m.StreamMode)))
	}
	if s.OpenShardCount != nil && (s.StreamModeDetails == nil || s.StreamModeDetails.StreamMode != types.StreamModeOnDemand) {
		props.Set("ShardCount", value.Int(*s.OpenShardCount))
	}
	if s.RetentionPeriodHours != nil {
		props.Set("RetentionPeriodHours", value.Int(*s.RetentionPeriodHours))
	}
	if s.MaxRecordSizeInKiB != nil {
		props.Set("MaxRecordSizeInKiB", value.Int(*s.MaxRecordSizeInKiB))
	}
	if s.EncryptionType == types.EncryptionTypeKms {
		props.Set("StreamEncryption", value.NewObject("EncryptionType", string(s.EncryptionType), "KeyId", aws.ToString(s.KeyId)))
	}
	var metrics []string
	for _, m := range s.EnhancedMonitoring {
		for _, name := range m.ShardLevelMetrics {
			metrics = append(metrics, string(name))
		}
	}
	if len(metrics) > 0 {
		props.Set("DesiredShardLevelMetrics", list(metrics))
	}
	out, err := kinesisClient(r.Session).ListTagsForStream(ctx, &kinesis.ListTagsForStreamInput{StreamName: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	if tags := tagList(tagMap(out.Tags, func(t types.Tag) (k, v *string) { return t.Key, t.Value })); len(tags) > 0 {
		props.Set("Tags", tags)
	}
	return props, nil
}
