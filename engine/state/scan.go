package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/routine"
)

// scansAtOnce is how many prefixes are looked through at a time by all stacks
// of a run.
const scansAtOnce = 50

// A scanner finds the prefixes of a bucket. They are listed once for all stacks
// of a run.
type scanner struct {
	slots chan struct{}

	mu    sync.Mutex
	roots []string // nil: not listed yet
}

// prefixes returns what stacks may be kept under: the top-level folders, each
// with and without a slash at the end. Prefixes with a slash inside are not
// seen.
func (s *Store) prefixes(ctx context.Context) ([]string, error) {
	s.scanner.mu.Lock()
	defer s.scanner.mu.Unlock()
	if s.scanner.roots != nil {
		return s.scanner.roots, nil
	}
	roots := []string{}
	err := s.list(ctx, "", "/", func(key string) bool {
		root, ok := strings.CutSuffix(key, "/")
		if ok && !Reserved(root) {
			roots = append(roots, root, root+"/")
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	s.scanner.roots = roots
	return roots, nil
}

// scan looks for another prefix that owns the stack. Found outweighs a prefix
// that could not be looked into, and that one a prefix that may not be.
func (g *Registry) scan(ctx context.Context) error {
	k := g.stack
	all, err := k.store.prefixes(ctx)
	if is[*AccessError](err) {
		g.unscanned(err)
		return nil
	}
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(p string) bool { return p == k.prefix })
	owns, errs := make([]string, len(all)), make([]error, len(all))
	var wg routine.Group
	for i, prefix := range all {
		wg.Go(func() {
			k.store.scanner.slots <- struct{}{}
			defer func() { <-k.store.scanner.slots }()
			owns[i], errs[i] = k.under(prefix).scanned(ctx)
		})
	}
	wg.Wait()
	for i, key := range owns {
		if key != "" {
			return g.refusal(all[i], key, false)
		}
	}
	err = worst(errs)
	if is[*AccessError](err) {
		g.unscanned(err)
		return nil
	}
	g.scanned = err == nil
	return err
}

func (g *Registry) unscanned(err error) {
	g.stack.store.warnOnce("registry scan", fmt.Sprintf("whether another prefix of this bucket keeps stack %s in %s "+
		"could not be found out; it takes s3:ListBucket: %v", g.stack.Name, g.stack.Region, err))
}

// scanned is owns for a place where there mostly is nothing, which one listing
// tells.
func (k *Stack) scanned(ctx context.Context) (key string, err error) {
	there := false
	marks := []string{k.key(recordName), k.key(journalName), k.key(pendingName), k.legacyKey(recordName)}
	err = k.store.list(ctx, k.prefix+"/"+k.Name+"/", "", func(key string) bool {
		there = slices.Contains(marks, key)
		return !there
	})
	if err != nil || !there {
		return "", err
	}
	return k.owns(ctx)
}

// owns returns the key of an object because of which this place can own
// resources, "" when there is none: a record with resources or orphans, a
// journal that names something that exists or existed, open operations. What
// cannot be understood owns.
func (k *Stack) owns(ctx context.Context) (key string, err error) {
	var (
		wg      routine.Group
		record  *Record
		journal *Journal
		pending *Pending
		errs    [3]error
	)
	wg.Go(func() { record, _, errs[0] = k.Read(ctx) })
	wg.Go(func() { journal, errs[1] = k.ReadJournal(ctx) })
	wg.Go(func() { pending, _, errs[2] = k.readPending(ctx) })
	wg.Wait()
	keys := [3]string{k.key(recordName), k.key(journalName), k.key(pendingName)}
	for i, err := range errs {
		if is[*MalformedError](err) || is[*VersionError](err) {
			return keys[i], nil
		}
	}
	switch {
	case record != nil && len(record.Resources)+len(record.Orphans) > 0:
		return keys[0], nil
	case journal.owns():
		return keys[1], nil
	case pending != nil && !pending.empty():
		return keys[2], nil
	}
	if record != nil && errors.Join(errs[:]...) == nil {
		k.store.warnOnce("empty record "+keys[0], fmt.Sprintf("prefix %q has an empty record of stack %s in %s; remove it with: "+
			"cdkd state orphan %[2]s --stack-region %[3]s --state-prefix %[1]s", k.prefix, k.Name, k.Region))
	}
	return "", worst(errs[:])
}

// worst is the first error that is not a denial, else a denial.
func worst(errs []error) (denied error) {
	for _, err := range errs {
		switch {
		case err == nil:
		case !is[*AccessError](err):
			return err
		default:
			denied = err
		}
	}
	return denied
}

// owns tells whether a rollback of the journal could reach for a resource.
func (j *Journal) owns() bool {
	if j == nil {
		return false
	}
	return slices.ContainsFunc(j.Segments, func(g *Segment) bool {
		return len(g.Operations) > 0 || slices.ContainsFunc(g.Failed, func(op *Operation) bool { return op.PhysicalID != "" })
	})
}

// Reserved tells whether a folder beside those of the stacks has the name.
func Reserved(name string) bool {
	switch name {
	case "_cdkd-registry", "_index", "cdkd-bootstrap", "custom-resource-responses":
		return true
	}
	return false
}
