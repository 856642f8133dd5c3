package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// The stacks of a run may be of several accounts. Each account has an engine, with
// credentials and a state bucket of its own, that works on its stacks as it would on
// theirs alone; the one that was asked keeps the order among all of them. What they
// share is when to stop, whom to tell, which secrets to mask, how much is published at
// once, and the locks, so that one call lets go of all.

// An Account is what another account than that of Config.AWS is worked on with.
type Account struct {
	ID      string
	AWS     aws.Config
	RoleARN string // as Config.RoleARN
}

// ofAccount is the engine of another account.
func (e *Engine) ofAccount(a Account) *Engine {
	config := e.config
	config.AWS, config.RoleARN, config.Bucket, config.Others = a.AWS, a.RoleARN, state.Wanted{}, nil
	o := New(config)
	o.account = func(context.Context) (string, error) { return a.ID, nil } // a role is of one account
	o.named, o.publishing, o.locks = a.ID, e.publishing, e.locks
	return o
}

// all are the engines of all accounts, this one first.
func (e *Engine) all() []*Engine {
	all := []*Engine{e}
	for _, a := range e.config.Others {
		all = append(all, e.others[a.ID])
	}
	return all
}

// in is the engine of an account; it is this one for an account that has none.
func (e *Engine) in(account string) *Engine {
	if o := e.others[account]; o != nil {
		return o
	}
	return e
}

// A portion is those of the selected stacks that are of one account.
type portion struct {
	*selected
	e     *Engine
	store *state.Store // set by start

	publisher *asset.Publisher // set by openPublishers

	at []int // of its targets in the whole; nil when it is the whole
}

// alone makes the selection one portion.
func (e *Engine) alone(sel *selected, store *state.Store) {
	sel.portions = []*portion{{selected: sel, e: e, store: store}}
}

// divide makes a portion of the stacks of each account.
func (e *Engine) divide(sel *selected) {
	for i, t := range sel.targets {
		o := e.in(t.account)
		p := sel.portionOf(o)
		if p == nil {
			p = &portion{selected: &selected{after: sel.after, depends: sel.depends, apart: sel.apart}, e: o, at: []int{}}
			sel.portions = append(sel.portions, p)
		}
		p.targets, p.at = append(p.targets, t), append(p.at, i)
	}
	if len(sel.portions) == 1 {
		sel.portions[0].selected, sel.portions[0].at = sel, nil
	}
}

// checkAccounts refuses stacks of accounts that there are no credentials for, and
// several accounts with one bucket.
func (e *Engine) checkAccounts(ctx context.Context, sel *selected) error {
	if p := sel.portionOf(e); p != nil {
		account, err := e.account(ctx)
		if err != nil {
			return err
		}
		if err := p.inAccount(account, e.config.Others); err != nil {
			return err
		}
	}
	for _, p := range sel.portions {
		if p.e != e && e.config.Bucket != (state.Wanted{}) {
			return &InputError{
				What: fmt.Sprintf("a state bucket is named, and stack %s is of another account (%s), whose state is in a bucket of its own", p.targets[0].Name, p.e.named),
				Next: "leave state-bucket, CDKD_STATE_BUCKET and context.cdkd.stateBucket away, so that each account's bucket is its default one; or make a step for each account",
				Page: guide.WrongAccount,
			}
		}
	}
	return nil
}

// inAccount refuses stacks that are made for another account.
func (s *selected) inAccount(account string, others []Account) error {
	var elsewhere []string
	for _, t := range s.targets {
		if t.elsewhere(account) {
			elsewhere = append(elsewhere, fmt.Sprintf("%s is for account %s", t.Name, t.account))
		}
	}
	if elsewhere == nil {
		return nil
	}
	have := account
	for _, a := range others {
		have += " and " + a.ID
	}
	return &InputError{
		What: fmt.Sprintf("the credentials are of account %s, but %s", have, strings.Join(elsewhere, ", ")),
		Next: "name a role of each account in role-arn, one a line; or use credentials of that account, or select other stacks",
		Page: guide.WrongAccount,
	}
}

// portionOf is that of an engine, nil if none of the stacks is of its account.
func (s *selected) portionOf(e *Engine) *portion {
	for _, p := range s.portions {
		if p.e == e {
			return p
		}
	}
	return nil
}

// of is the portion that a target belongs to.
func (s *selected) of(t target) *portion {
	for _, p := range s.portions {
		for _, o := range p.targets {
			if o.key() == t.key() {
				return p
			}
		}
	}
	return nil
}

// each does something with every portion, side by side. What it makes of the targets
// is what the whole has then.
func (s *selected) each(do func(*portion) error) error {
	faults := make([]error, len(s.portions))
	var wg routine.Group
	for i, p := range s.portions {
		wg.Go(func() { faults[i] = do(p) })
	}
	wg.Wait()
	for _, p := range s.portions {
		for i, at := range p.at {
			s.targets[at] = p.targets[i]
		}
	}
	return joined(nonNil(faults...))
}

func (s *selected) expand(ctx context.Context, off bool) error {
	return s.each(func(p *portion) error { return p.e.expand(ctx, p.selected, p.store, off) })
}

func (s *selected) redirect(ctx context.Context, create bool) error {
	return s.each(func(p *portion) error { return p.e.redirect(ctx, p.selected, p.store, create) })
}

func (s *selected) preflight(ctx context.Context, options provider.RouterOptions) error {
	return s.each(func(p *portion) error { return p.e.preflight(ctx, p.selected, options) })
}

func (s *selected) checkExports() error {
	return s.each(func(p *portion) error { return p.checkExportNames() })
}

// openPublishers lets assets be published to each account.
func (s *selected) openPublishers(ctx context.Context) error {
	return s.each(func(p *portion) error {
		account, err := p.e.account(ctx)
		if err == nil {
			p.publisher = p.e.publisher(account)
		}
		return err
	})
}

func (s *selected) closePublishers() {
	for _, p := range s.portions {
		if err := p.publisher.Close(); err != nil {
			p.e.observe(Event{Kind: Warning, Text: err.Error()})
		}
	}
}
