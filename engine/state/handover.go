package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/value"
)

const handoverVersion = 1

// A Direction is which way a stack goes.
type Direction string

// The directions of a Handover.
const (
	FromCloudFormation Direction = "from-cloudformation"
	ToCloudFormation   Direction = "to-cloudformation"
)

// A HandoverStep is what a handover has come to. It is written down before the
// step begins.
type HandoverStep string

// The steps from CloudFormation, and the steps to it.
const (
	Recording HandoverStep = "recording" // CloudFormation was not changed
	Retaining HandoverStep = "retaining" // its templates are changed to keep everything; it has all of the stack
	Retiring  HandoverStep = "retiring"  // its stacks are deleted

	Importing  HandoverStep = "importing"  // CloudFormation takes the resources in; the record stays
	Forgetting HandoverStep = "forgetting" // it has them all; the records go
)

// A Handover is a stack on its way from CloudFormation or to it: handover.json.
// It is there from before the first change to what either of the two has, until
// the other one alone has the stack; meanwhile nobody may deploy it or take it
// down. A nested stack goes with the top-level one, whose object this is.
type Handover struct {
	Direction Direction
	Step      HandoverStep
	Stack     string   // of CloudFormation, by name
	StackID   string   // and by ARN; "" while it has none
	Stacks    []string // all those of CloudFormation that are made for it, nested ones first
	Since     int64    // Unix milliseconds
	Owner     string   // the process that began it

	read *value.Object
}

// Abandonable tells whether CloudFormation still has the whole stack, so that
// nothing is lost when its record goes.
func (h *Handover) Abandonable() bool {
	return len(h.Stacks) == 0 && (h.Step == Recording || h.Step == Retaining)
}

// Is tells whether name is the handover's CloudFormation stack.
func (h *Handover) Is(name string) bool { return name == h.Stack || name == h.StackID }

// Ident is what CloudFormation knows the stack by, even after another one took
// the name.
func (h *Handover) Ident() string {
	if h.StackID != "" {
		return h.StackID
	}
	return h.Stack
}

func (h *Handover) marshal(k *Stack) ([]byte, error) {
	w := over(h.read)
	w.put("handoverVersion", value.Int(handoverVersion), true)
	w.text("stackName", k.Name)
	w.text("region", k.Region)
	w.text("direction", string(h.Direction))
	w.text("step", string(h.Step))
	w.text("cloudFormationStack", h.Stack)
	w.text("cloudFormationStackId", h.StackID)
	w.texts("cloudFormationStacks", h.Stacks)
	w.put("since", value.Int(h.Since), true)
	w.text("owner", h.Owner)
	return value.MarshalIndent(w.o)
}

func parseHandover(key string, b []byte) (*Handover, error) {
	const hint = "restore an earlier version of the object; or look which of the two has the stack's resources, CloudFormation or its record, and remove the other and this object"
	o, err := parseObject(key, b)
	if m, ok := err.(*MalformedError); ok {
		m.Hint = hint
	}
	if err != nil {
		return nil, err
	}
	if _, err := version(key, o, "handoverVersion", 0, handoverVersion); err != nil {
		return nil, err
	}
	var problems []string
	in := reader{o, "the object", &problems}
	h := &Handover{
		Direction: Direction(in.text("direction")), Step: HandoverStep(in.text("step")), Stack: in.text("cloudFormationStack"), StackID: in.text("cloudFormationStackId"),
		Stacks: in.texts("cloudFormationStacks"), Since: in.time("since"), Owner: in.text("owner"), read: o,
	}
	steps := map[Direction][]HandoverStep{FromCloudFormation: {Recording, Retaining, Retiring}, ToCloudFormation: {Importing, Forgetting}}
	if !slices.Contains(steps[h.Direction], h.Step) {
		in.bad("step", "one of its direction, which is from-cloudformation or to-cloudformation")
	}
	if h.Stack == "" {
		in.bad("cloudFormationStack", "a string that is not empty")
	}
	if len(problems) > 0 {
		return nil, &MalformedError{Key: key, Problems: problems, Hint: hint}
	}
	return h, nil
}

// ReadHandover reads whether the stack is on its way from CloudFormation or to it;
// nil when it is not. Of a nested stack it is the top-level one that is.
func (k *Stack) ReadHandover(ctx context.Context) (*Handover, error) {
	h, _, err := k.readHandover(ctx)
	return h, err
}

func (k *Stack) readHandover(ctx context.Context) (*Handover, ETag, error) {
	key := k.root().key(handoverName)
	body, etag, err := k.store.get(ctx, key)
	if errors.Is(err, errAbsent) {
		return nil, Absent, nil
	}
	var h *Handover
	if err == nil {
		h, err = parseHandover(key, body)
	}
	if err != nil {
		return nil, Absent, fmt.Errorf("read how far the handover of stack %s in %s is: %w", k.root().Name, k.Region, err)
	}
	return h, etag, nil
}

// A HandoverFile is the object of a handover, while the run that holds the
// stack's lock goes on with it.
type HandoverFile struct {
	stack *Stack
	etag  ETag
	found *Handover
}

// OpenHandover reads the object. What is written to it is refused once it is
// another version.
func (k *Stack) OpenHandover(ctx context.Context) (*HandoverFile, error) {
	f := &HandoverFile{stack: k.root()}
	var err error
	f.found, f.etag, err = k.readHandover(ctx)
	return f, err
}

// Confirm makes sure, once the lock is held, that the object still is the version
// that was read before.
func (f *HandoverFile) Confirm(ctx context.Context) error {
	now, err := f.stack.OpenHandover(ctx)
	if err == nil && now.etag != f.etag {
		err = &ConflictError{Key: f.stack.key(handoverName), ETag: f.etag}
	}
	return err
}

// Current is the handover as it was written last, nil when none is under way.
func (f *HandoverFile) Current() *Handover { return f.found }

// Write has the handover written down.
func (f *HandoverFile) Write(ctx context.Context, h Handover) error {
	if f.found != nil {
		h.Since, h.Owner, h.read = f.found.Since, f.found.Owner, f.found.read
	}
	body, err := h.marshal(f.stack)
	if err == nil {
		var etag ETag
		if etag, err = f.stack.store.persist(ctx, f.stack.key(handoverName), body, f.etag); err == nil {
			f.etag, f.found = etag, &h
			return nil
		}
	}
	return fmt.Errorf("write down how far the handover of stack %s in %s is: %w", f.stack.Name, f.stack.Region, err)
}

// Remove ends the handover: one of the two alone has the stack.
func (f *HandoverFile) Remove(ctx context.Context) error {
	if f.found == nil {
		return nil
	}
	if err := f.stack.RemoveHandover(ctx); err != nil {
		return err
	}
	f.etag, f.found = Absent, nil
	return nil
}

// RemoveHandover gives a handover up, whatever is in the object. The lock is held,
// or nobody's.
func (k *Stack) RemoveHandover(ctx context.Context) error {
	if err := k.store.remove(ctx, k.root().key(handoverName)); err != nil {
		return fmt.Errorf("remove what is written down of the handover of stack %s in %s: %w", k.root().Name, k.Region, err)
	}
	return nil
}
