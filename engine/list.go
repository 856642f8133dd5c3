package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/graph"
)

// A Listed is a stack of an app, and when it can be deployed.
type Listed struct {
	*assembly.Stack
	After []string // the other stacks of the list, by their IDs, that come before it
	// Wave is 0 for a stack that comes after none of the others, and otherwise
	// one more than the latest of those that it comes after: the stacks of a wave
	// can be deployed at once.
	Wave int
}

// List returns the selected stacks, all when none is named, each after those that
// it comes after. It only reads the assembly, and refuses templates that no deploy
// would take.
func (e *Engine) List(ctx context.Context, s Selection) ([]Listed, error) {
	s.All = s.All || len(s.Patterns) == 0
	a, err := assembly.Read(s.Assembly)
	if err != nil {
		return nil, err
	}
	stacks, err := a.Select(s.Selection)
	if err != nil {
		return nil, err
	}
	if err := e.secretsInNames(stacks, nil); err != nil {
		return nil, err
	}
	var faults []error
	for _, stack := range stacks {
		faults = append(faults, checkTemplate(ctx, stack.Name, stack.Region, stack.AccountID, stack.Template, stack.Nested)...)
	}
	if faults != nil {
		return nil, joined(faults)
	}
	after, err := a.Order(stacks)
	if err != nil {
		return nil, err
	}
	if stacks, err = a.Sorted(stacks); err != nil {
		return nil, err
	}
	list, waves := make([]Listed, len(stacks)), map[string]int{}
	for i, stack := range stacks {
		wave := 0
		for _, before := range after[stack.ID] {
			wave = max(wave, waves[before]+1)
		}
		waves[stack.ID] = wave
		list[i] = Listed{Stack: stack, After: after[stack.ID], Wave: wave}
	}
	return list, nil
}

// Check reads the selected stacks, all when none is named, as a deploy would, and
// refuses what a deploy would refuse without asking AWS. It returns them as List
// does.
func (e *Engine) Check(ctx context.Context, s Selection) ([]Listed, error) {
	s.All = s.All || len(s.Patterns) == 0
	sel, err := e.selectStacks(s, nil)
	if err != nil {
		return nil, err
	}
	if err := sel.checkAssets(); err != nil {
		return nil, err
	}
	return e.List(ctx, s)
}

// Published is what PublishAssets made sure of.
type Published struct {
	Stack string
	asset.Asset
}

// PublishAssets publishes what the selected stacks need published, and changes
// nothing else: each file and image that is not at its destination yet. What was
// published is returned also when something else could not be.
func (e *Engine) PublishAssets(ctx context.Context, s Selection) ([]Published, error) {
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	sel, err := e.selectStacks(s, nil)
	if err != nil {
		return nil, err
	}
	if err := sel.checkAssets(); err != nil {
		return nil, err
	}
	if err := e.checkAccounts(ctx, sel); err != nil {
		return nil, err
	}
	if err := sel.each(func(p *portion) error { return p.e.redirectPublished(ctx, p.selected) }); err != nil {
		return nil, err
	}
	var done []Published
	var faults []error
	for _, p := range sel.portions {
		published, err := p.publish(ctx)
		done, faults = append(done, published...), append(faults, err)
		if p.e.config.Window.Interrupted() {
			break
		}
	}
	return done, joined(nonNil(faults...))
}

// publish publishes what the stacks of one account need.
func (p *portion) publish(ctx context.Context) ([]Published, error) {
	account, err := p.e.account(ctx)
	if err != nil {
		return nil, err
	}
	var all []Published
	seen := map[string]bool{}
	for _, t := range p.targets {
		assets, err := asset.All(t.Assets, asset.Environment{Stack: t.Name, AccountID: account, Region: t.Region})
		if err != nil {
			return nil, err
		}
		for _, a := range assets {
			if !seen[a.URL()] {
				all = append(all, Published{t.Name, a})
			}
			seen[a.URL()] = true
		}
	}
	return p.e.publishAll(ctx, p.e.publisher(account), all)
}

func (e *Engine) publishAll(ctx context.Context, publisher *asset.Publisher, all []Published) ([]Published, error) {
	var tasks []graph.Task
	var mu sync.Mutex
	done := map[string]bool{}
	for _, p := range all {
		tasks = append(tasks, graph.Task{ID: p.URL(), Run: func(ctx context.Context) error {
			if err := publisher.Publish(ctx, p.Asset); err != nil {
				return err
			}
			e.observe(Event{Kind: AssetPublished, Stack: p.Stack, Text: p.String() + " is at " + p.URL()})
			mu.Lock()
			defer mu.Unlock()
			done[p.URL()] = true
			return nil
		}})
	}
	outcomes := graph.Run(ctx, tasks, nil, graph.Options{Limit: cap(e.publishing), KeepGoing: true, Stop: e.config.Window.Draining()})
	var faults []error
	for _, t := range tasks {
		if err := outcomes[t.ID].Err; err != nil {
			faults = append(faults, err)
		}
	}
	if e.config.Window.Interrupted() {
		faults = []error{&InterruptedError{}}
	}
	if err := publisher.Close(); err != nil {
		faults = append(faults, fmt.Errorf("forget the logins of registries: %w", err))
	}
	all = slices.DeleteFunc(all, func(p Published) bool { return !done[p.URL()] })
	return all, joined(faults)
}
