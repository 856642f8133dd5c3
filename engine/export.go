package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/cloudformation"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
)

// ExportOptions say which stack is handed to CloudFormation, and how.
type ExportOptions struct {
	Selection  // of one stack, not of one that is nested in another
	Parameters map[string]string
	Router     provider.RouterOptions
	NoMacros   bool

	StackName  string            // in CloudFormation; "": as it is recorded
	ChildNames map[string]string // those of nested stacks there, by their logical ids, which / joins; others are Parent-LogicalId
	// StrictReferences refuses a stack from which others import that are not
	// exported yet.
	StrictReferences bool
	// IncludeNonImportable has CloudFormation make anew what it cannot import.
	IncludeNonImportable bool
	DryRun               bool

	// Consent, when set, is asked before anything is done, under the lock.
	Consent func(*Exported) bool
}

// An ExportOutcome is what becomes of one resource in an export.
type ExportOutcome string

// What an export does with a resource.
const (
	ExportImported ExportOutcome = "imported" // CloudFormation takes it as it is
	ExportCreated  ExportOutcome = "created"  // CloudFormation makes it anew
	ExportRefused  ExportOutcome = "refused"
)

// An Exported stack is one that CloudFormation has now, or would have.
type Exported struct {
	state.Ref
	StackName string             // in CloudFormation
	Resources []ExportedResource // in the order of the template
	Nested    []*Exported
	Declined  bool
	Done      bool // CloudFormation has it, and its record is gone
	Already   bool // nothing was recorded, and CloudFormation has it: there was nothing to do
}

// An ExportedResource is one of an Exported stack.
type ExportedResource struct {
	LogicalID, Type string
	PhysicalID      string
	Identifier      map[string]string // by which it is imported
	Outcome         ExportOutcome
	Reason          string
}

// Count is how many resources something becomes of, those of nested stacks among
// them.
func (x *Exported) Count(o ExportOutcome) (n int) {
	for _, r := range x.Resources {
		if r.Outcome == o {
			n++
		}
	}
	for _, child := range x.Nested {
		n += child.Count(o)
	}
	return n
}

// refused are the resources that stand against an export, named from the
// top-level stack.
func (x *Exported) refused(below string) (all []string) {
	for _, r := range x.Resources {
		if r.Outcome == ExportRefused {
			all = append(all, fmt.Sprintf("%s%s (%s): %s", below, r.LogicalID, r.Type, r.Reason))
		}
	}
	for _, child := range x.Nested {
		all = append(all, child.refused(below+child.Stack[strings.LastIndex(child.Stack, "~")+1:]+"/")...)
	}
	return all
}

// An ExportRefusedError says that CloudFormation cannot have all of a stack, so
// that it was given nothing.
type ExportRefusedError struct {
	Stack, Region string
	Resources     []string
}

func (e *ExportRefusedError) Error() string {
	return fmt.Sprintf("nothing of stack %s in %s was exported: %s", e.Stack, e.Region, strings.Join(e.Resources, "; "))
}

// Remedy says what to do about it.
func (e *ExportRefusedError) Remedy() string {
	return "with include-non-importable CloudFormation makes anew what it cannot import, and what exists of it is left in AWS; or take it out of the app, and deploy, before the export"
}

// Export hands a stack to CloudFormation, which imports the resources as they
// are, and forgets it. No resource is changed. A run that died or failed is gone
// on with by the same command: until the end the record stays, and CloudFormation
// is asked what it has already. The result is nil only with an error.
func (e *Engine) Export(ctx context.Context, opt ExportOptions) (*Exported, error) {
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	e, t, store, err := e.single(ctx, opt.Selection, opt.Parameters, opt.NoMacros)
	if err != nil {
		return nil, err
	}
	handover, err := store.Stack(t.Name, t.Region).OpenHandover(ctx)
	if err != nil {
		return nil, err
	}
	begun, name := handover.Current(), cmp.Or(opt.StackName, t.Name)
	if begun != nil {
		if begun.Direction != state.ToCloudFormation || opt.StackName != "" && !begun.Is(opt.StackName) {
			return nil, handedOver(store.Stack(t.Name, t.Region), begun)
		}
		name = begun.Stack
	}
	if err := nameChildren(t, &opt, begun); err != nil {
		return nil, err
	}
	x := e.exporting(store, t, opt, name)
	x.hands, x.handover = true, handover
	defer x.release()
	if err := x.look(ctx); err != nil {
		return nil, err
	}
	if refused := x.out.refused(""); refused != nil {
		return x.out, &ExportRefusedError{Stack: t.Name, Region: t.Region, Resources: refused}
	}
	if opt.DryRun || x.out.Already {
		return x.out, nil
	}
	if opt.Consent != nil && !opt.Consent(x.out) {
		x.out.Declined = true
		return x.out, nil
	}
	if err := x.carryOut(ctx); err != nil {
		return x.out, &ExportError{Stack: t.Name, Region: t.Region, Err: err}
	}
	if err := x.come(ctx, state.Forgetting); err != nil {
		return x.out, &ExportError{Stack: t.Name, Region: t.Region, Err: err}
	}
	if err := x.forget(); err != nil {
		return x.out, err
	}
	return x.out, x.handed()
}

// An ExportError says that an export began and did not come to its end.
type ExportError struct {
	Stack, Region string
	Err           error
}

func (e *ExportError) Error() string {
	return fmt.Sprintf("export stack %s in %s: its record stays: %v", e.Stack, e.Region, e.Err)
}

func (e *ExportError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *ExportError) Remedy() string {
	if r := Remedy(e.Err); r != "" {
		return r
	}
	return "run the same command again, which goes on from what CloudFormation has; until it is through, deploy the stack with neither"
}

// An exporting is one stack that is being exported, with those nested in it.
type exporting struct {
	*deployment
	opt ExportOptions
	cfn *cloudformation.Client
	out *Exported

	before     reading
	there      *cloudformation.Stack // as CloudFormation has it already; nil: not
	forgotten  bool                  // by an earlier run, which came that far
	above      *exporting            // that this one is nested in
	left       map[string]bool       // what the import leaves out, by logical id
	identifier map[string]map[string]string
	children   map[string]*exporting
}

func (e *Engine) exporting(store *state.Store, t target, opt ExportOptions, name string) *exporting {
	x := &exporting{
		deployment: e.recordedDeployment(store, state.Ref{Stack: t.Name, Region: t.Region}),
		opt:        opt, left: map[string]bool{}, identifier: map[string]map[string]string{}, children: map[string]*exporting{},
		out: &Exported{Ref: state.Ref{Stack: t.Name, Region: t.Region}, StackName: name},
	}
	x.t, x.deployment.opt.Router = t, opt.Router
	x.router = e.router(x.deployment)
	x.cfn = e.cloudFormation(x.deployment)
	return x
}

// release gives the locks back, those of nested stacks first.
func (x *exporting) release() {
	for _, child := range x.children {
		child.release()
	}
	x.deployment.release()
}
