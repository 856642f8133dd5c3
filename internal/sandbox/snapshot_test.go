package sandbox_test

import (
	"context"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/org/cdkd-action/internal/sandbox"
)

// Whatever was done since, and however often, there is what there was.
func TestSnapshot(t *testing.T) {
	if !sandbox.MotoAvailable() {
		t.Skip("moto_server is not installed")
	}
	ctx := t.Context()
	s, err := sandbox.Start(ctx, sandbox.Options{Upstream: sandbox.Moto})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	topics := sns.NewFromConfig(once(s))
	add := func(name string) {
		t.Helper()
		if _, err := topics.CreateTopic(ctx, &sns.CreateTopicInput{Name: &name}); err != nil {
			t.Fatal(err)
		}
		s.S3.PutObject("some-bucket", "key", []byte(name))
		s.S3.PutObject("some-bucket", name, nil)
		if _, err := s.CloudControl.Put("us-east-1", "AWS::Kinesis::Stream", map[string]any{"Name": name}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(names ...string) {
		t.Helper()
		out, err := topics.ListTopics(ctx, &sns.ListTopicsInput{})
		if err != nil {
			t.Fatal(err)
		}
		var listed, streams []string
		for _, topic := range out.Topics {
			listed = append(listed, aws.ToString(topic.TopicArn)[len("arn:aws:sns:us-east-1:123456789012:"):])
		}
		for _, r := range s.CloudControl.Resources() {
			streams = append(streams, r.Identifier)
		}
		slices.Sort(streams)
		o, _ := s.S3.Object("some-bucket", "key")
		if !slices.Equal(listed, names) || !slices.Equal(streams, names) || string(o.Body) != names[len(names)-1] {
			t.Errorf("topics %q, streams %q, object %q, want %q", listed, streams, o.Body, names)
		}
		if n := len(s.S3.Objects("some-bucket")); n != len(names)+1 {
			t.Errorf("%d objects", n)
		}
	}
	// What moto has is read through Cloud Control, too.
	read := func(name string) {
		t.Helper()
		_, err := cloudcontrol.NewFromConfig(once(s)).GetResource(ctx, &cloudcontrol.GetResourceInput{
			TypeName: aws.String("AWS::SNS::Topic"), Identifier: aws.String("arn:aws:sns:us-east-1:123456789012:" + name)})
		if err != nil {
			t.Error(err)
		}
	}
	snapshot := func() *sandbox.Snapshot {
		t.Helper()
		kept, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	restore := func(to *sandbox.Snapshot) {
		t.Helper()
		if err := s.Restore(ctx, to); err != nil {
			t.Fatal(err)
		}
	}
	s.S3.AddBucket("some-bucket", "us-east-1", "")
	add("a")
	one := snapshot()
	add("b")
	two := snapshot()
	want("a", "b")
	add("c")
	for range 2 {
		restore(one)
		want("a")
		read("a")
		add("d")
		want("a", "d")
		restore(two)
		want("a", "b")
	}
	if n := len(s.Log()); n != 1 {
		t.Errorf("%d requests in the log, want that of the last look", n)
	}
}

func TestKumoHasNoSnapshots(t *testing.T) {
	s, err := sandbox.Start(context.Background(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Snapshot(t.Context()); err == nil {
		t.Error("it can be kept")
	}
}
