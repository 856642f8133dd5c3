package state

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/partition"
	"github.com/org/cdkd-action/engine/value"
)

// bucketWait is how long a bucket may take to be there after it was made.
const bucketWait = 2 * time.Minute

// BootstrapOptions say which state bucket to make.
type BootstrapOptions struct {
	Bucket    string // "": the account's default one
	AccountID string // that the bucket must belong to
	// Force puts the settings on a bucket that was there before, too.
	Force  bool
	Assets bool // the bucket is for assets: nothing is overwritten there, and gc frees what it deletes
}

// A Bootstrapped is a state bucket that is there.
type Bootstrapped struct {
	Bucket, Region string
	Created        bool
	Configured     bool // the settings were put
	// Notice, when not "", is what a person should read.
	Notice string
}

// A ForeignBucketError says that a bucket belongs to another account, or may
// not be used by this one: names of buckets are shared by all accounts.
type ForeignBucketError struct {
	Bucket, AccountID string
	Err               error
}

func (e *ForeignBucketError) Error() string {
	return fmt.Sprintf("bucket %s is not account %s's to keep state in: %v", e.Bucket, e.AccountID, e.Err)
}

func (e *ForeignBucketError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *ForeignBucketError) Remedy() string {
	return "choose another name with the input state-bucket; if the bucket is this account's, allow s3:ListBucket on it"
}

// An UnconfiguredError says that a bucket is there, and that a setting could not
// be put on it, nor those after it.
type UnconfiguredError struct {
	Bucket string
	Err    error
}

func (e *UnconfiguredError) Error() string {
	return fmt.Sprintf("the bucket is there, but not all of its settings (versioning, encryption, the policy that denies other accounts): %v", e.Err)
}

func (e *UnconfiguredError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *UnconfiguredError) Remedy() string {
	return "bootstrap again with force, which puts all settings: without it a bucket that is there is left as it is"
}

// Bootstrap makes the state bucket in the region of cfg, or makes sure that it
// is there and the account's. A new bucket keeps versions, encrypts, and denies
// every other account; what was there before is left as it is, unless forced.
func Bootstrap(ctx context.Context, cfg aws.Config, opt BootstrapOptions) (Bootstrapped, error) {
	b := Bootstrapped{Bucket: opt.Bucket, Region: cfg.Region}
	if b.Bucket == "" {
		b.Bucket = DefaultBucket(opt.AccountID)
	}
	if b.Region == "" {
		b.Region = "us-east-1"
	}
	if opt.AccountID == "" {
		return b, errors.New("bootstrap: without the account's id nobody can say whose the bucket is")
	}
	if err := b.make(ctx, cfg, opt); err != nil {
		what := "state"
		if opt.Assets {
			what = "asset"
		}
		return b, fmt.Errorf("bootstrap %s bucket %s in %s: %w", what, b.Bucket, b.Region, err)
	}
	return b, nil
}

func (b *Bootstrapped) make(ctx context.Context, cfg aws.Config, opt BootstrapOptions) error {
	client := newClient(cfg, b.Region, opt.AccountID)
	_, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.Bucket})
	if elsewhere := bucketRegion(err); elsewhere != "" && elsewhere != b.Region {
		b.Region = elsewhere
		client = newClient(cfg, b.Region, opt.AccountID)
		_, err = client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.Bucket})
	}
	switch status(err) {
	case http.StatusNotFound:
		if err := b.create(ctx, cfg, opt.AccountID); err != nil {
			return err
		}
	case http.StatusForbidden:
		return &ForeignBucketError{b.Bucket, opt.AccountID, err}
	default:
		if err != nil {
			return err
		}
		if !opt.Force && opt.Assets {
			return nil
		}
		if !opt.Force {
			return b.verify(ctx, client)
		}
	}
	if err := b.configure(ctx, client, opt); err != nil {
		return &UnconfiguredError{b.Bucket, err}
	}
	b.Configured = true
	return nil
}

func (b *Bootstrapped) create(ctx context.Context, cfg aws.Config, account string) error {
	client := newClient(cfg, b.Region, "") // what does not exist has no owner to expect
	in := &s3.CreateBucketInput{Bucket: &b.Bucket}
	if b.Region != "us-east-1" {
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(b.Region)}
	}
	_, err := client.CreateBucket(ctx, in)
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch api.ErrorCode() {
		case "BucketAlreadyExists":
			return &ForeignBucketError{b.Bucket, account, err}
		case "BucketAlreadyOwnedByYou": // by a request whose answer was lost, or somebody beside us
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	b.Created = true
	if err := s3.NewBucketExistsWaiter(client).Wait(ctx, &s3.HeadBucketInput{Bucket: &b.Bucket}, bucketWait); err != nil {
		return fmt.Errorf("wait for the new bucket: %w", err)
	}
	return nil
}

// verify tells a person what an existing bucket lacks of what a new one gets.
func (b *Bootstrapped) verify(ctx context.Context, client *s3.Client) error {
	lacks, err := lacking(ctx, client, b.Bucket)
	var texts []string
	for _, l := range lacks {
		next := ", which takes " + l.Permission
		if l.Permission == "" {
			next = "; bootstrap with force " + l.forced
		}
		texts = append(texts, l.Text+next)
	}
	b.Notice = strings.Join(texts, "; ")
	return err
}

// A Lack is what a bucket has not of what a new one gets, or may not be asked about.
type Lack struct {
	Text       string
	Permission string // to ask about it; "" when it was answered
	forced     string // what bootstrap with force does about it
}

// Lacks says what the bucket lacks.
func (s *Store) Lacks(ctx context.Context) ([]Lack, error) {
	lacks, err := lacking(ctx, s.client, s.bucket)
	if err != nil {
		return nil, fmt.Errorf("state bucket %s: %w", s.bucket, err)
	}
	return lacks, nil
}

// lacking does not look at the encryption, which every bucket has.
func lacking(ctx context.Context, client *s3.Client, bucket string) (lacks []Lack, err error) {
	out, err := client.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: &bucket})
	switch {
	case status(err) == http.StatusForbidden:
		lacks = append(lacks, Lack{Text: "whether the bucket keeps versions could not be looked at", Permission: "s3:GetBucketVersioning"})
	case err != nil:
		return nil, fmt.Errorf("look at the versioning: %w", err)
	case out.Status != types.BucketVersioningStatusEnabled:
		lacks = append(lacks, Lack{Text: "the bucket does not keep versions: a record that was overwritten or deleted cannot be restored", forced: "to switch versioning on"})
	}
	_, err = client.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: &bucket})
	switch api, _ := errors.AsType[smithy.APIError](err); {
	case status(err) == http.StatusForbidden:
		lacks = append(lacks, Lack{Text: "whether the bucket has a policy could not be looked at", Permission: "s3:GetBucketPolicy"})
	case api != nil && api.ErrorCode() == "NoSuchBucketPolicy":
		lacks = append(lacks, Lack{Text: "the bucket has no policy that denies other accounts", forced: "to put it"})
	case err != nil:
		return nil, fmt.Errorf("look at the policy: %w", err)
	}
	return lacks, nil
}

func (b *Bootstrapped) configure(ctx context.Context, client *s3.Client, opt BootstrapOptions) error {
	if opt.Assets {
		_, err := client.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{
			Bucket: &b.Bucket,
			PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
				BlockPublicAcls: aws.Bool(true), BlockPublicPolicy: aws.Bool(true), IgnorePublicAcls: aws.Bool(true), RestrictPublicBuckets: aws.Bool(true),
			},
		})
		if err != nil {
			return fmt.Errorf("block public access: %w", err)
		}
	} else {
		_, err := client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
			Bucket:                  &b.Bucket,
			VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
		})
		if err != nil {
			return fmt.Errorf("switch versioning on: %w", err)
		}
	}
	_, err := client.PutBucketEncryption(ctx, &s3.PutBucketEncryptionInput{
		Bucket: &b.Bucket,
		ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{{
			ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAes256},
			BucketKeyEnabled:                   aws.Bool(true),
		}}},
	})
	if err != nil {
		return fmt.Errorf("switch encryption on: %w", err)
	}
	policy := b.policy(opt.AccountID)
	if _, err := client.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &b.Bucket, Policy: &policy}); err != nil {
		return fmt.Errorf("deny access to other accounts: %w", err)
	}
	return nil
}

func (b *Bootstrapped) policy(account string) string {
	arn := "arn:" + partition.Of(b.Region) + ":s3:::" + b.Bucket
	return value.JSON(value.NewObject(
		"Version", "2012-10-17",
		"Statement", []any{value.NewObject(
			"Sid", "DenyExternalAccess",
			"Effect", "Deny",
			"Principal", "*",
			"Action", "s3:*",
			"Resource", []any{arn, arn + "/*"},
			"Condition", value.NewObject("StringNotEquals", value.NewObject("aws:PrincipalAccount", account)),
		)},
	))
}
