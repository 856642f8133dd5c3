package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

const batch = 1000 // the most keys of one DeleteObjects

// removeAll deletes keys without a condition and joins what failed.
func (s *Store) removeAll(ctx context.Context, keys []string) error {
	ids := make([]types.ObjectIdentifier, len(keys))
	for i := range keys {
		ids[i].Key = &keys[i]
	}
	return s.removeVersions(ctx, ids)
}

func (s *Store) removeVersions(ctx context.Context, ids []types.ObjectIdentifier) error {
	var errs []error
	for len(ids) > 0 {
		n := min(batch, len(ids))
		out, err := s.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{
			Bucket: &s.bucket,
			Delete: &types.Delete{Objects: ids[:n], Quiet: aws.Bool(true)},
		})
		if err != nil {
			return s.failed("delete", "", deleting(ids[0].VersionId), Absent, err)
		}
		for _, e := range out.Errors {
			errs = append(errs, s.undeleted(e))
		}
		ids = ids[n:]
	}
	return errors.Join(errs...)
}

// undeleted is why one of several objects stays. S3 answers for each of them, with
// 200 for all.
func (s *Store) undeleted(e types.Error) error {
	key, why := aws.ToString(e.Key), &smithy.GenericAPIError{Code: aws.ToString(e.Code), Message: aws.ToString(e.Message)}
	if why.Code == "AccessDenied" {
		return &AccessError{s.bucket, key, deleting(e.VersionId), why}
	}
	return &RequestError{s.bucket, key, "delete", why}
}

// deleting is the permission to delete an object, or one version of it.
func deleting(version *string) string {
	if aws.ToString(version) != "" {
		return "s3:DeleteObjectVersion"
	}
	return "s3:DeleteObject"
}

// purge removes the earlier versions of one object, which a versioned bucket
// keeps readable after a delete.
func (s *Store) purge(ctx context.Context, key string) error {
	return s.purgeAll(ctx, key, func(found string) bool { return found == key })
}

// purgeAll is purge for the objects under a prefix that are wanted.
func (s *Store) purgeAll(ctx context.Context, prefix string, wanted func(key string) bool) error {
	var old []types.ObjectIdentifier
	in := &s3.ListObjectVersionsInput{Bucket: &s.bucket, Prefix: &prefix}
	for {
		out, err := s.client.ListObjectVersions(ctx, in)
		if err != nil {
			return s.failed("list the versions of", prefix, "s3:ListBucketVersions", Absent, err)
		}
		for _, v := range out.Versions {
			if wanted(aws.ToString(v.Key)) && !aws.ToBool(v.IsLatest) {
				old = append(old, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
			}
		}
		for _, m := range out.DeleteMarkers {
			if wanted(aws.ToString(m.Key)) && !aws.ToBool(m.IsLatest) {
				old = append(old, types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
			}
		}
		if !aws.ToBool(out.IsTruncated) {
			break
		}
		in.KeyMarker, in.VersionIdMarker = out.NextKeyMarker, out.NextVersionIdMarker
	}
	return s.removeVersions(ctx, old)
}

// purgeOrWarn purges, and says once a run when it may not.
func (s *Store) purgeOrWarn(ctx context.Context, key string) {
	s.unpurged(key, s.purge(ctx, key))
}

// purgeFolder is purgeOrWarn for objects in a folder.
func (s *Store) purgeFolder(ctx context.Context, folder string, wanted func(key string) bool) {
	s.unpurged(folder, s.purgeAll(ctx, folder, wanted))
}

func (s *Store) unpurged(key string, err error) {
	if err != nil {
		s.warnOnce("purge", fmt.Sprintf("earlier versions of %s stay in the bucket; "+
			"removing them takes s3:ListBucketVersions and s3:DeleteObjectVersion: %v", key, err))
	}
}

// PurgeLock removes the earlier versions of the lock, and leaves the one that is
// there. It is only for who holds the lock, and nothing depends on it.
func (k *Stack) PurgeLock(ctx context.Context) error { return k.store.purge(ctx, k.key(lockName)) }

// withProperties are the objects that hold the properties of resources.
var withProperties = [...]string{recordName, journalName, pendingName}

// PurgeVersions removes the earlier versions of the record, the journal and what
// is open. Only what must not stay readable is a reason to: they are what those are
// restored from.
func (k *Stack) PurgeVersions(ctx context.Context) error {
	var errs []error
	for _, name := range withProperties {
		err := k.store.purge(ctx, k.key(name))
		errs = append(errs, err)
		if is[*AccessError](err) {
			break // who may not remove these may not remove the others
		}
	}
	return errors.Join(errs...)
}
