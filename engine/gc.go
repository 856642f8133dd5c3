package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	ecrtypes "github.com/aws/aws-sdk-go-v2/service/ecr/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/state"
)

// keepAssets is how long an asset stays that nothing names.
const keepAssets = 30 * 24 * time.Hour

// How many S3 and ECR delete with one request.
const (
	objectsAtOnce = 1000
	imagesAtOnce  = 100
)

// GCOptions say which assets are garbage.
type GCOptions struct {
	OlderThan time.Duration // 0: 30 days
	DryRun    bool          // say what would be deleted
	// SharedByNone says that buckets which cannot be looked into are no state buckets
	// that have the storage.
	SharedByNone bool
	Consent      func(Collected) bool
}

// Collected is the garbage of a region's asset storage.
type Collected struct {
	Storage  *state.AssetStorage // nil: the region has none of its own
	SharedBy []string            // other state buckets that have it; what they name stays
	Garbage  []Garbage           // what was deleted, or is to be
	Kept     int                 // assets that stay
	Declined bool                // nothing was done
}

// Garbage is an asset that nothing recorded names.
type Garbage struct {
	ID    string // an object's key, or an image's digest
	Image bool
	Tags  []string // an image's
	Size  int64
	Since time.Time
}

// Size is how much is freed.
func (c Collected) Size() (n int64) {
	for _, g := range c.Garbage {
		n += g.Size
	}
	return n
}

// A LockedError says that somebody is, or may be, at work on stacks.
type LockedError struct{ Keys []string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("assets may be about to be used, because there are locks (GC_LOCKED): %s", strings.Join(e.Keys, ", "))
}

// Remedy says what to do about it.
func (e *LockedError) Remedy() string {
	return "wait until those runs are over; the lock of a run that is dead goes with force-unlock"
}

// GC deletes assets of the region's own storage that no record, open operation or
// journal names, in this state bucket or another one of the account that has the
// storage, whatever its prefix, and that are older than a while. It refuses while any
// stack is locked: a deploy takes its lock before it relies on an asset that is there.
func (e *Engine) GC(ctx context.Context, opt GCOptions) (c Collected, err error) {
	if opt.OlderThan == 0 {
		opt.OlderThan = keepAssets
	}
	account, err := e.account(ctx)
	if err != nil {
		return c, err
	}
	store, err := e.open(ctx)
	if err != nil {
		return c, err
	}
	if c.Storage, err = store.AssetStorage(ctx, e.defaultRegion()); err != nil || c.Storage == nil {
		return c, err
	}
	stores, err := e.sharing(ctx, store, *c.Storage, opt.SharedByNone)
	if err != nil {
		return c, err
	}
	c.SharedBy = stores.Others()
	if err := unlocked(ctx, stores); err != nil {
		return c, err
	}
	g := collector{
		storage: *c.Storage, account: account, before: now().Add(-opt.OlderThan),
		s3: s3.NewFromConfig(e.ConfigOf(c.Storage.Region)), ecr: ecr.NewFromConfig(e.ConfigOf(c.Storage.Region)),
	}
	old, young, err := g.old(ctx)
	if err != nil {
		return c, err
	}
	if c.Garbage, err = unnamed(ctx, stores, old); err != nil {
		return c, fmt.Errorf("find out which assets are used: %w", err)
	}
	c.Kept = young + len(old) - len(c.Garbage)
	if len(c.Garbage) == 0 || opt.DryRun {
		return c, nil
	}
	if opt.Consent != nil && !opt.Consent(c) {
		c.Declined = true
		return c, nil
	}
	all := c.Garbage
	if err := unlocked(ctx, stores); err != nil { // that took a while
		c.Garbage = nil
		return c, err
	}
	c.Garbage, err = g.remove(ctx, all)
	c.Kept += len(all) - len(c.Garbage)
	return c, err
}

func unlocked(ctx context.Context, in state.Sharers) error {
	var all []string
	for i, store := range in.Stores {
		locks, err := store.Locked(ctx)
		if err != nil {
			return err
		}
		for _, key := range locks {
			if i > 0 {
				key = "s3://" + store.Bucket() + "/" + key
			}
			all = append(all, key)
		}
	}
	if all != nil {
		return &LockedError{all}
	}
	return nil
}

// contentHash is what the CDK calls assets by.
var contentHash = regexp.MustCompile(`[0-9a-f]{64}`)

// unnamed returns those that nothing in the state buckets names. An asset counts
// as named when its hash stands anywhere; one without a hash, when its name does.
func unnamed(ctx context.Context, in state.Sharers, old []Garbage) ([]Garbage, error) {
	hashes, others := map[string]bool{}, map[string]bool{}
	each := func(g Garbage, do func(name string, in map[string]bool)) {
		for _, name := range append([]string{g.ID}, g.Tags...) {
			if hash := contentHash.FindString(name); hash != "" {
				do(hash, hashes)
			} else {
				do(name, others)
			}
		}
	}
	for _, g := range old {
		each(g, func(name string, in map[string]bool) { in[name] = false })
	}
	var mu sync.Mutex
	see := func(text []byte) {
		mu.Lock()
		defer mu.Unlock()
		for _, hash := range contentHash.FindAll(text, -1) {
			if _, ok := hashes[string(hash)]; ok {
				hashes[string(hash)] = true
			}
		}
		for name, named := range others {
			others[name] = named || bytes.Contains(text, []byte(name))
		}
	}
	for _, store := range in.Stores {
		if err := store.Texts(ctx, see); err != nil {
			return nil, fmt.Errorf("state bucket %s: %w", store.Bucket(), err)
		}
	}
	return slices.DeleteFunc(slices.Clone(old), func(g Garbage) bool {
		named := false
		each(g, func(name string, in map[string]bool) { named = named || in[name] })
		return named
	}), nil
}

// A collector works on one region's asset storage.
type collector struct {
	storage state.AssetStorage
	account string
	before  time.Time
	s3      *s3.Client
	ecr     *ecr.Client
}

// old lists what was there before the collector's time, and counts what was not.
// What has no time is new.
func (c *collector) old(ctx context.Context) (old []Garbage, young int, err error) {
	add := func(g Garbage, since *time.Time) {
		if since == nil || !since.Before(c.before) {
			young++
			return
		}
		g.Since = *since
		old = append(old, g)
	}
	objects := s3.NewListObjectsV2Paginator(c.s3, &s3.ListObjectsV2Input{Bucket: &c.storage.AssetBucket, ExpectedBucketOwner: &c.account})
	for objects.HasMorePages() {
		page, err := objects.NextPage(ctx)
		if err != nil {
			return nil, 0, c.refused(err)
		}
		for _, o := range page.Contents {
			add(Garbage{ID: aws.ToString(o.Key), Size: aws.ToInt64(o.Size)}, o.LastModified)
		}
	}
	images := ecr.NewDescribeImagesPaginator(c.ecr, &ecr.DescribeImagesInput{RepositoryName: &c.storage.ContainerRepo})
	for images.HasMorePages() {
		page, err := images.NextPage(ctx)
		if errors.As(err, new(*ecrtypes.RepositoryNotFoundException)) {
			break
		}
		if err != nil {
			return nil, 0, fmt.Errorf("list the images in %s: %w", c.storage.ContainerRepo, err)
		}
		for _, i := range page.ImageDetails {
			add(Garbage{ID: aws.ToString(i.ImageDigest), Image: true, Tags: i.ImageTags, Size: aws.ToInt64(i.ImageSizeInBytes)}, i.ImagePushedAt)
		}
	}
	return old, young, nil
}

func (c *collector) refused(err error) error {
	switch answered(err) {
	case http.StatusForbidden:
		return &StorageError{c.storage.Region, fmt.Sprintf("bucket %s is another account's, or may not be used", c.storage.AssetBucket),
			"allow s3:ListBucket and s3:DeleteObject on it, if it is this account's", err}
	case http.StatusNotFound:
		return &StorageError{c.storage.Region, fmt.Sprintf("there is no bucket %s (ASSET_STORAGE_MISSING)", c.storage.AssetBucket), "make it again with bootstrap", nil}
	}
	return fmt.Errorf("list what is in asset bucket %s: %w", c.storage.AssetBucket, err)
}

// remove deletes assets and returns those that are gone, also with an error.
func (c *collector) remove(ctx context.Context, all []Garbage) (gone []Garbage, err error) {
	var objects, images []Garbage
	for _, g := range all {
		if g.Image {
			images = append(images, g)
		} else {
			objects = append(objects, g)
		}
	}
	// An image for several platforms goes before those that it is made of, which
	// have no tags.
	slices.SortStableFunc(images, func(a, b Garbage) int { return min(len(b.Tags), 1) - min(len(a.Tags), 1) })
	var faults []error
	for batch := range slices.Chunk(objects, objectsAtOnce) {
		kept, err := c.removeObjects(ctx, batch)
		if err != nil {
			return gone, fmt.Errorf("delete objects of asset bucket %s: %w", c.storage.AssetBucket, err)
		}
		gone = append(gone, without(batch, kept, &faults)...)
	}
	for batch := range slices.Chunk(images, imagesAtOnce) {
		kept, err := c.removeImages(ctx, batch)
		if err != nil {
			return gone, fmt.Errorf("delete images of repository %s: %w", c.storage.ContainerRepo, err)
		}
		gone = append(gone, without(batch, kept, &faults)...)
	}
	return gone, errors.Join(faults...)
}

// without returns the batch without what was kept, for which each reason that is
// not nil is a fault.
func without(batch []Garbage, kept map[string]error, faults *[]error) []Garbage {
	return slices.DeleteFunc(slices.Clone(batch), func(g Garbage) bool {
		why, ok := kept[g.ID]
		if why != nil {
			*faults = append(*faults, why)
		}
		return ok
	})
}

func (c *collector) removeObjects(ctx context.Context, batch []Garbage) (kept map[string]error, err error) {
	var ids []s3types.ObjectIdentifier
	for _, g := range batch {
		ids = append(ids, s3types.ObjectIdentifier{Key: aws.String(g.ID)})
	}
	out, err := c.s3.DeleteObjects(ctx, &s3.DeleteObjectsInput{
		Bucket: &c.storage.AssetBucket, ExpectedBucketOwner: &c.account, Delete: &s3types.Delete{Objects: ids, Quiet: aws.Bool(true)},
	})
	if err != nil {
		return nil, err
	}
	kept = map[string]error{}
	for _, f := range out.Errors {
		kept[aws.ToString(f.Key)] = fmt.Errorf("delete %s: %w", aws.ToString(f.Key), &smithy.GenericAPIError{Code: aws.ToString(f.Code), Message: aws.ToString(f.Message)})
	}
	return kept, nil
}

func (c *collector) removeImages(ctx context.Context, batch []Garbage) (kept map[string]error, err error) {
	var ids []ecrtypes.ImageIdentifier
	for _, g := range batch {
		ids = append(ids, ecrtypes.ImageIdentifier{ImageDigest: aws.String(g.ID)})
	}
	out, err := c.ecr.BatchDeleteImage(ctx, &ecr.BatchDeleteImageInput{RepositoryName: &c.storage.ContainerRepo, ImageIds: ids})
	if err != nil {
		return nil, err
	}
	kept = map[string]error{}
	for _, f := range out.Failures {
		digest := aws.ToString(f.ImageId.ImageDigest)
		switch f.FailureCode {
		case ecrtypes.ImageFailureCodeImageReferencedByManifestList: // of an image that stays, or goes with this batch: the next time
			kept[digest] = nil
		case ecrtypes.ImageFailureCodeImageNotFound:
		default:
			kept[digest] = fmt.Errorf("delete image %s: %s: %s", digest, f.FailureCode, aws.ToString(f.FailureReason))
		}
	}
	return kept, nil
}
