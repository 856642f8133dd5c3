package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// A Selection says which stacks of which app.
type Selection struct {
	Assembly string // the folder of the cloud assembly
	assembly.Selection

	// IgnoreErrors goes on although the app reports errors; Strict takes its
	// warnings for errors, and wins.
	Strict, IgnoreErrors bool
}

// A selected set of stacks is in the order of the assembly.
type selected struct {
	targets []target
	after   graph.Edges // by their keys, among the targets
	depends graph.Edges // the same, whatever the order of the run

	apart []idle // the app's stacks that are not selected

	portions []*portion // one for each account

	described map[string]map[string]provider.Description // types that only AWS knows, by region; set by preflight
}

// start reads and checks everything that can be checked without writing, and
// opens the state bucket beside it.
func (e *Engine) start(ctx context.Context, s Selection, parameters map[string]string) (*selected, error) {
	var wg routine.Group
	var store *state.Store
	var storeErr error
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	wg.Go(func() { store, storeErr = e.open(ctx) })
	sel, err := e.selectStacks(s, parameters)
	if err != nil {
		cancel() // nothing will be done with the bucket
		wg.Wait()
		return nil, err
	}
	wg.Wait()
	if own := sel.portionOf(e); own != nil && storeErr != nil {
		return nil, storeErr
	} else if own != nil {
		own.store = store
	}
	if err := e.checkAccounts(ctx, sel); err != nil {
		return nil, err
	}
	return sel, sel.each(func(p *portion) (err error) {
		if p.store == nil {
			p.store, err = p.e.open(ctx)
		}
		return err
	})
}

// Beside opens the state bucket beside the work that makes an assembly, so that it
// is open when the assembly is there. What goes wrong with it is not told here: the
// command asks again, and tells it after what is wrong with the app. Work that fails
// or is cancelled ends the requests.
func (e *Engine) Beside(ctx context.Context, work func(context.Context) error) error {
	var wg routine.Group
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { _, _ = e.open(ctx) })
	err := work(ctx)
	if err != nil {
		cancel()
	}
	wg.Wait()
	return err
}

func (e *Engine) selectStacks(s Selection, parameters map[string]string) (*selected, error) {
	a, err := assembly.Read(s.Assembly)
	if err != nil {
		return nil, err
	}
	stacks, err := a.Select(s.Selection)
	if err != nil {
		return nil, err
	}
	if err := a.CheckContext(); err != nil {
		return nil, err
	}
	if err := e.secretsInNames(stacks, parameters); err != nil {
		return nil, err
	}
	if err := e.messages(stacks, s); err != nil {
		return nil, err
	}
	if unused := unusedParameters(stacks, parameters); unused != nil {
		return nil, &InputError{
			What: fmt.Sprintf("no selected stack has a parameter %s", strings.Join(unused, ", ")),
			Next: "check the spelling; Stack:Name=value names the parameter of one stack",
			Page: guide.UnknownParameter,
		}
	}
	after, err := a.Order(stacks)
	if err != nil {
		return nil, err
	}
	sel := &selected{after: after, depends: after}
	for _, stack := range stacks {
		if stack.Region == "" && e.config.AWS.Region == "" {
			e.observe(Event{Kind: Warning, Stack: stack.Name, Region: e.defaultRegion(),
				Text: "no region is named, so this is " + e.defaultRegion() + ": name one with the input region, AWS_REGION or a profile"})
		}
		if err := checkName(stack.Name); err != nil {
			return nil, err
		}
		t := e.targetOf(stack, parameters)
		if stack.AccountID != "" {
			t.account = stack.AccountID
		}
		sel.targets = append(sel.targets, t)
	}
	for _, stack := range a.Stacks {
		if !slices.Contains(stacks, stack) {
			sel.apart = append(sel.apart, e.targetOf(stack, parameters).idle())
		}
	}
	e.divide(sel)
	return sel, nil
}

// stackName is what CloudFormation takes for the name of a stack.
var stackName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,127}$`)

// checkName refuses a name that no stack can have: it becomes part of keys and
// of the names of resources.
func checkName(name string) error {
	switch {
	case !stackName.MatchString(name):
		return &InputError{
			What: fmt.Sprintf("%q cannot be the name of a stack", name),
			Next: "give the stack a name of at most 128 letters, digits and hyphens that begins with a letter",
			Page: guide.StackName,
		}
	case state.Reserved(name):
		return &InputError{
			What: fmt.Sprintf("%s cannot be the name of a stack: the state bucket has a folder of that name for something else", name),
			Next: "give the stack another name",
			Page: guide.StackName,
		}
	}
	return nil
}

// messages shows what the app says about its stacks. Its errors refuse them.
func (e *Engine) messages(stacks []*assembly.Stack, selection Selection) error {
	var refused []string
	least, what := assembly.Error, "errors"
	if selection.Strict {
		least, what = assembly.Warning, "warnings or errors"
	}
	for _, s := range stacks {
		for _, m := range s.Messages {
			kind := map[assembly.Level]EventKind{assembly.Info: Notice, assembly.Warning: AppWarning, assembly.Error: AppError}[m.Level]
			at := s.Source(m.Path)
			e.observe(Event{Kind: kind, Stack: s.Name, Text: m.String(), File: at.File, Line: at.Line})
		}
		if selection.IgnoreErrors && !selection.Strict {
			continue
		}
		for _, m := range s.Worst(least) {
			refused = append(refused, m.String())
		}
	}
	if refused == nil {
		return nil
	}
	return &SynthError{
		What: "the app reports " + what + ": " + strings.Join(refused, "; "),
		Next: "mend what the app complains about and synthesize it again",
	}
}

// eachStack works on the stacks in dependency order, side by side where they
// are independent, and collects their results in the order of the assembly. A
// stack of which there is no result is worked on again when the others are done.
// Those that wait for a stack go on when the work on it ends, or says that what
// they wait for is gone.
func (e *Engine) eachStack(sel *selected, limit int, run *result.Run, work func(t target, gone func()) *result.Stack) {
	results := make([]*result.Stack, len(sel.targets))
	var tasks []graph.Task
	var ending routine.Group
	for i, t := range sel.targets {
		tasks = append(tasks, graph.Task{ID: t.key(), Run: func(context.Context) error {
			gone, done := make(chan struct{}), make(chan error, 1)
			ending.Go(func() {
				done <- routine.Try(func() error {
					if results[i] == nil {
						results[i] = work(t, sync.OnceFunc(func() { close(gone) }))
					}
					return nil
				})
			})
			select {
			case <-gone:
				return nil
			case fault := <-done:
				if fault != nil {
					return fault
				}
			}
			if results[i] == nil {
				return errPutOff
			}
			if o := results[i].Outcome; o.ExitCode() == 1 || o == result.Cancelled {
				return errors.New("a stack that others wait for did not get done")
			}
			return nil
		}})
	}
	var outcomes map[string]graph.Outcome
	for again := true; again; {
		outcomes = graph.Run(context.Background(), tasks, sel.after, graph.Options{Limit: limit, KeepGoing: true, Stop: e.config.Window.Draining()})
		again = slices.ContainsFunc(sel.targets, func(t target) bool { return errors.Is(outcomes[t.key()].Err, errPutOff) })
	}
	ending.Wait()
	for i, t := range sel.targets {
		if results[i] == nil {
			results[i] = sel.of(t).e.notStarted(t, outcomes[t.key()])
		}
		if t.source != nil {
			for j := range results[i].Failures {
				f := &results[i].Failures[j]
				at := t.source(f.Path)
				f.File, f.Line = at.File, at.Line
			}
		}
		run.Add(results[i])
	}
}

// resultOf is the result of a stack, of which nothing is known yet.
func (e *Engine) resultOf(t target) *result.Stack {
	return &result.Stack{Name: t.Name, Region: t.Region, Account: e.named, DisplayName: t.DisplayName}
}

// notStarted is the result of a stack that was not worked on.
func (e *Engine) notStarted(t target, o graph.Outcome) *result.Stack {
	s := e.resultOf(t)
	s.Outcome, s.Reason = result.Failed, result.ReasonResource
	switch {
	case o.Err != nil:
		e.explain(o.Err)
		s.Reason, s.Message, s.Remedy, s.Page = result.ReasonInternal, o.Err.Error(), Remedy(o.Err), e.page(o.Err)
	case o.Status == graph.Skipped:
		s.Message = "not started: a stack that it depends on did not get done"
	default:
		s.Outcome, s.Reason = result.Cancelled, ""
		s.Message = "not started: the run was interrupted before"
	}
	e.observe(Event{Kind: StackFinished, Stack: t.Name, Region: t.Region, Result: s})
	return s
}
