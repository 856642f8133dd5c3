package state_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox/s3"
)

// A deploy reads the record beside its request for the lock, and confirms it
// before it changes anything.
func Example() {
	bucket := s3.New(s3.Options{})
	bucket.AddBucket("my-state", "eu-west-1", "")
	server := httptest.NewServer(bucket)
	defer server.Close()
	cfg := aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: &server.URL,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret"}, nil
		}),
	}
	if err := deploy(context.Background(), cfg); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Shop is new: true
	// saved 1 resource
}

func deploy(ctx context.Context, cfg aws.Config) error {
	store, err := state.Open(ctx, cfg, state.Options{Bucket: "my-state", Prefix: state.DefaultPrefix})
	if err != nil {
		return err
	}
	stack := store.Stack("Shop", "eu-west-1")

	type held struct {
		lock *state.Lock
		err  error
	}
	asked := make(chan held)
	go func() {
		lock, err := stack.Lock(ctx, state.LockOptions{Owner: "me@laptop:1", Operation: "deploy"})
		asked <- held{lock, err}
	}()
	record, etag, err := stack.Read(ctx)
	got := <-asked
	if got.err != nil {
		return got.err
	}
	defer got.lock.Release(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	fmt.Println("Shop is new:", record == nil)

	if err := stack.Confirm(ctx, etag); err != nil {
		return err // somebody deployed in between: plan anew
	}
	record = state.NewRecord("Shop", "eu-west-1")
	saver := state.NewSaver(ctx, stack, etag, state.SaverOptions{})
	record.Set("Queue", &state.Resource{PhysicalID: "q", ResourceType: "AWS::SQS::Queue", ProvisionedBy: state.BySDK})
	if err := saver.Save(record); err != nil { // after every resource; it does not wait
		return err
	}
	if err := saver.Flush(ctx); err != nil {
		return err
	}
	record, _, err = stack.Read(ctx)
	if err != nil {
		return err
	}
	fmt.Println("saved", len(record.Resources), "resource")
	return nil
}
