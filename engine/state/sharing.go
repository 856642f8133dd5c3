package state

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/org/cdkd-action/engine/amount"
)

// Sharers are the state buckets that have one asset storage in common. Assets get
// there by a marker and by nothing else, and an account uses only its own state
// buckets, so that a look at each bucket of the account finds all of them.
type Sharers struct {
	Stores []*Store // the one that was asked comes first
	// Unseen says of which buckets nobody can tell whether they belong here; nil
	// when all were looked into.
	Unseen *UnseenError
}

// Others are the names of the buckets beside the one that was asked.
func (s Sharers) Others() (names []string) {
	for _, other := range s.Stores[1:] {
		names = append(names, other.bucket)
	}
	return names
}

// An UnseenError says that buckets of the account could not be looked into.
type UnseenError struct {
	Buckets []string // none: not even their names are known
	Err     error    // the first reason
}

func (e *UnseenError) Error() string {
	if len(e.Buckets) == 0 {
		return fmt.Sprintf("the account's buckets could not be listed: %v", e.Err)
	}
	return fmt.Sprintf("%s of the account could not be looked into (%s): %v", amount.Of(len(e.Buckets), "bucket"), strings.Join(firstOf(e.Buckets), ", "), e.Err)
}

func (e *UnseenError) Unwrap() error { return e.Err }

// Sharing finds the state buckets of the account that have the asset storage.
func (s *Store) Sharing(ctx context.Context, cfg aws.Config, account string, a AssetStorage) (Sharers, error) {
	found := Sharers{Stores: []*Store{s}}
	cfg = withPatience(ownPool(cfg), nil) // one for all
	var buckets []types.Bucket
	// A page with a limit says where each bucket is.
	pages := s3.NewListBucketsPaginator(newClient(cfg, s.region, ""), &s3.ListBucketsInput{MaxBuckets: aws.Int32(1000)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if status(err) == http.StatusForbidden {
			found.Unseen = &UnseenError{Err: err}
			// Two buckets have names that are known all the same.
			buckets = []types.Bucket{{Name: aws.String(DefaultBucket(account))}, {Name: aws.String(LegacyBucket(account, a.Region))}}
			break
		}
		if err != nil {
			return found, fmt.Errorf("list the account's buckets: %w", err)
		}
		buckets = append(buckets, page.Buckets...)
	}
	buckets = slices.DeleteFunc(buckets, func(b types.Bucket) bool {
		return aws.ToString(b.Name) == s.bucket || aws.ToString(b.Name) == a.AssetBucket
	})
	stores, errs := make([]*Store, len(buckets)), make([]error, len(buckets))
	parallel(len(buckets), func(i int) {
		name := aws.ToString(buckets[i].Name)
		region, located := aws.ToString(buckets[i].BucketRegion), true
		if region == "" {
			region, located = bucketLocation(ctx, cfg, name)
		}
		other := newStore(cfg, Options{Bucket: name, Prefix: s.prefix, Profile: s.profile, Warn: s.warn}, region, located, account)
		var has bool
		if has, errs[i] = other.marks(ctx, a); has {
			stores[i] = other
		}
	})
	for i, err := range errs {
		switch {
		case stores[i] != nil:
			found.Stores = append(found.Stores, stores[i])
		case err == nil || is[*NoBucketError](err): // deleted by now
		case !told(err):
			return found, fmt.Errorf("look for state buckets that share the asset storage of %s: %w", a.Region, err)
		case found.Unseen == nil:
			found.Unseen = &UnseenError{Buckets: []string{aws.ToString(buckets[i].Name)}, Err: err}
		case len(found.Unseen.Buckets) > 0:
			found.Unseen.Buckets = append(found.Unseen.Buckets, aws.ToString(buckets[i].Name))
		}
	}
	return found, nil
}

// marks tells whether a marker of the bucket, of whatever region, names the storage.
func (s *Store) marks(ctx context.Context, a AssetStorage) (bool, error) {
	all, err := s.AssetStorages(ctx)
	return slices.ContainsFunc(all, func(o AssetStorage) bool {
		return o.AssetBucket == a.AssetBucket || o.ContainerRepo == a.ContainerRepo && strings.EqualFold(o.Region, a.Region)
	}), err
}

// told tells whether an error is what S3 said of a bucket, or what a marker holds,
// and the same the next time.
func told(err error) bool {
	st := status(err)
	return st >= 400 && st < 500 || is[*MalformedError](err) || is[*VersionError](err)
}
