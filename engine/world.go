package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/smithy-go"

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
	run         *selected // the stacks that may export what is imported; nil: just this one
	rehearsing  bool      // a plan that nothing is done by
	noCFN       bool      // CloudFormation's exports do not count
	live        func(ctx context.Context, logicalID string, row *state.Resource) (*value.Object, error)
	warn        func(format string, args ...any)
	foreign     func(roleARN string) (*foreign, error)

	strict       bool // deploying: what is masked in the record cannot be used
	strictGetAtt bool // no identifier stands in for an attribute
	masks        bool // but where only the mask would be stored

	mu      sync.Mutex
	record  *state.Record
	clear   map[string]*state.Resource // rows of this run that hold masks, without them; never stored
	imports []state.Import
	values  map[state.Import]any // what they were
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
	if row == nil || w.superseded(logicalID, row) {
		return nil, template.ErrUnknown
	}
	return w.usable(logicalID, row, "the Ref", func(r attribute.Row) (any, bool) { return r.Ref(), true })
}

// superseded tells whether a recorded resource tells nothing of the one that is to
// come in its place, which is of another type.
func (w *world) superseded(logicalID string, row *state.Resource) bool {
	if w.strict || w.t.Template == nil {
		return false
	}
	r := w.t.Template.Resource(logicalID)
	return r != nil && r.Type != row.ResourceType
}

// usable is what ask finds in a row, in clear where the row has a mask and this
// run knows better: a resource that was made or changed in it. nil is nothing.
func (w *world) usable(logicalID string, row *state.Resource, what string, ask func(attribute.Row) (any, bool)) (any, error) {
	w.mu.Lock()
	clear := w.clear[logicalID]
	w.mu.Unlock()
	secretive := len(row.NoEchoLeaves)+len(row.NoEchoAttributes) > 0
	hides := func(v any) bool {
		text, _ := v.(string)
		return masked(v) || secretive && strings.Contains(text, secret.Masked) // in an ARN, say
	}
	v, ok := ask(w.known(row))
	if ok && !hides(v) {
		return v, nil
	}
	if clear != nil {
		if v, ok := ask(w.known(clear)); ok && !hides(v) {
			return template.NoEcho{Value: v}, nil
		}
	}
	if !ok {
		return nil, nil
	}
	if w.strict && !w.masks {
		return nil, &MaskedError{fmt.Sprintf("%s of %s (%s) is secret and only its mask is recorded: it can be used again after the resource was updated", what, logicalID, row.ResourceType)}
	}
	return template.NoEcho{Value: secret.Masked}, nil
}

// masked tells whether there is a mask in a value.
func masked(v any) bool {
	switch v := v.(type) {
	case string:
		return v == secret.Masked
	case []any:
		return slices.ContainsFunc(v, masked)
	case *value.Object:
		for _, m := range v.All() {
			if masked(m) {
				return true
			}
		}
	}
	return false
}

// Attribute implements template.World.
func (w *world) Attribute(ctx context.Context, logicalID, name string) (any, error) {
	row := w.row(logicalID)
	if row == nil || w.superseded(logicalID, row) {
		return nil, template.ErrUnknown
	}
	v, err := w.usable(logicalID, row, "attribute "+name, func(r attribute.Row) (any, bool) { return r.Get(name) })
	if err != nil {
		return nil, err
	}
	ok := v != nil
	if !ok && w.live != nil {
		// Nothing that is recorded tells. What AWS says now is better than a guess.
		attributes, err := w.live(ctx, logicalID, row)
		if err != nil && !w.strict {
			return nil, errors.Join(template.ErrUnknown, err)
		}
		if err != nil {
			return nil, &UnreadError{LogicalID: logicalID, Type: row.ResourceType, Attribute: name, Err: err}
		}
		if v, ok = dotted(attributes, name); ok && attribute.Secret(row.ResourceType, name) {
			return template.NoEcho{Value: v}, nil
		} else if ok && w.strict {
			w.learn(logicalID, row, name, v)
		}
	}
	switch {
	case ok:
		return v, nil
	case !w.strict:
		return nil, template.ErrUnknown
	case !w.strictGetAtt && standsIn(row.ResourceType, name):
		w.warn("attribute %s of %s (%s) is not there yet; its identifier %s stands in for it until a deploy finds it", name, logicalID, row.ResourceType, row.PhysicalID)
		return row.PhysicalID, nil
	}
	return nil, &NoAttributeError{LogicalID: logicalID, Type: row.ResourceType, Attribute: name}
}

// learn records an attribute that was read, so that it need not be read again.
// What may still change is not recorded: an address that is not there, the
// blocks of a VPC.
func (w *world) learn(logicalID string, row *state.Resource, name string, v any) {
	if v == nil || v == "" || row.ResourceType == "AWS::EC2::VPC" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := w.record.Row(logicalID); now == nil || now.PhysicalID != row.PhysicalID {
		return
	}
	learned := w.record.Row(logicalID).Clone()
	if learned.Attributes = learned.Attributes.Clone(); learned.Attributes == nil {
		learned.Attributes = &value.Object{}
	}
	learned.Attributes.Set(name, v)
	w.record.Set(logicalID, learned)
}

// standsIn tells whether a resource's identifier is taken for an attribute that
// it does not have yet: the endpoint of a database that nobody waited for, as the
// cdkd command line does. It is in no other case.
func standsIn(typ, attribute string) bool {
	switch typ {
	case "AWS::RDS::DBInstance", "AWS::DocDB::DBInstance", "AWS::Neptune::DBInstance":
		return attribute == "Endpoint.Address" || attribute == "Endpoint.Port"
	}
	return false
}

// An UnreadError says that an attribute is not recorded and could not be read.
// Its text has the class of the failure only, since what AWS says of a denied
// call may be a page; the verbose log has that.
type UnreadError struct {
	LogicalID, Type, Attribute string
	Err                        error
}

func (e *UnreadError) Error() string {
	text := e.Err.Error()
	if api, ok := errors.AsType[smithy.APIError](e.Err); ok {
		text = api.ErrorCode()
	}
	return fmt.Sprintf("attribute %s of %s (%s) is not recorded, and reading it failed: %s", e.Attribute, e.LogicalID, e.Type, text)
}

func (e *UnreadError) Unwrap() error { return e.Err }

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

// A MaskedError says that a value is needed that is secret and not recorded.
type MaskedError struct{ What string }

func (e *MaskedError) Error() string { return e.What }

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
		if w.strict && !w.masks && masked(e.Value) {
			return nil, &MaskedError{fmt.Sprintf("export %s of stack %s is secret and only its mask is recorded, so that it cannot be imported", name, e.ProducerStack)}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		i := state.Import{SourceStack: e.ProducerStack, SourceRegion: e.ProducerRegion, ExportName: name}
		w.imports = add(w.imports, i)
		if w.values == nil {
			w.values = map[state.Import]any{}
		}
		w.values[i] = e.Value
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
	switch {
	case w.strict:
	case w.run.exports(name, w.t.Name): // it is about to be there
		err = errors.Join(template.ErrUnknown, err)
	case w.rehearsing && !w.noCFN && !errors.Is(err, reference.ErrNoExport):
		// Who may only look may not be allowed to look there.
		err = errors.Join(template.ErrUnknown, err)
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
		return w.foreignOutput(ctx, ref, region)
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
	v, err := outputOf(record, ref.OutputName)
	if err != nil {
		return nil, err
	}
	if w.strict && !w.masks && masked(v) {
		return nil, &MaskedError{fmt.Sprintf("output %s of stack %s is secret and only its mask is recorded, so that it cannot be read", ref.OutputName, ref.StackName)}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = add(w.reads, state.OutputRead{SourceStack: ref.StackName, SourceRegion: region, OutputName: ref.OutputName})
	return v, nil
}
