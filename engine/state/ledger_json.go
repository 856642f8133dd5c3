package state

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/org/cdkd-action/engine/value"
)

const ledgerVersion = 1

// calledKey ends the key of what says the name of an entry beside it. That is an
// entry by its members, for readers that know no other; its token is the name.
const calledKey = "@name"

// An Entry is one create that a ledger vouches for: it was about to be sent.
type Entry struct {
	Base        string // what is made, from Intent
	Token       string // the name it is made under, or the token it is sent with
	FirstSentAt int64  // Unix milliseconds, by the clock of the run
	FailedAt    int64  // when it came back without saying what it did; 0: it did not
	Called      string // the name it is made under where Token is none, "" if not known

	read *value.Object
}

// A ledgerDoc is the body of a ledger.
type ledgerDoc struct {
	nonce       string
	sent        map[string]Entry // by logical id
	recorded    bool             // a record was saved since the ledger began
	abandonedAt int64            // bounds what the run that wrote the entries can have made; 0: no bound

	read *value.Object

	// Not written: whether the object exists, and which entries this run made.
	there bool
	fresh map[string]bool
}

func newLedgerDoc() *ledgerDoc {
	return &ledgerDoc{nonce: uuid.NewString(), sent: map[string]Entry{}, fresh: map[string]bool{}}
}

func (d *ledgerDoc) empty() bool { return false }

func (d *ledgerDoc) clone() *ledgerDoc {
	c := *d
	c.sent, c.fresh = maps.Clone(d.sent), maps.Clone(d.fresh)
	return &c
}

// parseLedger reads the body of a ledger. An entry that is malformed vouches
// for nothing and is left out; what is wrong with the rest makes the ledger
// unreadable, because a bound that is not understood cannot be left out.
func parseLedger(key string, b []byte) (*ledgerDoc, error) {
	o, err := parseObject(key, b)
	if err != nil {
		return nil, unreadableLedger(err)
	}
	if _, err := version(key, o, "ledgerVersion", 0, ledgerVersion); err != nil {
		return nil, err
	}
	var problems []string
	in := reader{o, "the ledger", &problems}
	d := newLedgerDoc()
	d.nonce, d.recorded, d.read, d.there = in.text("nonce"), o.Value("stateRecorded") == true, o, true
	if d.nonce == "" && len(problems) == 0 {
		in.bad("nonce", "a string that is not empty")
	}
	if o.Value("sent") == nil {
		in.bad("sent", "an object")
	}
	called := map[string]Entry{}
	for key, v := range in.object("sent").All() {
		e, ok := parseEntry(v)
		if id, isName := strings.CutSuffix(key, calledKey); ok && isName {
			called[id] = e
		} else if ok {
			d.sent[key] = e
		}
	}
	for id, name := range called {
		// An entry that was written anew since says nothing about its name.
		if e, ok := d.sent[id]; ok && e.Base == name.Base && e.FirstSentAt == name.FirstSentAt {
			e.Called = name.Token
			d.sent[id] = e
		}
	}
	if d.abandonedAt = in.time("abandonedAt"); o.Has("abandonedAt") && d.abandonedAt <= 0 {
		in.bad("abandonedAt", "a time")
	}
	if len(problems) > 0 {
		return nil, unreadableLedger(&MalformedError{Key: key, Problems: problems})
	}
	return d, nil
}

func unreadableLedger(err error) error {
	if m, ok := err.(*MalformedError); ok {
		m.Hint = "restore an earlier version of the object; or make sure that no earlier create of this stack " +
			"left a resource that is not recorded, and remove it. Until then nothing is created that the ledger must vouch for"
	}
	return err
}

func parseEntry(v any) (Entry, bool) {
	o, ok := v.(*value.Object)
	if !ok {
		return Entry{}, false
	}
	var problems []string
	in := reader{o, "", &problems}
	e := Entry{Base: in.text("base"), Token: in.text("token"), FirstSentAt: in.time("firstSentAt"), FailedAt: in.time("failedAt"), read: o}
	if o.Has("failedAt") && e.FailedAt <= 0 {
		return Entry{}, false // it would license more without
	}
	return e, len(problems) == 0 && e.Base != "" && e.Token != "" && e.FirstSentAt > 0
}

// longestEmptyLedger is how many bytes a ledger without entries has at most. One
// with a single entry has more.
const longestEmptyLedger = 200

func (d *ledgerDoc) marshal() ([]byte, error) {
	w := over(d.read)
	w.o.Set("ledgerVersion", value.Int(ledgerVersion))
	w.o.Set("nonce", d.nonce)
	sent := &value.Object{}
	for _, id := range slices.Sorted(maps.Keys(d.sent)) {
		e := d.sent[id]
		sent.Set(id, e.object())
		if e.Called != "" {
			sent.Set(id+calledKey, Entry{Base: e.Base, Token: e.Called, FirstSentAt: e.FirstSentAt}.object())
		}
	}
	w.o.Set("sent", sent)
	w.put("stateRecorded", true, d.recorded)
	w.put("abandonedAt", value.Int(d.abandonedAt), d.abandonedAt > 0)
	return value.MarshalIndent(w.o)
}

func (e Entry) object() *value.Object {
	w := over(e.read)
	w.o.Set("base", e.Base)
	w.o.Set("token", e.Token)
	w.o.Set("firstSentAt", value.Int(e.FirstSentAt))
	w.put("failedAt", value.Int(e.FailedAt), e.FailedAt > 0)
	return w.o
}
