package state

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/org/cdkd-action/engine/value"
)

// registryFolder holds a marker for every stack, outside of every prefix.
const registryFolder = "_cdkd-registry/"

// A Registry is one stack's marker in the bucket: it says under which prefix
// the stack of this name and region is kept, so that no two prefixes of a
// bucket own one stack. A nested stack goes with its root and has none.
//
// Where the marker may not be read or written, the other prefixes are looked
// through instead; where that is denied too, a warning says so. It is for one
// caller at a time.
type Registry struct {
	stack *Stack
	key   string

	etag    ETag // of the marker that names our prefix, as far as read
	claimed bool // by this run
	scanned bool // the other prefixes, which do not keep the stack
}

// Registry returns the stack's marker. It sends no request.
func (k *Stack) Registry() *Registry {
	return &Registry{stack: k, key: registryFolder + k.Region + "/" + k.Name + ".json"}
}

// parseMarker returns the prefix that a marker names.
func parseMarker(key string, b []byte) (prefix string, err error) {
	const hint = "restore an earlier version of the object, or remove it when the stack is kept under one prefix only"
	o, err := parseObject(key, b)
	if m, ok := err.(*MalformedError); ok {
		m.Hint = hint
	}
	if err != nil {
		return "", err
	}
	prefix, ok := o.Value("prefix").(string)
	if !ok || len([]rune(prefix)) > 1024 || strings.ContainsFunc(prefix, unprintable) {
		return "", &MalformedError{Key: key, Hint: hint, Problems: []string{"prefix is not one that a stack can be kept under"}}
	}
	return prefix, nil
}

func unprintable(r rune) bool { return unicode.IsControl(r) || r == '<' || r == '>' }

func (g *Registry) body() []byte {
	b, _ := value.MarshalIndent(value.NewObject("prefix", g.stack.prefix)) // a string cannot fail
	return b
}

// read returns the prefix that the marker names; errAbsent when there is none.
func (g *Registry) read(ctx context.Context) (prefix string, etag ETag, err error) {
	body, etag, err := g.stack.store.get(ctx, g.key)
	if err != nil {
		return "", Absent, err
	}
	prefix, err = parseMarker(g.key, body)
	return prefix, etag, err
}

// Claim takes the name for a stack that has no record, before anything is made.
// It is one request when nobody had the name. A *RegisteredError says that
// somebody has.
func (g *Registry) Claim(ctx context.Context) error {
	return g.decided(g.decide(ctx, true, true))
}

// Check makes sure that a recorded stack is ours to delete from, and claims
// the name when nobody has.
func (g *Registry) Check(ctx context.Context) error {
	return g.decided(g.decide(ctx, false, true))
}

// Look is Check without a write, for a rehearsal.
func (g *Registry) Look(ctx context.Context) error {
	return g.decided(g.decide(ctx, false, false))
}

func (g *Registry) decided(err error) error {
	if err == nil || is[*RegisteredError](err) {
		return err
	}
	return &UnansweredError{Stack: g.stack.Name, Region: g.stack.Region, Key: g.key, Err: err}
}

// decide asks for the name at most twice: a marker that somebody else wrote in
// between is read once more.
func (g *Registry) decide(ctx context.Context, isNew, write bool) error {
	if strings.Contains(g.stack.Name, "~") {
		return nil
	}
	if isNew && write {
		err := g.claim(ctx, Absent)
		if !contended(err) {
			return g.orScan(ctx, err, "s3:PutObject")
		}
	}
	for try := 1; ; try++ {
		prefix, etag, err := g.read(ctx)
		switch {
		case errors.Is(err, errAbsent):
			etag = Absent
		case err != nil:
			return g.orScan(ctx, err, "s3:GetObject")
		case prefix == g.stack.prefix:
			g.etag = etag
			if g.claimed && !isNew && !g.scanned {
				return g.scan(ctx) // claimed for a new stack, which it turned out not to be
			}
			return nil
		default:
			if err := g.vacated(ctx, prefix); err != nil {
				return err
			}
		}
		if err := g.scan(ctx); err != nil || !write {
			return err
		}
		err = g.claim(ctx, etag)
		if !contended(err) {
			return g.degraded(err, "s3:PutObject")
		}
		if try == 2 {
			return fmt.Errorf("claimed by several processes at once: %w", err)
		}
	}
}

// Claimed tells whether this run took the name.
func (g *Registry) Claimed() bool { return g.claimed }

// claim writes the marker if it still is the version read.
func (g *Registry) claim(ctx context.Context, read ETag) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// A name that was taken must be known of, or nobody gives it back.
	ctx, cancel := answered(ctx)
	defer cancel()
	etag, err := g.stack.store.put(ctx, g.key, g.body(), typeJSON, when(read))
	if err == nil {
		g.etag, g.claimed = etag, true
	}
	return err
}

// degraded warns of a denied or unknown request, and lets it pass.
func (g *Registry) degraded(err error, permission string) error {
	denied := is[*AccessError](err)
	if !denied && !errors.Is(err, errUnsupported) {
		return err
	}
	why := "the bucket does not know conditional writes"
	if denied {
		why = "it takes " + permission + " on " + registryFolder + "*"
	}
	g.stack.store.warnOnce("registry "+permission, fmt.Sprintf("the prefix of stack %s in %s could not be registered (%s), "+
		"so another prefix of this bucket is only found where it is recorded: %v", g.stack.Name, g.stack.Region, why, err))
	return nil
}

// orScan makes the scan's verdict that of a marker that cannot be had.
func (g *Registry) orScan(ctx context.Context, err error, permission string) error {
	if err == nil {
		return nil
	}
	if err := g.degraded(err, permission); err != nil {
		return err
	}
	return g.scan(ctx)
}

// vacated refuses while the prefix that the marker names may own resources, or
// work on some.
func (g *Registry) vacated(ctx context.Context, prefix string) error {
	other := g.stack.under(prefix)
	owns, err := other.owns(ctx)
	switch {
	case err != nil:
		return err
	case owns != "":
		return g.refusal(prefix, owns, false)
	}
	for _, key := range []string{other.key(lockName), other.legacyKey(lockName)} {
		_, _, err := g.stack.store.get(ctx, key)
		if err == nil {
			return g.refusal(prefix, key, true)
		}
		if !errors.Is(err, errAbsent) {
			return err
		}
	}
	return nil
}

func (g *Registry) refusal(prefix, key string, working bool) error {
	s := g.stack.store
	return &RegisteredError{
		Stack: g.stack.Name, Region: g.stack.Region, Prefix: prefix, Ours: g.stack.prefix, Key: key, Working: working,
		bucket: s.bucket, profile: s.profile,
	}
}

// Release gives the name back when the record is gone, with the lock held. A
// marker that is not ours any more is left. An error changes nothing of what
// the run achieved: the next run takes over a marker with nothing behind it.
func (g *Registry) Release(ctx context.Context) error {
	if strings.Contains(g.stack.Name, "~") {
		return nil
	}
	if err := g.release(ctx); err != nil {
		return fmt.Errorf("give back the name of stack %s in %s: %w", g.stack.Name, g.stack.Region, err)
	}
	return nil
}

func (g *Registry) release(ctx context.Context) error {
	s := g.stack.store
	if g.claimed || g.etag == Absent {
		ours, err := g.reread(ctx)
		if err != nil || !ours {
			return err
		}
	}
	err := s.removeIf(ctx, g.key, g.etag)
	switch {
	case errors.Is(err, errAbsent), contended(err):
		return nil // gone, or claimed again
	case errors.Is(err, errUnsupported), is[*AccessError](err):
		ours, readErr := g.reread(ctx)
		if readErr != nil || !ours {
			return readErr
		}
		return s.remove(ctx, g.key)
	}
	return err
}

// reread tells whether the marker names our prefix.
func (g *Registry) reread(ctx context.Context) (ours bool, err error) {
	prefix, etag, err := g.read(ctx)
	if errors.Is(err, errAbsent) {
		return false, nil
	}
	g.etag = etag
	return err == nil && prefix == g.stack.prefix, err
}

// ReleaseUnused is Release after a first deploy that failed, unless it left
// something: a record, a journal or open operations that name a resource, or
// creates that nobody answered.
func (g *Registry) ReleaseUnused(ctx context.Context) error {
	r, _, err := g.stack.Read(ctx)
	owns, open := "", []Unsettled(nil)
	if err == nil && r == nil {
		owns, err = g.stack.owns(ctx)
	}
	if err == nil && r == nil && owns == "" {
		open, err = g.stack.Unsettled(ctx)
	}
	switch {
	case err != nil:
		return fmt.Errorf("keep the name of stack %s in %s, as what was left there is not known: %w", g.stack.Name, g.stack.Region, err)
	case r != nil || owns != "" || len(open) > 0:
		return nil
	}
	return g.Release(ctx)
}
