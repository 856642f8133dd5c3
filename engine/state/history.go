package state

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const (
	versionsRead = 10 // earlier versions of the record
	historyRuns  = 20 // runs whose events are read
)

// A history is what a stack kept before there was a list of that: what earlier
// versions of its record and the events of its runs tell. It is only asked when
// there is no list.
type history struct {
	kept   []Kept
	unread []error
}

func (p *history) licenses(h Holder) bool { return (&Retained{Resources: p.kept}).licenses(h) }

func (k *Stack) readHistory(ctx context.Context) *history {
	p := &history{}
	kept, err := k.keptByVersions(ctx)
	if is[*AccessError](err) {
		k.store.warnOnce("history", fmt.Sprintf("what stack %s in %s kept is not looked for in earlier versions of its record, "+
			"which takes s3:ListBucketVersions and s3:GetObjectVersion: %v", k.Name, k.Region, err))
	}
	p.note(kept, err)
	p.note(k.keptByEvents(ctx))
	return p
}

func (p *history) note(kept []Kept, err error) {
	p.kept = append(p.kept, kept...)
	if err != nil {
		p.unread = append(p.unread, err)
	}
}

// keptByVersions finds the resources that an earlier version of the record
// names with a policy to keep them.
func (k *Stack) keptByVersions(ctx context.Context) ([]Kept, error) {
	key := k.key(recordName)
	versions, err := k.store.earlier(ctx, key, versionsRead)
	if err != nil {
		return nil, err
	}
	kept, errs := make([][]Kept, len(versions)), make([]error, len(versions))
	parallel(len(versions), func(i int) {
		v := versions[i]
		out, err := k.store.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &k.store.bucket, Key: &key, VersionId: v.VersionId})
		if err == nil {
			var body []byte
			if body, err = readAll(out.Body); err == nil {
				// What cannot be read of an old version accounts for nothing.
				if r, err := ParseRecord(key, body); err == nil {
					kept[i] = r.keeps(aws.ToTime(v.LastModified))
				}
				return
			}
		}
		if err = k.store.failed("read an earlier version of", key, "s3:GetObjectVersion", Absent, err); !errors.Is(err, errAbsent) {
			errs[i] = err
		}
	})
	return slices.Concat(kept...), errors.Join(errs...)
}

// keeps are the rows with a policy that keeps them.
func (r *Record) keeps(at time.Time) (kept []Kept) {
	for _, id := range r.LogicalIDs() {
		row := r.Row(id)
		if row.PhysicalID != "" && (row.DeletionPolicy == "Retain" || row.DeletionPolicy == "RetainExceptOnCreate") {
			kept = append(kept, Kept{LogicalID: id, ResourceType: row.ResourceType, PhysicalID: row.PhysicalID, KeptAt: at.UnixMilli()})
		}
	}
	return kept
}

// earlier lists the newest versions of an object but the current one; most is
// how many, 0 all.
func (s *Store) earlier(ctx context.Context, key string, most int) (versions []types.ObjectVersion, err error) {
	in := &s3.ListObjectVersionsInput{Bucket: &s.bucket, Prefix: &key, EncodingType: types.EncodingTypeUrl}
	for {
		out, err := s.client.ListObjectVersions(ctx, in)
		if err != nil {
			return nil, s.failed("list the versions of", key, "s3:ListBucketVersions", Absent, err)
		}
		for _, v := range out.Versions { // newest first
			found, err := url.QueryUnescape(aws.ToString(v.Key))
			if err == nil && found == key && !aws.ToBool(v.IsLatest) {
				if versions = append(versions, v); len(versions) == most {
					return versions, nil
				}
			}
		}
		if !aws.ToBool(out.IsTruncated) {
			return versions, nil
		}
		marker, err := url.QueryUnescape(aws.ToString(out.NextKeyMarker)) // encoded as the keys are
		if err != nil {
			return nil, &RequestError{s.bucket, key, "list the versions of", err}
		}
		in.KeyMarker, in.VersionIdMarker = &marker, out.NextVersionIdMarker
	}
}

// keptByEvents finds the resources that runs said to have kept. A nested
// stack's events are in the runs of its root.
func (k *Stack) keptByEvents(ctx context.Context) (kept []Kept, err error) {
	root := k.root()
	ids, err := root.runIDs(ctx)
	if err != nil {
		return nil, err
	}
	ids = ids[max(0, len(ids)-historyRuns):]
	runs, errs := make([][]Event, len(ids)), make([]error, len(ids))
	parallel(len(ids), func(i int) { runs[i], errs[i] = root.Events(ctx, ids[i]) })

	type resource struct{ typ, id string }
	made := map[string]resource{} // by logical id, as the events go on
	for _, ev := range slices.Concat(runs...) {
		if ev.StackName != k.Name {
			continue
		}
		switch {
		case ev.EventType == ResourceSucceeded && ev.Operation == OpCreate && ev.PhysicalID != "":
			made[ev.LogicalID] = resource{ev.ResourceType, ev.PhysicalID}
		case ev.EventType == ResourceRetained:
			r := resource{ev.ResourceType, ev.PhysicalID}
			if r.id == "" {
				r = made[ev.LogicalID]
			}
			// Without a time there is no bound, and so no proof.
			at, err := time.Parse(time.RFC3339, ev.Timestamp)
			if err == nil && r.id != "" {
				kept = append(kept, Kept{LogicalID: ev.LogicalID, ResourceType: r.typ, PhysicalID: r.id, KeptAt: at.UnixMilli()})
			}
		}
	}
	return kept, errors.Join(errs...)
}

// EarlierVersions counts the earlier versions of what PurgeVersions purges that
// wanted says yes to.
func (k *Stack) EarlierVersions(ctx context.Context, wanted func(body []byte) bool) (n int, err error) {
	var errs []error
	for _, name := range withProperties {
		found, err := k.earlierVersions(ctx, k.key(name), wanted)
		n += found
		errs = append(errs, err)
		if is[*AccessError](err) {
			break // who may not look at these may not at the others
		}
	}
	return n, errors.Join(errs...)
}

func (k *Stack) earlierVersions(ctx context.Context, key string, wanted func(body []byte) bool) (int, error) {
	versions, err := k.store.earlier(ctx, key, 0)
	if err != nil {
		return 0, err
	}
	errs, counted := make([]error, len(versions)), make([]int, len(versions))
	parallel(len(versions), func(i int) {
		out, err := k.store.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &k.store.bucket, Key: &key, VersionId: versions[i].VersionId})
		var body []byte
		if err == nil {
			body, err = readAll(out.Body)
		}
		if err != nil {
			// One that went since it was listed holds nothing any more.
			if err = k.store.failed("read an earlier version of", key, "s3:GetObjectVersion", Absent, err); !errors.Is(err, errAbsent) {
				errs[i] = err
			}
		} else if wanted(body) {
			counted[i] = 1
		}
	})
	n := 0
	for _, c := range counted {
		n += c
	}
	return n, errors.Join(errs...)
}
