package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/cloudformation"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
)

// ImportOptions say what of a stack is to be recorded that exists in AWS.
type ImportOptions struct {
	Selection  // of one stack; one that is nested in another is Parent~Nested
	Parameters map[string]string
	Router     provider.RouterOptions
	NoMacros   bool

	// Resources are physical ids by logical id, and Tagged, when set, says by which
	// tags more are found. With either, only those resources are imported, unless
	// Auto is set.
	Resources map[string]string
	Tagged    *Tagged
	Auto      bool // look for the other resources of the template, too

	// FromCloudFormation takes a stack over from CloudFormation, whose name there
	// is StackName ("": the same): what is recorded is what it was deployed from,
	// and then it is removed there, without its resources.
	FromCloudFormation bool
	StackName          string

	Force  bool // record anew what is recorded already
	DryRun bool // say what would be recorded, and write nothing

	// Found, when set, is shown what was found, before anybody is asked.
	Found func(*Imported) error
	// Consent, when set, is asked before anything is written, under the lock.
	Consent func(*Imported) bool
}

// An ImportOutcome is what became of one resource of an import.
type ImportOutcome string

// What an import of a resource can come to.
const (
	ImportDone        ImportOutcome = "imported"
	SkippedNoImpl     ImportOutcome = "skipped-no-impl"      // nothing can read it from AWS
	SkippedNotFound   ImportOutcome = "skipped-not-found"    // AWS has none that is it
	SkippedOutOfScope ImportOutcome = "skipped-out-of-scope" // it was not asked for
	ImportFailed      ImportOutcome = "failed"
)

// An Imported stack is one of which resources that exist in AWS were recorded.
type Imported struct {
	state.Ref
	Resources []ImportedResource // in the order of the template
	Dropped   []string           // rows that were on record and are not any more
	Nested    []*Imported
	Declined  bool
	Saved     bool

	CloudFormation string // the stack that it is taken over from
	Retired        bool   // that one is gone
	AlreadyThere   bool   // an earlier run took everything over: nothing was left to do
	Ending         bool   // an earlier run recorded everything: what it left to do is all
}

// An ImportedResource is one of an Imported stack.
type ImportedResource struct {
	LogicalID, Type string
	PhysicalID      string // "" when there is none
	Outcome         ImportOutcome
	Reason          string // "" for one that was imported whole
}

// Mapping are the physical ids that were found, by logical id; those of nested
// stacks are not among them.
func (i *Imported) Mapping() map[string]string {
	found := map[string]string{}
	for _, r := range i.Resources {
		if r.Outcome == ImportDone && r.Type != nestedType {
			found[r.LogicalID] = r.PhysicalID
		}
	}
	return found
}

// Count is how many resources came to something, those of nested stacks among
// them.
func (i *Imported) Count(o ImportOutcome) (n int) {
	for _, r := range i.Resources {
		if r.Outcome == o {
			n++
		}
	}
	for _, child := range i.Nested {
		n += child.Count(o)
	}
	return n
}

// An ImportRefusedError says that not all that was asked for can be imported, so
// that nothing was.
type ImportRefusedError struct {
	Stack, Region string
	Resources     []ImportedResource // those that cannot
	Next          string
}

func (e *ImportRefusedError) Error() string {
	var each []string
	for _, r := range e.Resources {
		text := fmt.Sprintf("%s (%s)", r.LogicalID, r.Type)
		if r.PhysicalID != "" {
			text += " as " + r.PhysicalID
		}
		each = append(each, text+": "+r.Reason)
	}
	return fmt.Sprintf("nothing of stack %s in %s was imported: %s", e.Stack, e.Region, strings.Join(each, "; "))
}

// Remedy says what to do about it.
func (e *ImportRefusedError) Remedy() string { return e.Next }

// Import records resources that exist in AWS as a stack's own. Every one is read
// first; nothing of it is changed. The result is nil only with an error.
func (e *Engine) Import(ctx context.Context, opt ImportOptions) (*Imported, error) {
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	path := nestedPath(&opt.Selection)
	e, t, store, err := e.single(ctx, opt.Selection, opt.Parameters, opt.NoMacros)
	if err != nil {
		return nil, err
	}
	if opt.FromCloudFormation {
		if path != nil {
			return nil, &InputError{What: fmt.Sprintf("nested stack %s is not taken over by itself", strings.Join(append([]string{t.Name}, path...), "~")), Next: "take over " + t.Name, Page: guide.StackSelection}
		}
		return e.takeOver(ctx, store, t, opt)
	}
	if err := notHandedOver(ctx, store.Stack(t.Name, t.Region)); err != nil {
		return nil, err
	}
	if t, err = e.nestedTarget(ctx, store, t, path); err != nil {
		return nil, err
	}
	if err := knownIDs(t, opt.Resources); err != nil {
		return nil, err
	}
	i := e.importing(store, t, opt)
	i.whole = len(opt.Resources) == 0 && opt.Tagged == nil || opt.Auto
	i.given = maps.Clone(opt.Resources)
	if err := i.findTagged(ctx); err != nil {
		return nil, err
	}
	defer i.release()
	if err := i.look(ctx); err != nil {
		return nil, err
	}
	return i.out, i.carryOut(ctx)
}

// single is the one stack that is selected, as a deploy would have it, with the engine
// of its account.
func (e *Engine) single(ctx context.Context, s Selection, parameters map[string]string, noMacros bool) (*Engine, target, *state.Store, error) {
	s.Exclusively, s.One = true, true
	sel, err := e.start(ctx, s, parameters)
	if err != nil {
		return e, target{}, nil, err
	}
	if len(sel.targets) != 1 {
		return e, target{}, nil, &InputError{What: fmt.Sprintf("%d stacks are selected; one is taken at a time", len(sel.targets)), Next: "name one stack", Page: guide.StackSelection}
	}
	if err := sel.expand(ctx, noMacros); err != nil {
		return e, target{}, nil, err
	}
	if err := sel.redirect(ctx, false); err != nil {
		return e, target{}, nil, err
	}
	return sel.portions[0].e, sel.targets[0], sel.portions[0].store, nil
}

// nestedPath takes the names of nested stacks off the name of a stack, and
// leaves that of the top-level one.
func nestedPath(s *Selection) []string {
	if len(s.Patterns) != 1 || !strings.Contains(s.Patterns[0], "~") {
		return nil
	}
	names := strings.Split(s.Patterns[0], "~")
	s.Patterns = names[:1]
	return names[1:]
}

// nestedTarget goes down to a nested stack, whose parameters are what the ones
// above it say, as far as those are on record.
func (e *Engine) nestedTarget(ctx context.Context, store *state.Store, t target, path []string) (target, error) {
	for _, id := range path {
		n := t.Nested[id]
		if n == nil {
			return t, &assembly.SelectionError{Reason: fmt.Sprintf("stack %s has no nested stack %s", t.Name, id), Available: nestedNames(t)}
		}
		i := e.importing(store, t, ImportOptions{})
		record, _, err := i.place.Read(ctx)
		if err != nil {
			return t, err
		}
		if record == nil {
			record = state.NewRecord(t.Name, t.Region)
		}
		if err := i.bind(ctx, record); err != nil {
			return t, err
		}
		resolved, _, _, err := i.properties(ctx, t.Template.Resource(id))
		if err != nil {
			return t, err
		}
		if t, err = i.childTarget(id, n, resolved); err != nil {
			return t, err
		}
	}
	return t, nil
}

func nestedNames(t target) (names []string) {
	for _, id := range sortedKeys(t.Nested) {
		names = append(names, t.Name+"~"+id)
	}
	return names
}

// knownIDs refuses logical ids that the template does not have.
func knownIDs(t target, given map[string]string) error {
	var has, unknown []string
	for _, r := range t.Template.Resources {
		if r.Type != template.MetadataType && r.Type != nestedType {
			has = append(has, r.LogicalID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(has, id) {
			unknown = append(unknown, id)
		}
	}
	if unknown == nil {
		return nil
	}
	slices.Sort(has)
	return &InputError{
		What: fmt.Sprintf("the template of stack %s has no resource %s that could be imported", t.Name, strings.Join(unknown, ", ")),
		Next: "the ones it has are " + strings.Join(has, ", "),
		Page: guide.UnknownResource,
	}
}

// An importing is one stack that is being imported, with those nested in it.
type importing struct {
	*deployment
	opt   ImportOptions
	out   *Imported
	whole bool              // everything in the template, not only what was named
	given map[string]string // physical ids that a person named

	tagged map[string][]string // ARNs of what is tagged as a resource, by logical id

	before    reading
	next      *state.Record // what is to be recorded
	elsewhere []state.Surveyed
	children  map[string]*importing // by logical id
	found     map[string]ImportedResource
	taken     map[string]string // logical ids, by type and physical id

	live    *cloudformation.Live // that is taken over; nil: none is
	already bool                 // an earlier run recorded what is found
}

func (e *Engine) importing(store *state.Store, t target, opt ImportOptions) *importing {
	i := &importing{
		deployment: e.recordedDeployment(store, state.Ref{Stack: t.Name, Region: t.Region}),
		opt:        opt, children: map[string]*importing{}, found: map[string]ImportedResource{}, taken: map[string]string{},
	}
	i.t, i.deployment.opt.Router = t, opt.Router
	i.router = e.router(i.deployment)
	i.out = &Imported{Ref: state.Ref{Stack: t.Name, Region: t.Region}}
	return i
}

// release gives the locks back, those of nested stacks first.
func (i *importing) release() {
	for _, child := range i.children {
		child.release()
	}
	i.deployment.release()
}
