package sandbox_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/internal/sandbox"
)

// What a call costs in the sandbox itself, so that measurements of a deploy
// can be read.
func BenchmarkCalls(b *testing.B) {
	s, err := sandbox.Start(b.Context(), sandbox.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	s.S3.AddBucket("b-1", "us-east-1", "")
	buckets, queues := awss3.NewFromConfig(s.Config()), sqs.NewFromConfig(s.Config())
	b.Run("PutObject", func(b *testing.B) {
		for b.Loop() {
			if _, err := buckets.PutObject(b.Context(), &awss3.PutObjectInput{Bucket: aws.String("b-1"), Key: aws.String("k"), Body: strings.NewReader("x")}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("CreateQueue", func(b *testing.B) {
		for b.Loop() {
			if _, err := queues.CreateQueue(b.Context(), &sqs.CreateQueueInput{QueueName: aws.String("q")}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
