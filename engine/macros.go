package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/macro"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// expand has CloudFormation expand the templates of the selected stacks that only
// it can, each in its region, and nested stacks' never: nothing says what a macro
// would be told there. off refuses them instead.
func (e *Engine) expand(ctx context.Context, sel *selected, store *state.Store, off bool) error {
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	faults := make([]error, len(sel.targets))
	var wg routine.Group
	for i := range sel.targets {
		t := &sel.targets[i]
		macros := t.Template.Macros()
		switch {
		case len(macros) == 0:
		case off:
			faults[i] = &template.MacroError{Template: t.Template.Name, Macros: macros}
		default:
			wg.Go(func() { faults[i] = e.expandOne(ctx, t, store) })
		}
	}
	wg.Wait()
	return joined(nonNil(faults...))
}

func (e *Engine) expandOne(ctx context.Context, t *target, store *state.Store) error {
	body, err := value.Marshal(t.Template.Body)
	if err != nil {
		return err
	}
	warn := func(text string) { e.observe(Event{Kind: Warning, Stack: t.Name, Region: t.Region, Text: text}) }
	x := macro.Expander{
		Client:  provider.Client(e.session(t.Region).provider, cloudformation.NewFromConfig),
		Upload:  e.lender(store, warn),
		Wait:    func(ctx context.Context, d time.Duration) error { return provider.Sleep(ctx, nil, d) },
		Cleanup: e.config.Window.Cleanup, Warn: warn,
	}
	e.observe(Event{Kind: Detail, Stack: t.Name, Region: t.Region, Text: "CloudFormation expands its macros"})
	expanded, err := x.Expand(ctx, t.Template, body, t.Parameters)
	if err != nil {
		return err
	}
	for _, r := range expanded.Resources {
		if r.Type == nestedType && t.Nested[r.LogicalID] == nil {
			return &InputError{
				What: fmt.Sprintf("stack %s: a macro makes %s a nested stack, whose template is not in the assembly", t.Name, r.LogicalID),
				Next: "deploy that application by itself, and hand in what the stack needs of it as a parameter",
				Page: guide.Macro,
			}
		}
	}
	t.Template = expanded
	return nil
}

// lender puts what CloudFormation is to read into the state bucket for as long as
// that takes.
func (e *Engine) lender(store *state.Store, warn func(string)) func(ctx context.Context, stack string, body []byte) (string, func(), error) {
	return func(ctx context.Context, stack string, body []byte) (string, func(), error) {
		url, remove, err := store.Lend(ctx, stack, body)
		return url, func() {
			ctx, cancel := e.config.Window.Cleanup(10 * time.Second)
			defer cancel()
			if err := remove(ctx); err != nil {
				warn(err.Error())
			}
		}, err
	}
}
