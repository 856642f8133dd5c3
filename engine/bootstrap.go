package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"

	"github.com/org/cdkd-action/engine/state"
)

// BootstrapOptions say what to make.
type BootstrapOptions struct {
	Force    bool // put the settings on buckets that were there before, too
	NoAssets bool // only the state bucket

	AssetBucket, ContainerRepo string // "": those of the region's marker, or else the default ones
}

// A Bootstrapped account has a state bucket, and asset storage in a region unless
// that was not wanted.
type Bootstrapped struct {
	State  state.Bootstrapped
	Assets *state.AssetStorage // nil: not wanted
}

// Bootstrap makes the state bucket, or makes sure that it is there and ours, and
// then a bucket and a repository for assets; what names them is written last.
func (e *Engine) Bootstrap(ctx context.Context, opt BootstrapOptions) (b Bootstrapped, err error) {
	account, err := e.account(ctx)
	if err != nil {
		return b, err
	}
	region := e.defaultRegion()
	cfg := e.ConfigOf(region)
	named := cmp.Or(e.config.Bucket.Input, e.config.Bucket.Environment, e.config.Bucket.CDKJSON)
	b.State, err = state.Bootstrap(ctx, cfg, state.BootstrapOptions{Bucket: named, AccountID: account, Force: opt.Force})
	if err != nil || opt.NoAssets {
		return b, err
	}
	store, err := state.Open(ctx, cfg, state.Options{Bucket: b.State.Bucket, Prefix: e.config.Prefix, Region: b.State.Region, Account: e.account,
		Warn: func(text string) { e.observe(Event{Kind: Warning, Text: text}) }})
	if err != nil {
		return b, err
	}
	made, err := e.makeStorage(ctx, store, account, region, opt)
	if err == nil {
		b.Assets = &made
	}
	return b, err
}

// DismantleOptions say what of a bootstrap is to go.
type DismantleOptions struct {
	Force       bool // although something recorded uses it
	StateBucket bool // the state bucket, too
	// SharedByNone says that buckets which cannot be looked into are no state buckets
	// that have the storage.
	SharedByNone bool
	Consent      func(Dismantled) bool
}

// A Dismantled bootstrap is what was deleted, or is to be.
type Dismantled struct {
	Assets      *state.AssetStorage // nil: there was none in the region
	SharedBy    []string            // other state buckets that have it, so that only the marker goes
	StateBucket string              // "": it stays
	Declined    bool                // nothing was done
}

// A UsedError says that what a bootstrap made is still in use.
type UsedError struct {
	What string
	By   []string // keys
}

func (e *UsedError) Error() string {
	return fmt.Sprintf("%s cannot go, because of %s", e.What, strings.Join(e.By, ", "))
}

// Remedy says what to do about it.
func (e *UsedError) Remedy() string { return "destroy those stacks first" }

// Dismantle deletes the asset storage of a region, its marker last, and the state
// bucket if that is asked for. Storage that another state bucket of the account has,
// too, stays: its stacks use it.
func (e *Engine) Dismantle(ctx context.Context, opt DismantleOptions) (d Dismantled, err error) {
	region := e.defaultRegion()
	store, err := e.open(ctx)
	if err != nil {
		return d, err
	}
	if d.Assets, err = store.AssetStorage(ctx, region); err != nil {
		return d, err
	}
	if a := d.Assets; a != nil && !opt.Force {
		users, err := store.Mentions(ctx, a.AssetBucket, a.ContainerRepo)
		if err != nil {
			return d, err
		}
		if users != nil {
			return d, &UsedError{"the asset storage of " + region, users}
		}
		sharers, err := e.sharing(ctx, store, *a, opt.SharedByNone)
		if err != nil {
			return d, err
		}
		d.SharedBy = sharers.Others()
	}
	if opt.StateBucket {
		d.StateBucket = store.Bucket()
		users, err := store.Mentions(ctx)
		if err != nil {
			return d, err
		}
		others, err := store.AssetStorages(ctx)
		if err != nil {
			return d, err
		}
		for _, o := range others {
			if d.Assets == nil || o.Region != d.Assets.Region {
				users = append(users, "the asset storage of "+o.Region)
			}
		}
		if users != nil {
			slices.Sort(users)
			return d, &UsedError{"state bucket " + d.StateBucket, users}
		}
	}
	if d.Assets == nil && d.StateBucket == "" {
		return d, nil
	}
	if opt.Consent != nil && !opt.Consent(d) {
		d.Declined = true
		return d, nil
	}
	switch {
	case d.SharedBy != nil:
		if err := store.UnmarkAssetStorage(ctx, d.Assets.Region); err != nil {
			return d, err
		}
	case d.Assets != nil:
		if err := e.dismantleAssets(ctx, store, *d.Assets); err != nil {
			return d, err
		}
	}
	if d.StateBucket != "" {
		return d, store.Demolish(ctx)
	}
	return d, nil
}

func (e *Engine) dismantleAssets(ctx context.Context, store *state.Store, a state.AssetStorage) error {
	cfg := e.ConfigOf(e.defaultRegion())
	assets, err := state.Open(ctx, cfg, state.Options{Bucket: a.AssetBucket, Account: e.account})
	if err != nil {
		return err
	}
	if err := assets.Demolish(ctx); err != nil && !is[*state.NoBucketError](err) {
		return fmt.Errorf("delete asset bucket %s: %w", a.AssetBucket, err)
	}
	_, err = ecr.NewFromConfig(cfg).DeleteRepository(ctx, &ecr.DeleteRepositoryInput{RepositoryName: &a.ContainerRepo, Force: true})
	if err != nil && !errors.As(err, new(*types.RepositoryNotFoundException)) {
		return fmt.Errorf("delete repository %s: %w", a.ContainerRepo, err)
	}
	return store.UnmarkAssetStorage(ctx, a.Region)
}
