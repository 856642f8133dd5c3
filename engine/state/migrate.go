package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/org/cdkd-action/engine/amount"
)

// MigrateOptions say which bucket's content goes where.
type MigrateOptions struct {
	From, To  string
	AccountID string // that both must belong to
	DryRun    bool   // look only
	// Remove deletes the old bucket, with all versions of what was in it, when
	// the new one has everything.
	Remove bool
}

// A Migrated bucket has been copied.
type Migrated struct {
	From, To string
	Region   string // of the new bucket
	Objects  int    // in the old one
	Copied   int    // of them, those that the new one did not have
	// Superseded are those that were copied before and changed or deleted in the new
	// one since: they stay as they are there.
	Superseded int
	Created    bool   // the new bucket was made
	Removed    bool   // the old one was deleted
	Notice     string // what a person should read; "" is nothing
}

// A BucketLockedError says that stacks of a bucket are locked, so that what is
// in it may be about to change.
type BucketLockedError struct {
	Bucket string
	Keys   []string
}

func (e *BucketLockedError) Error() string {
	return fmt.Sprintf("state bucket %s has locks: %s", e.Bucket, strings.Join(firstOf(e.Keys), ", "))
}

// Remedy says what to do about it.
func (e *BucketLockedError) Remedy() string {
	return "wait until the runs that hold them are done; remove those of runs that are known to be dead with force-unlock"
}

// A DifferingError says that two buckets have the same keys with something else
// in them, or that the new one has them no more, and that neither was made from
// the other. Nobody but a person can tell which is right.
type DifferingError struct {
	From, To string
	Keys     []string
}

func (e *DifferingError) Error() string {
	return fmt.Sprintf("%s %s between %s and %s: %s", amount.Of(len(e.Keys), "object"), amount.Form(len(e.Keys), "differs", "differ"), e.From, e.To, strings.Join(firstOf(e.Keys), ", "))
}

// Remedy says what to do about it.
func (e *DifferingError) Remedy() string {
	return "nothing was copied over; look at both, delete the one of each that is out of date, and migrate again"
}

func firstOf(keys []string) []string {
	const most = 5
	if len(keys) <= most {
		return keys
	}
	return append(slices.Clone(keys[:most]), fmt.Sprintf("and %d more", len(keys)-most))
}

// Migrate copies everything in one state bucket to another, key by key, and
// makes that one when there is none. What is there already stays, so it can be
// run again; so does what was copied before and has been changed or deleted there since.
// What differs otherwise is refused, before anything is copied.
func Migrate(ctx context.Context, cfg aws.Config, opt MigrateOptions) (Migrated, error) {
	m := &migration{opt: opt, Migrated: Migrated{From: opt.From, To: opt.To}}
	if err := m.run(ctx, cfg); err != nil {
		return m.Migrated, fmt.Errorf("migrate state bucket %s to %s: %w", opt.From, opt.To, err)
	}
	return m.Migrated, nil
}

type migration struct {
	Migrated
	opt      MigrateOptions
	from, to *Store // to is nil while there is no such bucket

	superseded map[string]bool // keys of the old one
}

// A content is what a listing tells of the objects, by key.
type content map[string]listed

type listed struct {
	etag string
	size int64
}

func (m *migration) run(ctx context.Context, cfg aws.Config) (err error) {
	account := func(context.Context) (string, error) { return m.opt.AccountID, nil }
	if m.from, err = Open(ctx, cfg, Options{Bucket: m.opt.From, Account: account}); err != nil {
		return err
	}
	before, err := m.from.content(ctx)
	if err != nil {
		return err
	}
	m.Objects = len(before)
	if err := before.unlocked(m.opt.From); err != nil {
		return err
	}
	if m.to, err = Open(ctx, cfg, Options{Bucket: m.opt.To, Account: account}); err != nil {
		return err
	}
	there, err := m.to.content(ctx)
	if is[*NoBucketError](err) {
		m.to, err = nil, nil
	}
	if err != nil {
		return err
	}
	missing, err := m.compare(ctx, before, there)
	if err != nil {
		return err
	}
	m.Copied = len(missing)
	if m.opt.DryRun {
		m.Created = m.to == nil
		return nil
	}
	made, err := Bootstrap(ctx, cfg, BootstrapOptions{Bucket: m.opt.To, AccountID: m.opt.AccountID})
	if err != nil {
		return err
	}
	m.Created, m.Region, m.Notice = made.Created, made.Region, made.Notice
	if m.to, err = Open(ctx, cfg, Options{Bucket: m.opt.To, Region: made.Region, Account: account}); err != nil {
		return err
	}
	if err := m.copyAll(ctx, missing); err != nil {
		return err
	}
	if err := m.verify(ctx, before); err != nil {
		return err
	}
	if !m.opt.Remove {
		return nil
	}
	if err := m.from.Demolish(ctx); err != nil {
		return err
	}
	m.Removed = true
	return nil
}

// content lists the whole bucket.
func (s *Store) content(ctx context.Context) (content, error) {
	found := content{}
	pages := s3.NewListObjectsV2Paginator(s.client, &s3.ListObjectsV2Input{Bucket: &s.bucket})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return nil, s.failed("list", "", "s3:ListBucket", Absent, err)
		}
		for _, o := range out.Contents {
			found[aws.ToString(o.Key)] = listed{aws.ToString(o.ETag), aws.ToInt64(o.Size)}
		}
	}
	return found, nil
}

// unlocked refuses when there is a lock of any stack, expired or not.
func (c content) unlocked(bucket string) error {
	var locks []string
	for key := range c {
		if strings.HasSuffix(key, "/"+lockName) {
			locks = append(locks, key)
		}
	}
	if locks == nil {
		return nil
	}
	slices.Sort(locks)
	return &BucketLockedError{Bucket: bucket, Keys: locks}
}

// compare returns the keys to copy: those that the new bucket does not have.
func (m *migration) compare(ctx context.Context, source, there content) (missing []string, err error) {
	var unlike []string // by their ETags, which encryption changes too
	for _, key := range slices.Sorted(maps.Keys(source)) {
		switch have, ok := there[key]; {
		case !ok:
			missing = append(missing, key)
		case have.etag != source[key].etag:
			unlike = append(unlike, key)
		}
	}
	differs, errs := make([]bool, len(unlike)), make([]error, len(unlike))
	parallel(len(unlike), func(i int) { differs[i], errs[i] = m.differs(ctx, unlike[i]) })
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	var keys []string
	for i, key := range unlike {
		if differs[i] {
			keys = append(keys, key)
		}
	}
	if len(missing)+len(keys) > 0 && m.to != nil {
		if missing, keys, err = m.supersede(ctx, missing, keys); err != nil {
			return nil, err
		}
	}
	if keys != nil {
		slices.Sort(keys)
		return nil, &DifferingError{From: m.opt.From, To: m.opt.To, Keys: keys}
	}
	return missing, nil
}

func (m *migration) differs(ctx context.Context, key string) (bool, error) {
	a, _, err := m.from.get(ctx, key)
	if err != nil {
		return false, err
	}
	b, _, err := m.to.get(ctx, key)
	return !bytes.Equal(a, b), err
}

// copyAll copies objects that were not there, and still must not be.
func (m *migration) copyAll(ctx context.Context, keys []string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	parallel(len(keys), func(i int) {
		if ctx.Err() != nil {
			return
		}
		if err := m.copy(ctx, keys[i]); err != nil {
			stop(err) // the first failure tells enough
		}
	})
	return context.Cause(ctx)
}

func (m *migration) copy(ctx context.Context, key string) error {
	in := &s3.CopyObjectInput{
		Bucket: &m.opt.To, Key: &key, CopySource: aws.String(m.opt.From + "/" + escaped(key)),
		ExpectedSourceBucketOwner: &m.opt.AccountID, IfNoneMatch: aws.String("*"),
	}
	_, err := m.to.client.CopyObject(ctx, in)
	if status(err) == http.StatusNotImplemented {
		in.IfNoneMatch = nil
		_, err = m.to.client.CopyObject(ctx, in)
	}
	if err == nil {
		return nil
	}
	if err = m.to.failed("copy", key, "s3:PutObject", Absent, err); !isConflict(err) {
		return err
	}
	// Made by somebody else since, or by a request whose answer was lost.
	if differs, err := m.differs(ctx, key); err != nil {
		return err
	} else if differs {
		return &DifferingError{From: m.opt.From, To: m.opt.To, Keys: []string{key}}
	}
	return nil
}

// escaped is a key as the header that names the source of a copy wants it.
func escaped(key string) string {
	return strings.NewReplacer("%2F", "/", "+", "%20").Replace(url.QueryEscape(key))
}

// verify makes sure that the new bucket has everything and that the old one is
// what was copied.
func (m *migration) verify(ctx context.Context, copied content) error {
	now, err := m.from.content(ctx)
	if err != nil {
		return err
	}
	if err := now.unlocked(m.opt.From); err != nil {
		return err
	}
	if !maps.Equal(now, copied) {
		return fmt.Errorf("%s was changed while it was copied: let nothing run that uses it, and migrate again", m.opt.From)
	}
	there, err := m.to.content(ctx)
	if err != nil {
		return err
	}
	for key, want := range copied {
		if m.superseded[key] {
			continue
		}
		if have, ok := there[key]; !ok || have.size != want.size {
			return fmt.Errorf("%s is not in %s as it was copied: migrate again", key, m.opt.To)
		}
	}
	return nil
}

// Demolish deletes the bucket with every version of everything in it.
func (s *Store) Demolish(ctx context.Context) error {
	pages := s3.NewListObjectVersionsPaginator(s.client, &s3.ListObjectVersionsInput{Bucket: &s.bucket})
	for pages.HasMorePages() {
		out, err := pages.NextPage(ctx)
		if err != nil {
			return s.failed("list the versions in", "", "s3:ListBucketVersions", Absent, err)
		}
		var ids []types.ObjectIdentifier
		for _, v := range out.Versions {
			ids = append(ids, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}
		for _, d := range out.DeleteMarkers {
			ids = append(ids, types.ObjectIdentifier{Key: d.Key, VersionId: d.VersionId})
		}
		if err := s.removeVersions(ctx, ids); err != nil {
			return err
		}
	}
	if _, err := s.client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &s.bucket}); err != nil {
		return s.failed("delete", "", "s3:DeleteBucket", Absent, err)
	}
	return nil
}
