package state

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/internal/sandbox/s3"
	"github.com/org/cdkd-action/internal/stateshape"
)

// Whatever is in the place of an object, who reads it gets what can be told or a
// typed error that names the key; and what cannot be read is not written over
// (S-55, S-106, S-232, S-253, S-262, P-31).
func FuzzObjects(f *testing.F) {
	for i := range fuzzed {
		f.Add(i, []byte(`null`))
		f.Add(i, []byte(`{"version":99,"journalVersion":99,"ledgerVersion":99,"retainedVersion":99,"pendingVersion":99,"indexVersion":99}`))
		f.Add(i, []byte(`{"resources":[],"segments":{},"sent":[],"operations":{},"exports":[],"runs":{}}`))
		f.Add(i, []byte(`{"handoverVersion":1,"direction":"to-cloudformation","step":"importing","cloudFormationStack":"Shop","region":"eu-west-1","resources":{}}`))
	}
	for i, name := range []string{
		"messaging/state.json", "mutate-61/rollback-journal.json", "mutate-85/lock.json", "messaging/exports.json", "mutate-61/index.json",
	} {
		f.Add(i, testdata(f, name))
	}
	f.Fuzz(func(t *testing.T, which int, body []byte) {
		if which < 0 {
			return
		}
		o := fuzzed[which%len(fuzzed)]
		c := &cloud{Server: s3.New(s3.Options{AccountID: account})}
		c.AddBucket(bucket, "eu-west-1", "")
		c.PutObject(bucket, o.key, body)
		s, err := Open(t.Context(), c.inProcess(), Options{Bucket: bucket, Prefix: DefaultPrefix, Region: "eu-west-1", Account: fixedAccount})
		if err != nil {
			t.Fatal(err)
		}
		err = o.use(t.Context(), s.Stack("Shop", "eu-west-1"))
		if err == nil {
			return
		}
		malformed, version := is[*MalformedError](err), is[*VersionError](err)
		held := is[*HeldError](err) || is[*RegisteredError](err)
		if !malformed && !version && !held {
			t.Fatalf("got %v (%T)", err, err)
		}
		if !held && !strings.Contains(err.Error(), o.key) {
			t.Fatalf("the error does not name %s: %v", o.key, err)
		}
		if now, there := c.Object(bucket, o.key); !there || string(now.Body) != string(body) {
			t.Fatalf("it was written over: %s", now.Body)
		}
	})
}

// A fuzzedObject is an object and what reads it and would write it.
type fuzzedObject struct {
	key string
	use func(context.Context, *Stack) error
}

var fuzzed = []fuzzedObject{
	{recordKey, func(ctx context.Context, k *Stack) error {
		_, err := k.store.Survey(ctx)
		if err != nil {
			return err
		}
		r, etag, err := k.Read(ctx)
		if err != nil {
			return err
		}
		saver := NewSaver(ctx, k, etag, SaverOptions{Read: r})
		if err := saver.Save(r); err != nil {
			return err
		}
		return saver.Flush(ctx)
	}},
	{journalKey, func(ctx context.Context, k *Stack) error {
		return k.AppendSegment(ctx, &Segment{RunID: run1, Reason: Interrupted, Timestamp: 1, Operations: []*Operation{{LogicalID: "A", ResourceType: "T", ChangeType: OpCreate}}})
	}},
	{lockKey, func(ctx context.Context, k *Stack) error {
		l, err := k.Lock(ctx, LockOptions{Owner: "me", Operation: "destroy", FailFast: true})
		if err != nil {
			return err
		}
		return l.Release(ctx)
	}},
	{exportsKey, func(ctx context.Context, k *Stack) error {
		if _, _, err := k.store.Exports("eu-west-1").Lookup(ctx, "Other", "name"); err != nil {
			return err
		}
		return k.store.Exports("eu-west-1").Update(ctx, "Shop", &Record{Outputs: value.NewObject("a", "b"), ExportNames: []string{"a"}})
	}},
	{shopKey + "deployments/index.json", func(ctx context.Context, k *Stack) error {
		if _, err := k.RunIndex(ctx); err != nil {
			return err
		}
		k.StartRun(ctx, RunOptions{ID: run1, Command: "deploy"}).Finish(ctx, Succeeded, nil, nil)
		return nil
	}},
	{shopKey + "deployments/" + run1 + ".jsonl", func(ctx context.Context, k *Stack) error {
		_, err := k.Runs(ctx, []string{run1})
		return err
	}},
	{ledgerKey, func(ctx context.Context, k *Stack) error {
		l := k.OpenLedger(ctx, true, nil)
		_, err := l.Intend(ctx, Intent{LogicalID: "A", Type: "AWS::SQS::Queue", Name: "a"})
		return err
	}},
	{retainedKey, func(ctx context.Context, k *Stack) error {
		return k.RetainLast(ctx, []Kept{{LogicalID: "A", ResourceType: "AWS::SQS::Queue", PhysicalID: "p"}})
	}},
	{pendingKey, func(ctx context.Context, k *Stack) error {
		f, err := k.OpenPending(ctx, true)
		if err != nil {
			return err
		}
		return f.Change(ctx, func(p *Pending) { p.Enter(openCreate("A")) })
	}},
	{markerKey, func(ctx context.Context, k *Stack) error { return k.Registry().Claim(ctx) }},
	{"cdkd-bootstrap/eu-west-1.json", func(ctx context.Context, k *Stack) error {
		_, err := k.store.AssetStorages(ctx)
		return err
	}},
	{shopKey + handoverName, func(ctx context.Context, k *Stack) error {
		f, err := k.OpenHandover(ctx)
		if err != nil {
			return err
		}
		return f.Write(ctx, Handover{Direction: ToCloudFormation, Step: Importing, Stack: "Shop"})
	}},
	{"cdkd/Shop/" + recordName, func(ctx context.Context, k *Stack) error { // of the oldest form
		r, etag, err := k.Read(ctx)
		if err != nil || r == nil { // of another region
			return err
		}
		saver := NewSaver(ctx, k, etag, SaverOptions{Read: r})
		if err := saver.Save(r); err != nil {
			return err
		}
		return saver.Flush(ctx)
	}},
}

// Every object that has a shape is among the fuzzed ones.
func TestEveryObjectIsFuzzed(t *testing.T) {
	for _, key := range stateshape.Keys() {
		if !slices.ContainsFunc(fuzzed, func(o fuzzedObject) bool { return key.MatchString(o.key) }) {
			t.Errorf("%s is not", key)
		}
	}
}
