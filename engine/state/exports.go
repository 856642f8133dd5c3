package state

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/org/cdkd-action/engine/value"
)

const exportsVersion = 1

// An Export is a value that other stacks may import.
type Export struct {
	Value          any // JSON; a secret is its expression
	ProducerStack  string
	ProducerRegion string
}

// Exports is the index of a region's exports. It saves reading every record,
// and is never the last word: what it does not name is looked for in the
// records, and what it should name can be rebuilt from them.
type Exports struct {
	store  *Store
	region string

	mu     sync.Mutex // one at a time reads or writes
	loaded *exportIndex
}

type exportIndex struct {
	entries *value.Object // as in the object; unknown members kept
	read    *value.Object
	etag    ETag
	usable  bool // false: missing or broken, and entries is empty
}

// Exports returns the index of a region. It sends no request.
func (s *Store) Exports(region string) *Exports {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.exports[region]
	if x == nil {
		x = &Exports{store: s, region: region}
		s.exports[region] = x
	}
	return x
}

func (x *Exports) key() string { return x.store.prefix + "/_index/" + x.region + "/exports.json" }

// Lookup finds an export for a stack that imports it; its own do not count.
// The index is read once a run and then follows Update.
func (x *Exports) Lookup(ctx context.Context, importer, name string) (e Export, found bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.loaded == nil {
		if x.loaded, err = x.load(ctx); err != nil {
			return e, false, x.doing("look up export "+name, err)
		}
	}
	if e, found = export(x.loaded.entries, name); found && e.ProducerStack != importer {
		return e, true, nil
	}
	all, err := x.scan(ctx)
	if err != nil {
		return e, false, x.doing("look up export "+name, err)
	}
	e, found = export(without(all, importer), name)
	if found {
		x.patch(ctx, all, name, e)
	}
	return e, found, nil
}

// Others names the stacks that export names according to the index, but for one
// stack's own exports. The index may be behind.
func (x *Exports) Others(ctx context.Context, stack string, names []string) (map[string]string, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.loaded == nil {
		var err error
		if x.loaded, err = x.load(ctx); err != nil {
			return nil, x.doing("look whether others export the same names", err)
		}
	}
	others := map[string]string{}
	for _, name := range names {
		if e, ok := export(x.loaded.entries, name); ok && e.ProducerStack != stack {
			others[name] = e.ProducerStack
		}
	}
	return others, nil
}

// Prepare reads the index, for an Update to come to have to read it no more.
// What fails is the Update's to say.
func (x *Exports) Prepare(ctx context.Context) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.loaded == nil {
		if index, err := x.load(ctx); err == nil {
			x.loaded = index
		}
	}
}

func (x *Exports) doing(what string, err error) error {
	return fmt.Errorf("%s in %s: %w", what, x.region, err)
}

// Update makes the index name exactly the exports of a stack's record; nil is
// a stack that is gone. An index that says so already is not written, and none
// is made for a stack that exports nothing.
func (x *Exports) Update(ctx context.Context, stack string, r *Record) error {
	want := &value.Object{}
	for _, name := range r.Exports() {
		want.Set(name, Export{r.Outputs.Value(name), stack, x.region}.object())
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var known *exportIndex
	if r != nil && x.loaded != nil { // of a stack that is gone nothing may stay, whoever added it meanwhile
		index := *x.loaded
		index.entries = index.entries.Clone() // until it is written it is not so
		known = &index
	}
	err := x.change(ctx, known, nil, want.Len() > 0, func(entries *value.Object) bool { return replace(entries, stack, x.region, want) })
	if err != nil {
		return x.doing("update the exports of stack "+stack, err)
	}
	return nil
}

// patch adds one export that a scan found. The index being only a shortcut,
// nothing depends on it.
func (x *Exports) patch(ctx context.Context, scanned *value.Object, name string, e Export) {
	err := x.change(ctx, nil, scanned, true, func(entries *value.Object) bool {
		changed := !value.Equal(entries.Value(name), e.object())
		entries.Set(name, e.object())
		return changed
	})
	if err != nil {
		x.store.warn(x.doing("add export "+name+" to the index", err).Error())
	}
}

// change reads, changes and writes the index until nobody else wrote it in
// between. What is known of it is tried first; nil is nothing. One that is
// missing or broken is made from the records, scanned already or not, if it is
// needed.
func (x *Exports) change(ctx context.Context, known *exportIndex, scanned *value.Object, needed bool, edit func(*value.Object) bool) error {
	wait := 100 * time.Millisecond
	for tries := 1; ; tries++ {
		index := known
		known = nil
		if index == nil || !index.usable && needed { // it may be there by now
			var err error
			if index, err = x.load(ctx); err != nil {
				return err
			}
		}
		if !index.usable && !needed {
			return nil
		}
		rebuilt := false
		if !index.usable {
			if scanned == nil {
				var err error
				if scanned, err = x.scan(ctx); err != nil {
					return err
				}
			}
			index.entries, index.usable = scanned.Clone(), true
			rebuilt = index.entries.Len() > 0
		}
		if !edit(index.entries) && !rebuilt {
			x.loaded = index
			return nil
		}
		var err error
		index.etag, err = x.save(ctx, index)
		if err == nil {
			x.loaded = index
			return nil
		}
		if tries == 5 || !isConflict(err) && !passing(err) {
			return err
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, time.Second)
	}
}

// load reads the index.
func (x *Exports) load(ctx context.Context) (*exportIndex, error) {
	body, etag, err := x.store.get(ctx, x.key())
	if errors.Is(err, errAbsent) {
		return &exportIndex{entries: &value.Object{}}, nil
	}
	if err != nil {
		return nil, err
	}
	o, err := parseExports(x.key(), body)
	if is[*MalformedError](err) {
		return &exportIndex{entries: &value.Object{}, etag: etag}, nil
	}
	if err != nil {
		return nil, err
	}
	return &exportIndex{entries: o.Object("exports").Clone(), read: o, etag: etag, usable: true}, nil
}

func parseExports(key string, body []byte) (*value.Object, error) {
	o, err := parseObject(key, body)
	if err != nil {
		return nil, err
	}
	if _, err := version(key, o, "indexVersion", 0, exportsVersion); err != nil {
		if v, ok := errors.AsType[*VersionError](err); ok && v.isNewer {
			return nil, err
		}
		return nil, &MalformedError{Key: key, Problems: []string{"indexVersion is not one"}}
	}
	if o.Object("exports") == nil {
		return nil, &MalformedError{Key: key, Problems: []string{"exports is " + value.Kind(o.Value("exports")) + " and must be an object"}}
	}
	return o, nil
}

func (x *Exports) save(ctx context.Context, i *exportIndex) (ETag, error) {
	w := over(i.read)
	w.o.Set("indexVersion", value.Int(exportsVersion))
	w.o.Set("region", x.region)
	w.o.Set("exports", i.entries)
	w.o.Set("lastModified", value.Int(time.Now().UnixMilli()))
	body, err := value.MarshalIndent(w.o)
	if err != nil {
		return "", err
	}
	etag, err := x.store.write(ctx, x.key(), body, typeJSON, when(i.etag))
	if errors.Is(err, errUnsupported) && i.etag == Absent {
		return x.store.write(ctx, x.key(), body, typeJSON, always)
	}
	return etag, err
}

// scan collects the exports that the region's records make. Of two producers
// the one saved last counts; a record that cannot be read makes none.
func (x *Exports) scan(ctx context.Context) (*value.Object, error) {
	records, err := x.store.records(ctx, func(r Ref) bool { return r.Region == x.region })
	if err != nil {
		return nil, err
	}
	entries := &value.Object{}
	saved := map[string]int64{}
	for _, f := range records {
		if f.err != nil {
			continue
		}
		for _, name := range f.record.Exports() {
			before, twice := saved[name]
			if twice {
				x.store.warn(fmt.Sprintf("export %s of %s is made by more than one stack; the one saved last counts", name, x.region))
			}
			if !twice || f.record.LastModified >= before {
				saved[name] = f.record.LastModified
				entries.Set(name, Export{f.record.Outputs.Value(name), f.ref.Stack, x.region}.object())
			}
		}
	}
	return entries, nil
}

func (e Export) object() *value.Object {
	return value.NewObject("value", e.Value, "producerStack", e.ProducerStack, "producerRegion", e.ProducerRegion)
}

func export(entries *value.Object, name string) (Export, bool) {
	o := entries.Object(name)
	if o.String("producerStack") == "" {
		return Export{}, false
	}
	return Export{o.Value("value"), o.String("producerStack"), o.String("producerRegion")}, true
}

// without leaves out what one stack exports.
func without(entries *value.Object, stack string) *value.Object {
	rest := &value.Object{}
	for name, v := range entries.All() {
		if e, ok := export(entries, name); ok && e.ProducerStack != stack {
			rest.Set(name, v)
		}
	}
	return rest
}

// replace makes want the whole set of a producer's entries and tells whether
// anything changed.
func replace(entries *value.Object, stack, region string, want *value.Object) bool {
	changed := false
	for _, name := range entries.Keys() {
		e, ok := export(entries, name)
		if ok && e.ProducerStack == stack && e.ProducerRegion == region && !want.Has(name) {
			entries.Delete(name)
			changed = true
		}
	}
	for name, v := range want.All() {
		if !value.Equal(entries.Value(name), v) {
			entries.Set(name, v)
			changed = true
		}
	}
	return changed
}
