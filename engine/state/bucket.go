package state

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/org/cdkd-action/engine/routine"
)

// DefaultPrefix is the first part of every key of a stack, unless another is
// chosen.
const DefaultPrefix = "cdkd"

const ownerHeader = "x-amz-expected-bucket-owner"

// An Account tells the id of the account that the credentials belong to.
type Account func(context.Context) (string, error)

// Options say which bucket to open.
type Options struct {
	Bucket string
	Prefix string // used as it is, "" and a trailing slash included

	// Region is the bucket's when it is known; "" has it looked up.
	Region string

	// Account is asked beside that look-up; every request on an object names
	// the account as the bucket's expected owner. When it fails, or is nil,
	// they do not.
	Account Account

	// Profile is repeated in the commands that messages propose.
	Profile string

	// Draining, when set, closes when the run is to end within seconds: what
	// hangs is then given up sooner, and sent again.
	Draining <-chan struct{}

	// Warn, when set, takes what a person should read.
	Warn func(text string)
}

// A Store is an open state bucket. It is safe for concurrent use.
type Store struct {
	client  *s3.Client
	bucket  string
	prefix  string
	region  string
	located bool // the region is known, not assumed
	profile string
	warn    func(string)

	warned  sync.Map // what was said once
	scanner scanner

	mu      sync.Mutex
	exports map[string]*Exports // by region
}

// Open makes a client for the bucket in the bucket's own region. It sends one
// request for the region, beside Account, and none on the bucket's objects:
// whether the bucket is there and may be used, the first of those tells.
func Open(ctx context.Context, cfg aws.Config, opt Options) (*Store, error) {
	if opt.Bucket == "" {
		return nil, errors.New("open the state bucket: no bucket named")
	}
	var (
		wg      routine.Group
		account string
		region  = opt.Region
		located = true
	)
	cfg = withPatience(ownPool(cfg), opt.Draining)
	if opt.Account != nil {
		wg.Go(func() {
			if id, err := opt.Account(ctx); err == nil {
				account = id
			}
		})
	}
	if region == "" {
		region, located = bucketLocation(ctx, cfg, opt.Bucket)
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open state bucket %s: %w", opt.Bucket, context.Cause(ctx))
	}
	return newStore(cfg, opt, region, located, account), nil
}

func newStore(cfg aws.Config, opt Options, region string, located bool, account string) *Store {
	if opt.Warn == nil {
		opt.Warn = func(string) {}
	}
	return &Store{
		client:  newClient(cfg, region, account),
		warn:    opt.Warn,
		exports: map[string]*Exports{},
		scanner: scanner{slots: make(chan struct{}, scansAtOnce)},
		bucket:  opt.Bucket,
		prefix:  opt.Prefix,
		region:  region,
		located: located,
		profile: opt.Profile,
	}
}

// warnOnce warns of one kind of thing once a run.
func (s *Store) warnOnce(kind, text string) {
	if _, said := s.warned.LoadOrStore(kind, true); !said {
		s.warn(text)
	}
}

// Bucket is the bucket's name.
func (s *Store) Bucket() string { return s.bucket }

// Prefix is the first part of the keys of the stacks.
func (s *Store) Prefix() string { return s.prefix }

// Region is where the bucket is, as far as is known.
func (s *Store) Region() string { return s.region }

// Located tells whether Region is what S3 said, and not where the caller is
// because S3 did not say.
func (s *Store) Located() bool { return s.located }

// Check asks whether the bucket is there and may be used, for a command that
// does something costly before its first request on an object.
func (s *Store) Check(ctx context.Context) error {
	if _, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket}); err != nil {
		return s.failed("look for", "", "s3:ListBucket", Absent, err)
	}
	return nil
}

// ownPool gives the store's clients connections of their own: a lock's renewal
// must not queue behind the requests that provision.
func ownPool(cfg aws.Config) aws.Config {
	if c, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		cfg.HTTPClient = c.WithTransportOptions()
	}
	return cfg
}

func newClient(cfg aws.Config, region, account string) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.Region = region
		o.UsePathStyle = o.BaseEndpoint != nil // an emulator has no names for buckets
		if account != "" {
			o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue(ownerHeader, account))
		}
	})
}

// bucketLocation asks where the bucket is. Who may not ask is taken to be in
// the right place: the first request on an object tells otherwise.
func bucketLocation(ctx context.Context, cfg aws.Config, bucket string) (region string, known bool) {
	region = cfg.Region
	if region == "" {
		region = "us-east-1"
	}
	out, err := newClient(cfg, region, "").GetBucketLocation(ctx, &s3.GetBucketLocationInput{Bucket: &bucket})
	if err != nil {
		if r := bucketRegion(err); r != "" {
			return r, true // a redirect says it too
		}
		return region, false
	}
	switch out.LocationConstraint {
	case "":
		return "us-east-1", true
	case "EU":
		return "eu-west-1", true
	}
	return string(out.LocationConstraint), true
}

// A Source says how a bucket was chosen.
type Source string

// The sources, in their order of precedence.
const (
	FromInput         Source = "cli-flag"
	FromEnvironment   Source = "env"
	FromCDKJSON       Source = "cdk.json"
	FromDefault       Source = "default"
	FromLegacyDefault Source = "default-legacy"
)

// Wanted is what may name the bucket, in the order of precedence; "" names
// none.
type Wanted struct {
	Input       string
	Environment string // CDKD_STATE_BUCKET
	CDKJSON     string // context.cdkd.stateBucket
}

// A Choice is a bucket that was chosen.
type Choice struct {
	Bucket string
	Source Source
	Notice string // a warning to show; "" is none
}

// DefaultBucket is the name of an account's state bucket unless another is
// chosen.
func DefaultBucket(account string) string { return "cdkd-state-" + account }

// LegacyBucket is what it was called when every region had one of its own.
func LegacyBucket(account, region string) string { return DefaultBucket(account) + "-" + region }

// Resolve chooses the bucket: the one that is named, without a request, or
// else the account's default one, which is looked for under its name and under
// the older name that holds the region.
func Resolve(ctx context.Context, cfg aws.Config, w Wanted, account Account) (Choice, error) {
	for _, c := range []Choice{
		{Bucket: w.Input, Source: FromInput},
		{Bucket: w.Environment, Source: FromEnvironment},
		{Bucket: w.CDKJSON, Source: FromCDKJSON},
	} {
		if c.Bucket != "" {
			return c, nil
		}
	}
	id, err := account(ctx)
	if err != nil {
		return Choice{}, fmt.Errorf("find the default state bucket: %w", err)
	}
	region := cfg.Region
	if region == "" {
		region = "us-east-1"
	}
	names := [2]string{DefaultBucket(id), LegacyBucket(id, region)}
	client := newClient(cfg, "us-east-1", id)
	var (
		wg     routine.Group
		exists [2]bool
		errs   [2]error
	)
	for i, name := range names {
		wg.Go(func() { exists[i], errs[i] = bucketExists(ctx, client, name) })
	}
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return Choice{}, err
	}
	current := Choice{Bucket: names[0], Source: FromDefault}
	legacy := Choice{Bucket: names[1], Source: FromLegacyDefault, Notice: fmt.Sprintf(
		"state bucket %s has a name of an old form; move its content to %s with: cdkd state migrate --region %s",
		names[1], names[0], region)}
	switch {
	case exists[0] && exists[1]:
		if !hasState(ctx, cfg, id, names[0]) && hasState(ctx, cfg, id, names[1]) {
			return legacy, nil
		}
		return current, nil
	case exists[0]:
		return current, nil
	case exists[1]:
		return legacy, nil
	}
	return Choice{}, &NoBucketError{Bucket: names[0], Legacy: names[1]}
}

func bucketExists(ctx context.Context, client *s3.Client, bucket string) (bool, error) {
	_, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &bucket})
	if err == nil {
		return true, nil
	}
	switch st := status(err); {
	case st == http.StatusMovedPermanently, st == http.StatusForbidden, bucketRegion(err) != "":
		return true, nil
	case st == http.StatusNotFound:
		return false, nil
	}
	return false, &RequestError{Bucket: bucket, Doing: "look for", Err: err}
}

// hasState tells whether a bucket holds anything under the default prefix. A
// bucket that cannot be looked into counts as used.
func hasState(ctx context.Context, cfg aws.Config, account, bucket string) bool {
	region, _ := bucketLocation(ctx, cfg, bucket)
	out, err := newClient(cfg, region, account).ListObjectsV2(ctx, &s3.ListObjectsV2Input{
		Bucket: &bucket, Prefix: aws.String(DefaultPrefix + "/"), MaxKeys: aws.Int32(1),
	})
	return err != nil || len(out.Contents) > 0
}
