package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A StorageError says that a region's asset storage cannot be used. Assets never
// go elsewhere instead: the next run would look for them here.
type StorageError struct {
	Region, What, Next string
	Err                error // may be nil
}

func (e *StorageError) Error() string {
	text := fmt.Sprintf("asset storage of %s: %s", e.Region, e.What)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *StorageError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *StorageError) Remedy() string { return e.Next }

// sharing finds the state buckets that have the storage. It refuses when some bucket
// of the account cannot be looked into, unless none of those is said to be one.
func (e *Engine) sharing(ctx context.Context, store *state.Store, a state.AssetStorage, byNone bool) (state.Sharers, error) {
	if a.AssetBucket == store.Bucket() {
		return state.Sharers{}, &StorageError{a.Region, fmt.Sprintf("bucket %s holds the state, too, so that nothing in it can be deleted as an asset", a.AssetBucket),
			"bootstrap with another state bucket, and deploy with that one", nil}
	}
	account, err := e.account(ctx)
	if err != nil {
		return state.Sharers{}, err
	}
	found, err := store.Sharing(ctx, e.ConfigOf(store.Region()), account, a)
	switch {
	case err != nil || found.Unseen == nil:
	case byNone:
		e.observe(Event{Kind: Warning, Region: a.Region, Text: fmt.Sprintf("that no other state bucket has bucket %s and repository %s was said, and not seen: %v",
			a.AssetBucket, a.ContainerRepo, found.Unseen)})
	default:
		err = &StorageError{a.Region, fmt.Sprintf("whether stacks of another state bucket use bucket %s and repository %s cannot be told", a.AssetBucket, a.ContainerRepo),
			"allow s3:ListAllMyBuckets, and s3:ListBucket and s3:GetObject on the account's buckets, of which only cdkd-bootstrap/* is looked at " +
				"where it is no state bucket; or, if no other state bucket has this storage, set no-other-state-bucket to true", found.Unseen}
	}
	return found, err
}

// A placement is the asset storage of one region, as the stacks of a run use it.
type placement struct {
	state.AssetStorage
	check func(context.Context) (struct{}, error) // once that it can be used
}

// redirect points assets, and all that names them, to the asset storage of
// cdkd's own in the regions that have one. It comes after macros are expanded.
// create makes storage where there is none.
func (e *Engine) redirect(ctx context.Context, sel *selected, store *state.Store, create bool) error {
	if e.config.CDKStorage {
		return nil
	}
	account, err := e.account(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	wanted := map[string]asset.Storage{}
	for i := range sel.targets {
		t := &sel.targets[i]
		if t.redirection = asset.Redirect(t.Assets, asset.Environment{Stack: t.Name, AccountID: account, Region: t.Region}); t.redirection != nil {
			wanted[t.Region] = asset.Storage{}
		}
	}
	regions := sortedKeys(wanted)
	found, faults := make([]*state.AssetStorage, len(regions)), make([]error, len(regions))
	var wg routine.Group
	for i, region := range regions {
		wg.Go(func() { found[i], faults[i] = e.assetStorage(ctx, store, account, region, create) })
	}
	wg.Wait()
	if err := joined(nonNil(faults...)); err != nil {
		return err
	}
	storages := map[string]*placement{}
	for i, region := range regions {
		if found[i] == nil {
			e.observe(Event{Kind: Detail, Region: region, Text: "assets go where the app puts them: " + region + " has no asset storage of cdkd's own"})
			continue
		}
		a := *found[i]
		storages[region] = &placement{a, once(func(ctx context.Context) (struct{}, error) {
			return struct{}{}, e.checkStorage(ctx, a, account)
		})}
	}
	for i := range sel.targets {
		t := &sel.targets[i]
		if t.storage = storages[t.Region]; t.redirection == nil || t.storage == nil {
			t.redirection, t.storage = nil, nil
			continue
		}
		if err := t.redirect(); err != nil {
			return err
		}
	}
	return nil
}

// redirectPublished points assets that are published by themselves to where a
// deploy would put them. Without a state bucket nothing says that they go
// elsewhere than the app says.
func (e *Engine) redirectPublished(ctx context.Context, sel *selected) error {
	if e.config.CDKStorage {
		return nil
	}
	store, err := e.open(ctx)
	if is[*state.NoBucketError](err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := e.redirect(ctx, sel, store, false); err != nil {
		return err
	}
	for _, t := range sel.targets {
		if t.storage != nil {
			if _, err := t.storage.check(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// assetStorage returns that of a region, nil when it has none and none is to be
// made.
func (e *Engine) assetStorage(ctx context.Context, store *state.Store, account, region string, create bool) (*state.AssetStorage, error) {
	a, err := store.AssetStorage(ctx, region)
	if denied, ok := errors.AsType[*state.AccessError](err); ok {
		return nil, &StorageError{region, "whether there is one cannot be told",
			"allow s3:GetObject on cdkd-bootstrap/* of the state bucket, or set use-cdk-bootstrap-assets to true", denied}
	}
	if a != nil || err != nil || !create {
		return a, err
	}
	made, err := e.makeStorage(ctx, store, account, region, BootstrapOptions{})
	if err != nil {
		e.observe(Event{Kind: Warning, Region: region, Text: fmt.Sprintf("asset storage of cdkd's own could not be made, so the assets go where the app puts them: %v", err)})
		return nil, nil
	}
	e.observe(Event{Kind: Notice, Region: region, Text: fmt.Sprintf("asset storage was made in %s: bucket %s, repository %s", region, made.AssetBucket, made.ContainerRepo)})
	return &made, nil
}

// redirect rewrites a target for its storage.
func (t *target) redirect() error {
	to := asset.Storage{Bucket: t.storage.AssetBucket, Repository: t.storage.ContainerRepo}
	t.Assets = t.redirection.Manifest(t.Assets, to)
	var err error
	if t.Template, err = redirected(t.redirection, t.Template, to); err != nil {
		return fmt.Errorf("stack %s: %w", t.Name, err)
	}
	if t.Nested, err = redirectedNested(t.redirection, t.Nested, to); err != nil {
		return fmt.Errorf("stack %s: %w", t.Name, err)
	}
	return nil
}

func redirected(r *asset.Redirection, t *template.Template, to asset.Storage) (*template.Template, error) {
	body, changed := r.Value(t.Body, to)
	if !changed {
		return t, nil
	}
	text, err := value.Marshal(body)
	if err != nil {
		return nil, err
	}
	return template.Parse(t.Name, text)
}

func redirectedNested(r *asset.Redirection, below map[string]*assembly.Nested, to asset.Storage) (map[string]*assembly.Nested, error) {
	next := map[string]*assembly.Nested{}
	for id, n := range below {
		other := *n
		var err error
		if other.Template, err = redirected(r, n.Template, to); err != nil {
			return nil, fmt.Errorf("nested stack %s: %w", id, err)
		}
		if other.Nested, err = redirectedNested(r, n.Nested, to); err != nil {
			return nil, fmt.Errorf("nested stack %s: %w", id, err)
		}
		next[id] = &other
	}
	return next, nil
}

// placed is a stack's asset manifest as a deploy publishes it. Where it cannot be
// told, it is the app's.
func (e *Engine) placed(ctx context.Context, m *assembly.AssetManifest, env asset.Environment) *assembly.AssetManifest {
	r := asset.Redirect(m, env)
	if r == nil || e.config.CDKStorage {
		return m
	}
	store, err := e.open(ctx)
	if err != nil {
		return m
	}
	a, err := store.AssetStorage(ctx, env.Region)
	if a == nil || err != nil {
		return m
	}
	return r.Manifest(m, asset.Storage{Bucket: a.AssetBucket, Repository: a.ContainerRepo})
}

// checkStorage makes sure that what a marker names is there, and the account's.
func (e *Engine) checkStorage(ctx context.Context, a state.AssetStorage, account string) error {
	again := "make it again with bootstrap, or set use-cdk-bootstrap-assets to true"
	var wg routine.Group
	var bucketErr, repositoryErr error
	wg.Go(func() {
		_, err := s3.NewFromConfig(e.ConfigOf(a.Region)).HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &a.AssetBucket, ExpectedBucketOwner: &account})
		switch status := answered(err); {
		case status == http.StatusNotFound:
			bucketErr = &StorageError{a.Region, fmt.Sprintf("there is no bucket %s (ASSET_STORAGE_MISSING)", a.AssetBucket), again, nil}
		case status == http.StatusForbidden:
			bucketErr = &StorageError{a.Region, fmt.Sprintf("bucket %s is another account's, or may not be used (ASSET_STORAGE_FOREIGN_BUCKET)", a.AssetBucket),
				"allow s3:ListBucket on it; if it is not this account's, find out who took it and choose another name with bootstrap", err}
		case err != nil:
			bucketErr = fmt.Errorf("look for asset bucket %s: %w", a.AssetBucket, err)
		}
	})
	wg.Go(func() {
		_, err := ecr.NewFromConfig(e.ConfigOf(a.Region)).DescribeRepositories(ctx, &ecr.DescribeRepositoriesInput{RepositoryNames: []string{a.ContainerRepo}})
		if errors.As(err, new(*types.RepositoryNotFoundException)) {
			repositoryErr = &StorageError{a.Region, fmt.Sprintf("there is no repository %s (ASSET_STORAGE_MISSING)", a.ContainerRepo), again, nil}
		} else if err != nil {
			repositoryErr = fmt.Errorf("look for repository %s: %w", a.ContainerRepo, err)
		}
	})
	wg.Wait()
	return cmp.Or(bucketErr, repositoryErr)
}

// answered is the status of an answer that is an error, 0 when there is none.
func answered(err error) int {
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return r.HTTPStatusCode()
	}
	return 0
}

var (
	bucketName     = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	repositoryName = regexp.MustCompile(`^[a-z0-9]+([._/-][a-z0-9]+)*$`)
)

// makeStorage makes a region's asset storage, or makes sure that it is there;
// what names it is written last.
func (e *Engine) makeStorage(ctx context.Context, store *state.Store, account, region string, opt BootstrapOptions) (want state.AssetStorage, err error) {
	marked, err := store.AssetStorage(ctx, region)
	if err != nil {
		return want, err
	}
	want = state.AssetStorage{
		Region:        region,
		AssetBucket:   fmt.Sprintf("cdkd-assets-%s-%s", account, region),
		ContainerRepo: fmt.Sprintf("cdkd-container-assets-%s-%s", account, region),
	}
	if marked != nil {
		want = *marked
	}
	want.AssetBucket, want.ContainerRepo = cmp.Or(opt.AssetBucket, want.AssetBucket), cmp.Or(opt.ContainerRepo, want.ContainerRepo)
	switch {
	case !bucketName.MatchString(want.AssetBucket):
		return want, &InputError{What: fmt.Sprintf("asset-bucket: %q cannot be the name of a bucket", want.AssetBucket),
			Next: "use 3 to 63 small letters, digits, dots and hyphens, with a letter or digit at both ends"}
	case want.AssetBucket == store.Bucket():
		return want, &InputError{What: fmt.Sprintf("asset-bucket: %q is the state bucket", want.AssetBucket), Next: "choose another name, or leave it out"}
	case len(want.ContainerRepo) < 2 || len(want.ContainerRepo) > 256 || !repositoryName.MatchString(want.ContainerRepo):
		return want, &InputError{What: fmt.Sprintf("container-repo: %q cannot be the name of a repository", want.ContainerRepo),
			Next: "use 2 to 256 small letters and digits, in groups with a dot, hyphen, slash or underscore between them"}
	case marked != nil && (marked.AssetBucket != want.AssetBucket || marked.ContainerRepo != want.ContainerRepo):
		return want, &StorageError{region, fmt.Sprintf("it is bucket %s and repository %s already (ASSET_STORAGE_NAME_CONFLICT)", marked.AssetBucket, marked.ContainerRepo),
			"leave the names out to keep them; to change them, first delete the storage with bootstrap and destroy", nil}
	}
	cfg := e.ConfigOf(region)
	if _, err := state.Bootstrap(ctx, cfg, state.BootstrapOptions{Bucket: want.AssetBucket, AccountID: account, Force: opt.Force, Assets: true}); err != nil {
		return want, err
	}
	_, err = ecr.NewFromConfig(cfg).CreateRepository(ctx, &ecr.CreateRepositoryInput{
		RepositoryName: &want.ContainerRepo, ImageTagMutability: types.ImageTagMutabilityImmutable,
	})
	if err != nil && !errors.As(err, new(*types.RepositoryAlreadyExistsException)) {
		return want, fmt.Errorf("make repository %s in %s: %w", want.ContainerRepo, region, err)
	}
	if marked != nil {
		return want, nil
	}
	return want, store.MarkAssetStorage(ctx, want)
}
