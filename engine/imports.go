package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A WithdrawnError says that a stack took an export away, or changed it, while
// another began to import it.
type WithdrawnError struct {
	Stack, Region string // that imports
	Producer      string
	Export        string
	Changed       bool
	// Crossing says that the other is still at it, and may wait for this stack.
	Crossing bool
}

func (e *WithdrawnError) Error() string {
	what := "does not export it any more"
	switch {
	case e.Changed:
		what = "gave it another value meanwhile"
	case e.Crossing:
		what = "is taking it away or changing it, while this one does so with exports of its own"
	}
	return fmt.Sprintf("stack %s in %s began to import %s from stack %s, which %s", e.Stack, e.Region, e.Export, e.Producer, what)
}

// Remedy says what to do about it.
func (e *WithdrawnError) Remedy() string {
	switch {
	case e.Changed:
		return "deploy again, with the new value"
	case e.Crossing:
		return "deploy one of them after the other"
	}
	return "deploy the stack that exports it first, or do without the import"
}

// A beginning is what a deploy begins to import. The record says so before the
// exporting stack is looked at, and who takes an export away says so in its lock
// before the records are looked at: whoever is later sees the other.
type beginning struct {
	d       *deployment
	imports []state.Import
	cancel  context.CancelFunc
	looking routine.Group
	err     error
}

// tellImports has the record say at once what the stack begins to import, and
// looks beside the work on its resources whether that stays exported.
func (d *deployment) tellImports(ctx context.Context, before *state.Record) *beginning {
	b := &beginning{d: d, cancel: func() {}}
	d.world.mu.Lock()
	for _, i := range d.world.imports {
		if before == nil || !slices.Contains(before.Imports, i) {
			b.imports = append(b.imports, i)
		}
	}
	d.world.mu.Unlock()
	if len(b.imports) == 0 {
		return b
	}
	d.change(func(*state.Record) {})
	ctx, b.cancel = d.e.config.Window.Interruptible(ctx)
	b.looking.Go(func() { b.err = b.look(ctx) })
	return b
}

// end calls off what is still being looked at.
func (b *beginning) end() {
	b.cancel()
	b.looking.Wait()
}

// stay returns nil when what the stack begins to import is on record and still
// exported.
func (b *beginning) stay() error {
	if len(b.imports) == 0 {
		return nil
	}
	if !b.said(b.d.saver.Written()) {
		// A save that failed is not repeated by itself.
		b.d.change(func(*state.Record) {})
		if err := b.d.written(); err != nil {
			return err
		}
	}
	b.looking.Wait()
	return b.err
}

func (b *beginning) said(r *state.Record) bool {
	return r != nil && !slices.ContainsFunc(b.imports, func(i state.Import) bool { return !slices.Contains(r.Imports, i) })
}

func (b *beginning) look(ctx context.Context) error {
	if err := b.d.saver.Wrote(ctx, b.said); err != nil {
		return err
	}
	for _, i := range b.imports {
		producer := b.d.store.Stack(i.SourceStack, i.SourceRegion)
		if producer.Top() == b.d.place.Top() && i.SourceRegion == b.d.t.Region {
			continue // both are under this run's lock
		}
		withdrawn := &WithdrawnError{Stack: b.d.t.Name, Region: b.d.t.Region, Producer: i.SourceStack, Export: i.ExportName}
		if err := b.settled(ctx, producer); errors.Is(err, errCrossing) {
			withdrawn.Crossing = true
			return withdrawn
		} else if err != nil {
			return err
		}
		record, _, err := producer.Read(ctx)
		if err != nil {
			return err
		}
		if record == nil || !slices.Contains(record.Exports(), i.ExportName) {
			return withdrawn
		}
		if !value.Equal(record.Outputs.Value(i.ExportName), b.d.world.imported(i)) {
			// The index may have been behind: the next run is to find the value there.
			if err := b.d.store.Exports(i.SourceRegion).Update(ctx, i.SourceStack, record); err != nil {
				b.d.warn("%v", err)
			}
			withdrawn.Changed = true
			return withdrawn
		}
	}
	return nil
}

// imported is the value that an import had.
func (w *world) imported(i state.Import) any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.values[i]
}

// errCrossing says that two runs would wait for each other.
var errCrossing = errors.New("each takes away what the other may import")

// settled waits while somebody may be taking away what the stack exports.
func (b *beginning) settled(ctx context.Context, producer *state.Stack) error {
	places := []*state.Stack{producer}
	if top := producer.Top(); top != producer.Name {
		places = append(places, b.d.store.Stack(top, producer.Region))
	}
	told := false
	for wait := time.Second; ; wait = min(2*wait, 10*time.Second) {
		var held *state.HeldError
		for _, place := range places {
			lock, err := place.Peek(ctx)
			switch {
			case is[*state.MalformedError](err):
			case err != nil:
				return err
			case lock != nil && lock.Withdraws() && !lock.Expired(now()):
				held = place.Held(*lock)
			}
		}
		switch {
		case held == nil:
			return nil
		case b.d.holdsLock().announced:
			return errCrossing
		}
		if !told {
			told = true
			b.d.observe(Event{Kind: Notice, Text: fmt.Sprintf("waits to see whether stack %s still exports what this stack begins to import: %v", producer.Name, held)})
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}
