package state

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/value"
)

const journalKey = shopKey + journalName

func TestJournalOfTheCommandLine(t *testing.T) { // (S-2, section 8.1)
	in := testdata(t, "mutate-61/rollback-journal.json")
	j, err := ParseJournal("k", in)
	if err != nil {
		t.Fatal(err)
	}
	g := j.Segments[1]
	op := g.Operations[1]
	got := []any{
		len(j.Segments), j.Segments[0].Reason, g.RunID, g.Timestamp, g.Reason, g.InitialDeploy, g.EngineVersion,
		op.LogicalID, op.ChangeType, op.ResourceType, op.PhysicalID, op.ProvisionedBy,
		op.Properties.String("Description"), op.Previous.Properties.String("Description"), op.Previous.Dependencies,
		g.Failed[0].LogicalID, g.Failed[0].PhysicalID, g.Failed[0].Properties.String("QueueName"),
	}
	want := []any{
		2, RollbackClean, "20261129T201718856Z-2a2bb9d7", int64(1795983440047), NoRollback, false, "0.284.40",
		"P4E0919BE", OpUpdate, "AWS::SSM::Parameter", "/lab/mutate/p", BySDK,
		"d5", "d4", []string{"Q63C6E3AB"},
		"BadC4840B29", "", "lab-injected-failure",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out, err := j.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(in), string(out)); diff != "" {
		t.Errorf("written again (-want +got):\n%s", diff)
	}
}

const fullJournal = `{"journalVersion":1,"future":1,"stackName":"Shop","region":"eu-west-1","segments":[
{"runId":"r","timestamp":5,"reason":"nested-pending-parent","initialDeploy":true,"roleArn":"arn:role","future":[2],
"operations":[{"logicalId":"A","changeType":"UPDATE","resourceType":"T","future":3,"oldResourceRetained":true,
"previousResourceType":"U","oldDeletedBeforeCreate":true,"wasReplaced":false,"previousState":{"physicalId":"p","future":4}}],
"failedOperations":[{"logicalId":"B","changeType":"CREATE","resourceType":"T","attemptedProperties":{},
"physicalIdRecoveredFromError":true,"deletionPolicy":"Retain","replacedPhysicalId":"x","replacedResourceType":"V",
"replacedResourceDeleted":true,"replacementOrphaned":"create-first"}],
"previousOutputs":{"outputs":{}},"previousCrossStackReads":{"imports":[]},"supersededLogicalIds":["C"],
"importedResources":[{"logicalId":"B"}]}]}`

func TestJournalKeepsWhatItDoesNotKnow(t *testing.T) { // (S-2)
	j, err := ParseJournal("k", []byte(fullJournal))
	if err != nil {
		t.Fatal(err)
	}
	out, err := j.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	was, _ := value.ParseObject([]byte(fullJournal))
	is, _ := value.ParseObject(out)
	if !value.Equal(was, is) {
		t.Errorf("something was lost or changed:\n%s", cmp.Diff(fullJournal, string(out)))
	}
}

func TestJournalRefused(t *testing.T) {
	journal := func(segment string) string { return `{"journalVersion":1,"segments":[` + segment + `]}` }
	op := func(members string) string { return journal(`{},{"operations":[{},` + "{" + members + `}]}`) }
	for _, tt := range []struct{ name, body, problem string }{
		{"not JSON", `{`, "not JSON"},
		{"not an object", `3`, "must be an object"},
		{"no version", `{"segments":[]}`, "journalVersion is null"},
		{"a version that is not a number", `{"journalVersion":"1","segments":[]}`, "journalVersion is a string"},
		{"a version below 1", `{"journalVersion":0,"segments":[]}`, "below 1"},
		{"no segments", `{"journalVersion":1}`, "segments of the journal is null"},
		{"segments not a list", `{"journalVersion":1,"segments":{}}`, "segments of the journal is an object"},
		{"a segment not an object", journal(`1`), "segments[0] of the journal is a number"},
		{"a run id not a string", journal(`{"runId":1}`), "runId of segments[0] of the journal is a number"},
		{"no logical id", op(`"resourceType":"T","changeType":"CREATE"`), "logicalId of operations[1] of segments[1] of the journal is null"},
		{"an empty logical id", op(`"logicalId":"","resourceType":"T","changeType":"CREATE"`), "logicalId of operations[1] of segments[1]"},
		{"no type", op(`"logicalId":"A","changeType":"CREATE"`), "resourceType of operations[1] of segments[1] of the journal is null"},
		{"no kind of change", op(`"logicalId":"A","resourceType":"T"`), "changeType of operations[1] of segments[1] of the journal is null"},
		{"a physical id not a string", op(`"logicalId":"A","resourceType":"T","changeType":"CREATE","physicalId":7`), "physicalId of operations[1] of segments[1] of the journal is a number"},
		{"a previous type not a string", op(`"logicalId":"A","resourceType":"T","changeType":"CREATE","previousResourceType":7`), "previousResourceType of"},
		{"a previous row not an object", op(`"logicalId":"A","resourceType":"T","changeType":"UPDATE","previousState":"secret"`), "previousState of operations[1] of segments[1] of the journal is a string"},
		{"properties not an object", op(`"logicalId":"A","resourceType":"T","changeType":"CREATE","properties":[]`), "properties of operations[1] of segments[1] of the journal is a list"},
		{"a flag not a boolean", op(`"logicalId":"A","resourceType":"T","changeType":"CREATE","oldResourceRetained":"yes"`), "oldResourceRetained of"},
		{"attempted properties not an object", journal(`{"failedOperations":[{"logicalId":"A","resourceType":"T","changeType":"CREATE","attemptedProperties":1}]}`), "attemptedProperties of failedOperations[0] of segments[0] of the journal is a number"},
	} {
		t.Run(tt.name+" (S-106)", func(t *testing.T) {
			_, err := ParseJournal(journalKey, []byte(tt.body))
			e := as[*MalformedError](t, err)
			if text := strings.Join(e.Problems, "\n"); !strings.Contains(text, tt.problem) || strings.Contains(text, "secret") {
				t.Errorf("got %q, want %q", text, tt.problem)
			}
			if !strings.Contains(e.Error(), journalKey) || !strings.Contains(e.Remedy(), "give up the rollback") {
				t.Errorf("got %q, remedy %q", e, e.Remedy())
			}
		})
	}
	_, err := ParseJournal(journalKey, []byte(`{"journalVersion":2,"segments":[]}`))
	if e := as[*VersionError](t, err); e.Found != "2" || e.Key != journalKey { // (S-3, S-106)
		t.Errorf("got %+v", e)
	}
}

func segment(run string, ids ...string) *Segment {
	g := &Segment{RunID: run, Timestamp: 1, Reason: NoRollback, EngineVersion: "cdkd-action/1"}
	for _, id := range ids {
		g.Operations = append(g.Operations, &Operation{LogicalID: id, ResourceType: "T", ChangeType: OpCreate, PhysicalID: id})
	}
	return g
}

const (
	run1 = "20260101T000000000Z-00000001"
	run2 = "20260101T000000000Z-00000002"
)

func TestJournalLifeCycle(t *testing.T) {
	c, k := shop(t)
	versioned(t, k.store)
	ctx := t.Context()
	state := func() (runs []string) {
		j, err := k.ReadJournal(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if j == nil {
			return nil
		}
		for _, g := range j.Segments {
			ids := g.RunID
			for _, op := range g.Operations {
				ids += " " + op.LogicalID
			}
			runs = append(runs, ids)
		}
		return runs
	}
	want := func(step string, runs ...string) {
		t.Helper()
		if diff := cmp.Diff(runs, state()); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", step, diff)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	want("no journal")
	do(k.AppendSegment(ctx, segment(run1)))
	want("nothing done, nothing written (S-110)")
	do(k.AppendSegment(ctx, segment(run1, "A")))
	do(k.AppendSegment(ctx, segment(run2, "B")))
	want("appended (S-110, S-112)", run1+" A", run2+" B")
	do(k.AppendSegment(ctx, segment(run2, "B", "C")))
	want("a run's own is replaced (S-116)", run1+" A", run2+" B C")
	do(k.PopSegment(ctx, "r9"))
	do(k.PopSegment(ctx, run2))
	want("popped (S-129)", run1+" A")
	do(k.PopSegment(ctx, run1))
	want("the last one popped, the journal is gone (S-129)")
	if v := c.Versions(bucket, journalKey); len(v) != 1 || !v[0].DeleteMarker {
		t.Errorf("%d versions are left, want the delete marker only (S-113)", len(v))
	}
}

func TestJournalIsNeverOverwrittenUnread(t *testing.T) { // (S-106)
	c, k := shop(t)
	c.PutObject(bucket, journalKey, []byte("torn"))
	as[*MalformedError](t, k.AppendSegment(t.Context(), segment(run1, "A")))
	as[*MalformedError](t, k.PopSegment(t.Context(), run1))
	if c.body(t, journalKey) != "torn" {
		t.Error("it was overwritten")
	}
}

func TestJournalIsTriedHarder(t *testing.T) { // (S-110)
	for _, tt := range []struct {
		failures int
		ok       bool
	}{{3 * 2, true}, {3 * 3, false}} {
		synctest.Test(t, func(t *testing.T) {
			c, k := bubbleShop(t)
			c.on("PutObject", journalName, 0, tt.failures, answer(http.StatusInternalServerError, "InternalError"))
			if err := k.AppendSegment(t.Context(), segment(run1, "A")); (err == nil) != tt.ok {
				t.Errorf("after %d failures: %v", tt.failures, err)
			}
		})
	}
}

func TestPurgeDenied(t *testing.T) { // (S-19)
	c := newCloud(t)
	n := new(notes)
	k := open(t, c.overHTTP(t), func(o *Options) { o.Warn = n.add }).Stack("Shop", "eu-west-1")
	c.on("ListObjectVersions", "", 0, 0, answer(http.StatusForbidden, "AccessDenied"))
	for range 2 {
		if err := k.DeleteJournal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := n.all(); len(got) != 1 || !strings.Contains(got[0], "s3:ListBucketVersions") || !strings.Contains(got[0], "s3:DeleteObjectVersion") {
		t.Errorf("warned %q", got)
	}
}

func TestPurgeKeepsOtherKeysAndTheLatest(t *testing.T) { // (S-19)
	c, k := shop(t)
	versioned(t, k.store)
	for range 3 {
		c.PutObject(bucket, lockKey, []byte("x"))
		c.PutObject(bucket, lockKey+"x", []byte("x"))
	}
	if err := k.PurgeLock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, other := len(c.Versions(bucket, lockKey)), len(c.Versions(bucket, lockKey+"x")); got != 1 || other != 3 {
		t.Errorf("%d versions of the lock and %d of another key, want 1 and 3", got, other)
	}
}

func FuzzJournal(f *testing.F) {
	f.Add(testdata(f, "mutate-61/rollback-journal.json"))
	f.Add([]byte(fullJournal))
	f.Add([]byte(`{"journalVersion":1e309,"segments":[null]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := ParseJournal(journalKey, b)
		if err != nil {
			_, malformed := errors.AsType[*MalformedError](err)
			_, version := errors.AsType[*VersionError](err)
			if !malformed && !version || !strings.Contains(err.Error(), journalKey) {
				t.Fatalf("got %v (%T)", err, err)
			}
			return
		}
		out, err := j.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseJournal(journalKey, out)
		if err != nil {
			t.Fatalf("%v, after\n%s", err, out)
		}
		if twice, err := again.Marshal(); err != nil || !bytes.Equal(out, twice) {
			t.Errorf("written twice (%v):\n%s", err, cmp.Diff(string(out), string(twice)))
		}
	})
}
