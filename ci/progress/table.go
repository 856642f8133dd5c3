package progress

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Key is what something is done to: a resource, or, without a logical id, a
// stack.
type Key struct{ Stack, Region, Account, LogicalID string }

func (k Key) stack() Key { return Key{Stack: k.Stack, Region: k.Region, Account: k.Account} }

// A Table is what is under way, and how much is done and still waits. Its
// methods are safe for concurrent use and return at once. A nil Table takes
// everything and shows nothing.
type Table struct {
	legible func(string) string
	changed func()

	mu      sync.Mutex
	began   time.Time // the first of all
	rows    []*row    // in the order in which they began
	waiting map[Key]bool
	stopped bool
	done    int
	failed  int
	version int // counts the changes
	shown   map[Key]bool
	widths  [columns]int // as last drawn
}

type row struct {
	key                    Key
	stack, id, typ, action string // as shown
	note                   string
	began                  time.Time
}

// New returns an empty table. legible makes text from outside fit to be shown
// on one line; changed is called when there is something new to draw, and must
// not wait.
func New(legible func(string) string, changed func()) *Table {
	return &Table{legible: legible, changed: changed, waiting: map[Key]bool{}}
}

// Begin says that something is under way. What is under way already keeps the
// time at which it began.
func (t *Table) Begin(k Key, typ, action string, at time.Time) {
	t.change(func() {
		delete(t.waiting, k)
		if t.began.IsZero() {
			t.began = at
		}
		r := t.row(k)
		if r == nil {
			r = &row{key: k, began: at}
			t.rows = append(t.rows, r)
		}
		r.note = ""
		r.stack, r.id, r.typ, r.action = t.legible(k.Stack), t.legible(k.LogicalID), t.legible(typ), t.legible(action)
	})
}

// Note says what something that is under way waits for.
func (t *Table) Note(k Key, text string) {
	t.change(func() {
		if r := t.row(k); r != nil {
			r.note = t.legible(text)
		}
	})
}

// End says that something is over, and counts it.
func (t *Table) End(k Key, failed bool) {
	t.change(func() {
		t.leave(k)
		if failed {
			t.failed++
		} else {
			t.done++
		}
	})
}

// Leave says that nothing more is done to something, and does not count it.
func (t *Table) Leave(k Key) { t.change(func() { t.leave(k) }) }

// Expect says what of a stack is going to begin. It takes the place of what was
// said of the stack before.
func (t *Table) Expect(stack Key, logicalIDs []string) {
	t.change(func() {
		t.expect(stack, logicalIDs)
		t.leave(stack)
	})
}

// Stop says that nothing that waits will begin any more.
func (t *Table) Stop() {
	t.change(func() {
		t.stopped = true
		clear(t.waiting)
	})
}

// Close says that nothing more of a stack is under way or going to begin, nor of
// those that are nested in it.
func (t *Table) Close(stack Key) {
	t.change(func() {
		in := func(k Key) bool {
			return k.stack() == stack || k.Region == stack.Region && strings.HasPrefix(k.Stack, stack.Stack+"~")
		}
		maps.DeleteFunc(t.waiting, func(k Key, _ bool) bool { return in(k) })
		t.rows = slices.DeleteFunc(t.rows, func(r *row) bool { return in(r.key) })
	})
}

// Reset empties the table.
func (t *Table) Reset() {
	t.change(func() {
		t.rows, t.began, t.done, t.failed = nil, time.Time{}, 0, 0
		clear(t.waiting)
	})
}

// Shows tells whether somebody who looks at the terminal sees what is done to
// something, and since when.
func (t *Table) Shows(k Key) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown[k] && t.row(k) != nil
}

// see takes what is on the terminal now.
func (t *Table) see(shown map[Key]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown = shown
}

func (t *Table) change(do func()) {
	if t == nil {
		return
	}
	t.mu.Lock()
	do()
	t.version++
	t.mu.Unlock()
	t.changed()
}

func (t *Table) row(k Key) *row {
	if i := slices.IndexFunc(t.rows, func(r *row) bool { return r.key == k }); i >= 0 {
		return t.rows[i]
	}
	return nil
}

func (t *Table) leave(k Key) {
	delete(t.waiting, k)
	t.rows = slices.DeleteFunc(t.rows, func(r *row) bool { return r.key == k })
}

func (t *Table) expect(stack Key, logicalIDs []string) {
	maps.DeleteFunc(t.waiting, func(k Key, _ bool) bool { return k.stack() == stack })
	if t.stopped {
		return
	}
	for _, id := range logicalIDs {
		k := stack
		k.LogicalID = id
		if t.row(k) == nil {
			t.waiting[k] = true
		}
	}
}
