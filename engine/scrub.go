package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// ScrubOptions govern a scrub.
type ScrubOptions struct {
	Selection
	Parameters map[string]string // Name=value or Stack:Name=value
	DryRun     bool              // say what is found, and write nothing
	LockWait   time.Duration     // beyond the ordinary attempts
}

// A Scrubbed stack is one whose record was looked through for secrets. Places
// are named, values never.
type Scrubbed struct {
	state.Ref
	Found    []string // where a secret stood in clear, and is an expression or a mask now
	Keys     []string // where the name of a member holds one, which is not renamed
	Versions int      // earlier versions of the record, the journal and what is open that hold one
	Recorded bool     // something is
	Err      error    // why nothing of it was done, or not all
}

// Clean tells whether no secret was found.
func (s *Scrubbed) Clean() bool { return len(s.Found)+len(s.Keys)+s.Versions == 0 }

// Scrub looks for the secrets that the app's stacks refer to in what is recorded
// of them, in what a rollback goes by and in what is open, and puts the references
// back. It is for records that an older release
// or another program wrote: what is recorded now holds none. A place where the
// template has a reference and the record another value is left to the next
// deploy, which has a change to make there.
//
// Earlier versions of a record that held a secret are removed from the bucket.
// Where they may not be looked at, or not be removed, the stack is not scrubbed,
// though its record is. What keeps one stack from being scrubbed does not keep
// the others.
func (e *Engine) Scrub(ctx context.Context, opt ScrubOptions) ([]Scrubbed, error) {
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	sel, err := e.start(ctx, opt.Selection, opt.Parameters)
	if err != nil {
		return nil, err
	}
	var all []*scrubbing
	for _, t := range sel.targets { // all secrets are known before the first record is judged
		p := sel.of(t)
		all = append(all, p.e.learn(ctx, p.store, t)...)
	}
	var done []Scrubbed
	for _, s := range all {
		if e.config.Window.Interrupted() {
			return done, errInterrupted
		}
		if s.Err == nil {
			s.Err = s.run(ctx, opt)
		}
		done = append(done, s.Scrubbed)
	}
	return done, nil
}

// A scrubbing is one stack with what its template says of secrets.
type scrubbing struct {
	Scrubbed
	d       *deployment
	texts   map[string]template.Resolved // by logical id
	written map[string]*value.Object     // properties as the template has them, by logical id
}

// learn resolves the secrets that a stack refers to, and those nested in it.
func (e *Engine) learn(ctx context.Context, store *state.Store, t target) (all []*scrubbing) {
	s := &scrubbing{Scrubbed: Scrubbed{Ref: state.Ref{Stack: t.Name, Region: t.Region}}, texts: map[string]template.Resolved{}, written: map[string]*value.Object{}}
	s.d = &deployment{
		e: e, t: t, store: store, place: store.Stack(t.Name, t.Region),
		res: e.resultOf(t),
	}
	s.d.router = e.router(s.d)
	nested, err := s.learn(ctx)
	s.Err = err
	all = []*scrubbing{s}
	for _, child := range nested {
		all = append(all, e.learn(ctx, store, child)...)
	}
	return all
}

func (s *scrubbing) learn(ctx context.Context) (nested []target, err error) {
	d := s.d
	record, _, err := d.place.Read(ctx)
	if err != nil || record == nil {
		return nil, err
	}
	s.Recorded = true
	if err := d.identify(ctx, record); err != nil {
		return nil, err
	}
	d.planned = &planned{world: d.newWorld(record)}
	d.scope, err = d.t.Template.Bind(ctx, d.environment(), d.t.Parameters, d.world,
		template.Secrets(d.e.config.Secrets), template.Hidden(d.t.Hidden...), template.Tolerant(func(err error) { d.warn("%v", err) }))
	if err != nil {
		return nil, err
	}
	if err := s.resolveRecorded(ctx, record); err != nil {
		return nil, err
	}
	for _, r := range d.scope.Resources() {
		row := record.Row(r.LogicalID)
		if row == nil {
			continue
		}
		resolved, err := d.scope.ResolvedProperties(ctx, r.LogicalID)
		if err != nil {
			return nil, fmt.Errorf("find the secrets that %s refers to: %w", r.LogicalID, err)
		}
		s.texts[r.LogicalID], s.written[r.LogicalID] = resolved, r.Properties
		n := d.t.Nested[r.LogicalID]
		if r.Type != nestedType || n == nil {
			continue
		}
		parameters, err := nestedParameters(&provider.Request{LogicalID: r.LogicalID, Properties: resolved.Stored.(*value.Object)})
		if err != nil {
			return nil, err
		}
		var hidden []string
		for name, v := range parameters {
			if strings.Contains(v, secret.Masked) {
				hidden = append(hidden, name)
			}
		}
		nested = append(nested, d.t.child(d, r.LogicalID, n, parameters, hidden))
	}
	d.world.masks = true
	for _, o := range d.scope.Outputs() {
		if _, _, _, err := d.scope.Output(ctx, o.Name); err != nil && refersToSecret(value.JSON(o.Value)) {
			return nil, fmt.Errorf("find the secrets that output %s refers to: %w", o.Name, err)
		}
	}
	return nested, nil
}

// resolveRecorded resolves the references that stand in the record already: an
// attribute, or an orphan, may hold the same secret in clear.
func (s *scrubbing) resolveRecorded(ctx context.Context, record *state.Record) error {
	b, err := record.Marshal()
	if err != nil {
		return err
	}
	for _, m := range recordedReference.FindAllStringSubmatch(string(b), -1) {
		text, isSecret, err := s.d.world.Dynamic(ctx, m[1], m[2])
		if err != nil {
			return fmt.Errorf("find the secret of %s: %w", m[0], err)
		}
		if isSecret {
			s.d.e.config.Secrets.Add(text, m[0])
		}
	}
	return nil
}

func (s *scrubbing) run(ctx context.Context, opt ScrubOptions) error {
	d := s.d
	if !s.Recorded {
		return nil
	}
	var beside, versions error // which do not keep the record from being cleaned
	look := func(record *state.Record) (changed bool, err error) {
		if record == nil {
			return false, nil
		}
		s.Found, s.Keys = nil, nil
		s.record(record)
		if changed = len(s.Found) > 0; changed {
			record.Drop("skippedOutputs")
		}
		beside, versions = s.beside(ctx, !opt.DryRun), nil
		if s.Versions, err = d.place.EarlierVersions(ctx, s.holds); err != nil {
			versions = fmt.Errorf("whether earlier versions hold a secret could not be looked at: %w", err)
		}
		return changed, nil
	}
	purge := func(ctx context.Context) {
		versions = nil // those that could not be looked at go, too
		if err := d.place.PurgeVersions(ctx); err != nil {
			versions = fmt.Errorf("earlier versions that hold a secret stay in the bucket: %w", err)
		}
	}
	if opt.DryRun {
		record, _, err := d.place.Read(ctx)
		if err == nil {
			_, err = look(record)
		}
		return errors.Join(err, beside, versions)
	}
	err := d.e.amend(ctx, d.place, state.LockOptions{Operation: "scrub", Wait: opt.LockWait}, d.e.recordedDeployment(d.store, s.Ref), func(record *state.Record) (bool, error) {
		changed, err := look(record)
		if err == nil && !changed && (len(s.Found) > 0 || s.Versions > 0) {
			purge(ctx)
		}
		return changed, err
	}, func(ctx context.Context, record *state.Record) {
		if err := d.store.Exports(d.t.Region).Update(ctx, d.t.Name, record); err != nil {
			d.warn("%v", err)
		}
		purge(ctx)
	})
	return errors.Join(err, beside, versions)
}

// beside takes the secrets out of what stands beside the record: the journal, and
// what is open. The lock is held if it writes.
func (s *scrubbing) beside(ctx context.Context, write bool) error {
	place, before := s.d.place, len(s.Found)
	journal, err := place.ReadJournal(ctx)
	if err != nil {
		return err
	}
	if journal != nil {
		s.journal(journal)
	}
	if write && len(s.Found) > before {
		if err := place.WriteJournal(ctx, journal); err != nil {
			return err
		}
	}
	before = len(s.Found)
	open, err := place.ReadPending(ctx)
	if err != nil || open == nil {
		return err
	}
	s.open(open)
	if !write || len(s.Found) == before {
		return nil
	}
	file, err := place.OpenPending(ctx, true)
	if err != nil {
		return err
	}
	defer file.End(ctx)
	return file.Change(ctx, func(p *state.Pending) { p.Operations, p.Leftovers = open.Operations, open.Leftovers })
}

// holds tells whether a secret stands in a body where it would be taken out. What
// identifies a resource stays as it is, and is not looked at.
func (s *scrubbing) holds(body []byte) bool {
	version := &scrubbing{d: s.d, texts: s.texts, written: s.written}
	if r, err := state.ParseRecord("", body); err == nil {
		version.record(r)
		return !version.Clean()
	}
	if j, err := state.ParseJournal("", body); err == nil {
		version.journal(j)
		return !version.Clean()
	}
	if p, err := state.ParsePending("", body); err == nil {
		version.open(p)
		return !version.Clean()
	}
	o, err := value.ParseObject(body)
	if err != nil {
		return s.d.e.config.Secrets.Contains(string(body))
	}
	clean, _ := s.d.e.config.Secrets.Redact(o, nil)
	return !value.Equal(o, clean)
}
