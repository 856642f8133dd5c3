package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/attribute"
	"github.com/org/cdkd-action/engine/reference"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A world answers a template's references from the record of its stack, as it
// is at that moment, and from outside. It remembers which other stacks were
// read.
type world struct {
	*reference.Resolver
	store       *state.Store
	t           target
	environment template.Environment
	noCFN       bool // CloudFormation's exports do not count
	live        func(ctx context.Context, logicalID string, row *state.Resource) (*value.Object, error)
	strict      bool // deploying: what is masked in the record cannot be used

	mu      sync.Mutex
	record  *state.Record
	hidden  map[string]*value.Object // NoEcho attributes of this run, in clear
	imports []state.Import
	reads   []state.OutputRead
}

func (w *world) row(logicalID string) *state.Resource {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.record.Row(logicalID)
}

func (w *world) known(row *state.Resource) attribute.Row {
	return attribute.Row{
		Type: row.ResourceType, PhysicalID: row.PhysicalID, Properties: row.Properties, Attributes: row.Attributes,
		Region: w.environment.Region, AccountID: w.environment.AccountID,
	}
}

// Ref implements template.World.
func (w *world) Ref(_ context.Context, logicalID string) (any, error) {
	row := w.row(logicalID)
	if row == nil {
		return nil, template.ErrUnknown
	}
	return w.known(row).Ref(), nil
}

// Attribute implements template.World.
func (w *world) Attribute(ctx context.Context, logicalID, name string) (any, error) {
	w.mu.Lock()
	row, hidden := w.record.Row(logicalID), w.hidden[logicalID]
	w.mu.Unlock()
	if row == nil {
		return nil, template.ErrUnknown
	}
	if v, ok := hidden.Get(name); ok {
		return template.NoEcho{Value: v}, nil
	}
	v, ok := w.known(row).Get(name)
	if !ok && w.live != nil {
		// Nothing that is recorded tells. What AWS says now is better than a guess.
		attributes, err := w.live(ctx, logicalID, row)
		if err != nil && !w.strict {
			return nil, errors.Join(template.ErrUnknown, err)
		}
		if err != nil {
			return nil, fmt.Errorf("attribute %s of %s (%s) is not recorded, and reading it failed: %w", name, logicalID, row.ResourceType, err)
		}
		v, ok = dotted(attributes, name)
	}
	if !ok && !w.strict {
		return nil, template.ErrUnknown
	}
	if !ok {
		return nil, &NoAttributeError{LogicalID: logicalID, Type: row.ResourceType, Attribute: name}
	}
	if v == secret.Masked {
		if w.strict {
			return nil, fmt.Errorf("attribute %s of %s (%s) is secret and only its mask is recorded: it can be used again after the resource was updated", name, logicalID, row.ResourceType)
		}
		return template.NoEcho{Value: v}, nil
	}
	return v, nil
}

// dotted finds a possibly dotted name in what a read gave.
func dotted(o *value.Object, name string) (any, bool) {
	if v, ok := o.Get(name); ok {
		return v, true
	}
	first, rest, ok := strings.Cut(name, ".")
	if !ok {
		return nil, false
	}
	return dotted(o.Object(first), rest)
}

// A NoAttributeError says that a resource has no such attribute, or does not
// have it yet.
type NoAttributeError struct{ LogicalID, Type, Attribute string }

func (e *NoAttributeError) Error() string {
	return fmt.Sprintf("%s (%s) has no attribute %s", e.LogicalID, e.Type, e.Attribute)
}

// An ImportError says that nobody exports what a stack imports.
type ImportError struct {
	Name, Region string
	Err          error // of CloudFormation's answer, if it was asked
}

func (e *ImportError) Error() string {
	s := fmt.Sprintf("no stack in %s exports %s", e.Region, e.Name)
	if e.Err != nil && !errors.Is(e.Err, reference.ErrNoExport) {
		s += fmt.Sprintf(" (CloudFormation's exports could not be looked at: %v)", e.Err)
	}
	return s
}

func (e *ImportError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *ImportError) Remedy() string {
	return "deploy the stack that exports it first, or in the same run"
}

// Import implements template.World.
func (w *world) Import(ctx context.Context, name string) (any, error) {
	e, found, err := w.store.Exports(w.t.Region).Lookup(ctx, w.t.Name, name)
	if err != nil {
		return nil, err
	}
	if found {
		w.mu.Lock()
		defer w.mu.Unlock()
		i := state.Import{SourceStack: e.ProducerStack, SourceRegion: e.ProducerRegion, ExportName: name}
		w.imports = add(w.imports, i)
		return e.Value, nil
	}
	if w.noCFN {
		err = &ImportError{Name: name, Region: w.t.Region}
	} else {
		var text string
		if text, err = w.Export(ctx, name); err == nil {
			return text, nil
		}
		err = &ImportError{Name: name, Region: w.t.Region, Err: err}
	}
	if !w.strict {
		// The producer may be about to be deployed by the same run.
		return nil, errors.Join(template.ErrUnknown, err)
	}
	return nil, err
}

// StackOutput implements template.World.
func (w *world) StackOutput(ctx context.Context, ref template.StackOutput) (any, error) {
	region := ref.Region
	if region == "" {
		region = w.t.Region
	}
	if ref.RoleARN != "" {
		return nil, fmt.Errorf("Fn::GetStackOutput of stack %s: reading another account's state through RoleArn is not supported", ref.StackName)
	}
	if ref.StackName == w.t.Name && region == w.t.Region {
		return nil, fmt.Errorf("Fn::GetStackOutput: stack %s refers to its own output %s", ref.StackName, ref.OutputName)
	}
	record, _, err := w.store.Stack(ref.StackName, region).Read(ctx)
	if err != nil {
		return nil, err
	}
	if record == nil {
		if !w.strict {
			return nil, template.ErrUnknown
		}
		return w.Resolver.StackOutput(ctx, ref.StackName, ref.OutputName, region)
	}
	v, ok := record.Outputs.Get(ref.OutputName)
	if !ok {
		names := record.Outputs.Keys()
		if len(names) > 10 {
			names = names[:10]
		}
		return nil, fmt.Errorf("stack %s in %s has no output %s; it has %s", ref.StackName, region, ref.OutputName, strings.Join(names, ", "))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = add(w.reads, state.OutputRead{SourceStack: ref.StackName, SourceRegion: region, OutputName: ref.OutputName})
	return v, nil
}
