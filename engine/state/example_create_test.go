package state_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox/s3"
)

// A first deploy claims the stack's name beside its lookups, writes down what
// it is about to create, and settles that at the end. Somebody else's topic is
// in the way of one of its creates.
func Example_create() {
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
	store, err := state.Open(context.Background(), cfg, state.Options{Bucket: "my-state", Prefix: state.DefaultPrefix})
	if err == nil {
		err = create(context.Background(), store.Stack("Shop", "eu-west-1"))
	}
	fmt.Println(err)
	// Output:
	// Queue created as Shop-Queue
	// <nil>
	// AWS::SNS::Topic Topic was not created: its name is held by arn:aws:sns:eu-west-1:123456789012:Shop-Topic, which nothing that stack Shop in eu-west-1 knows accounts for; the stack is probably deployed under another state bucket or prefix too
}

// lookup stands for a provider's read of who has a name.
func lookup(typ string) (physicalID string, created time.Time) {
	if typ == "AWS::SNS::Topic" {
		return "arn:aws:sns:eu-west-1:123456789012:Shop-Topic", time.Time{}
	}
	return "", time.Time{} // nobody
}

func create(ctx context.Context, stack *state.Stack) (err error) {
	lock, err := stack.Lock(ctx, state.LockOptions{Owner: "me@laptop:1", Operation: "deploy"})
	if err != nil {
		return err
	}
	cleanup := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, lock.Release(cleanup)) }()
	record, etag, err := stack.Read(ctx)
	if err != nil {
		return err
	}
	there, err := stack.Presence(ctx)
	if err != nil {
		return err
	}

	// The plan has creates, so the name is asked for beside the lookups.
	name := stack.Registry()
	var wg sync.WaitGroup
	var nameErr error
	wg.Go(func() {
		if record == nil {
			nameErr = name.Claim(ctx)
		} else {
			nameErr = name.Check(ctx)
		}
	})
	ledger := stack.OpenLedger(ctx, there.Ledger, record)
	evidence := stack.Evidence(record.Clone(), ledger)
	planned := map[string]string{"Queue": "AWS::SQS::Queue", "Topic": "AWS::SNS::Topic"}
	held := map[string]state.Holder{}
	for id, typ := range planned {
		if physicalID, created := lookup(typ); physicalID != "" {
			held[id] = state.Holder{LogicalID: id, Type: typ, Name: "Shop-" + id, PhysicalID: physicalID, Created: created}
		}
	}
	if wg.Wait(); nameErr != nil {
		return nameErr // nothing was made
	}

	made := state.NewRecord(stack.Name, stack.Region)
	saver := state.NewSaver(cleanup, stack, etag, state.SaverOptions{Saved: func(state.ETag) { ledger.Recorded() }})
	fates := map[string]state.Fate{}
	var refused error
	for _, id := range []string{"Queue", "Topic"} {
		holder, isHeld := held[id]
		proof := state.Verdict{}
		if isHeld {
			if proof = evidence.License(ctx, holder); proof.Proof == "" {
				refused = evidence.Refusal(holder, proof)
				continue
			}
		}
		// Before it is sent. Creates that are ready at the same time share a write.
		ticket, err := ledger.Intend(ctx, state.Intent{LogicalID: id, Type: planned[id], Name: "Shop-" + id, Keep: isHeld})
		if err != nil {
			return err
		}
		fmt.Println(id, "created as", ticket[0].Token)
		fates[id] = state.FateOf(nil)
		evidence.Made(planned[id], "https://sqs.eu-west-1.amazonaws.com/123456789012/Shop-"+id)
		made.Set(id, &state.Resource{ResourceType: planned[id], PhysicalID: "https://sqs.eu-west-1.amazonaws.com/123456789012/Shop-" + id})
		if err := saver.Save(made); err != nil {
			return err
		}
	}

	err = saver.Flush(cleanup)
	settled := ledger.Settle(cleanup, state.Settlement{Record: made, Fates: fates})
	fmt.Println(settled)
	return errors.Join(err, refused)
}
