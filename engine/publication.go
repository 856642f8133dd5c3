package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/awssdk"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/synth"
)

// publishes is how many assets are published at once when nobody says.
const publishes = 8

// A publication is the publishing of one stack's assets. It goes on beside the
// work on resources, and holds up only those that name an asset.
type publication struct {
	slots     chan struct{} // of all stacks of the run
	publisher *asset.Publisher
	files     []asset.Asset

	cancel context.CancelFunc
	wg     routine.Group
	mu     sync.Mutex
	err    error
}

// publisher returns the publisher that all stacks of a run share.
func (e *Engine) publisher(account string) *asset.Publisher {
	return &asset.Publisher{
		AccountID: account, Builds: e.config.ImageBuilds,
		Env: synth.Environment(e.config.Environ, e.config.Environment),
		Client: func(region string) *s3.Client {
			return awssdk.S3Client(e.session(region).provider)
		},
		Repositories: func(region string) *ecr.Client {
			return provider.Client(e.session(region).provider, ecr.NewFromConfig)
		},
		Log: e.config.Children, Secrets: e.config.Secrets,
	}
}

// prepare finds out what a stack's changes need published. What cannot be
// published is refused here.
func (d *deployment) prepare(ctx context.Context, publisher *asset.Publisher) error {
	d.assets = &publication{publisher: publisher, slots: d.e.publishing}
	if d.opt.SkipAssets {
		return nil
	}
	all, err := asset.All(d.t.Assets, asset.Environment{Stack: d.t.Name, AccountID: d.account, Region: d.t.Region})
	if err != nil {
		return err
	}
	// What no resource of the stack names may be named by a nested stack, or
	// through a parameter: nobody can tell, so it is published.
	named, needed := map[asset.Asset]bool{}, map[asset.Asset]bool{}
	for _, c := range d.Changes {
		for _, f := range asset.Needed(all, c.Desired) {
			named[f] = true
			if c.Action != plan.NoChange {
				needed[f] = true
			}
		}
	}
	d.assets.files = slices.DeleteFunc(all, func(f asset.Asset) bool { return named[f] && !needed[f] })
	if len(d.assets.files) == 0 || d.t.storage == nil {
		return nil
	}
	_, err = d.t.storage.check(ctx)
	return err
}

// start begins to publish.
func (p *publication) start(ctx context.Context, published func(asset.Asset)) {
	ctx, p.cancel = context.WithCancel(ctx)
	for _, f := range p.files {
		p.wg.Go(func() {
			select {
			case p.slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-p.slots }()
			err := p.publisher.Publish(ctx, f)
			if err == nil {
				published(f)
				return
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.err == nil {
				p.err = err
			}
		})
	}
}

// needed tells whether a resource's properties name anything that is published.
func (p *publication) needed(properties any) bool {
	return p != nil && len(asset.Needed(p.files, properties)) > 0
}

// wait returns when everything that a resource's properties name is published.
func (p *publication) wait(ctx context.Context, properties any) error {
	if p == nil {
		return nil
	}
	for _, f := range asset.Needed(p.files, properties) {
		if err := p.publisher.Publish(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// finish waits for what is under way when everything went well, and stops it
// otherwise. It returns what went wrong with assets that no resource waited
// for.
func (p *publication) finish(failed bool) error {
	if failed {
		p.cancel()
	}
	p.wg.Wait()
	p.cancel()
	return p.err
}
