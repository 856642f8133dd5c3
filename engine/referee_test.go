package engine_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
)

const bucketType = "AWS::S3::Bucket"

// What an arena knows of the two.
type referee struct {
	holding map[string]bool     // who has the lock, as far as they know
	wrote   map[string][][]byte // what each wrote as the record
	beaten  map[string]int      // after how many turns each knew that the stack is another's
	looked  map[string]int      // "A shop-data": when each looked for a bucket
	made    map[string]string   // who made a bucket
	when    map[string]int      // when that was
}

// changing are the calls with which an operation on a resource begins.
var changing = []string{
	"cloudcontrolapi:CreateResource", "cloudcontrolapi:UpdateResource", "cloudcontrolapi:DeleteResource",
	"s3:CreateBucket", "s3:DeleteBucket",
}

const (
	recordKey = shopKey + "state.json"
	lockKey   = shopKey + "lock.json"
	ledgerKey = shopKey + "create-tokens.json"
)

// mayHappen sees a request that is about to take effect.
func (a *arena) mayHappen(t *turn) {
	a.note("%s", t)
	bucket, key, _ := strings.Cut(t.about, "/")
	if after, ok := a.beaten[t.who]; ok && t.came > after && slices.Contains(changing, t.call) {
		a.t.Errorf("%s was begun when it was known that the stack is another's", t)
	}
	switch {
	case t.call == "s3:PutObject" && (key == recordKey || key == lockKey || key == ledgerKey):
		if t.request.Header.Get("If-Match")+t.request.Header.Get("If-None-Match") == "" {
			a.t.Errorf("%s on no condition", t)
		}
		if key == recordKey {
			a.wrote[t.who] = append(a.wrote[t.who], t.body)
		}
	case t.call == "s3:DeleteObject" && key == lockKey:
		if owner, expires := lockIn(a.object(bucket, lockKey)); owner != "" && owner != t.who && time.Now().Before(expires) {
			t.forbidden = "the lock is another's"
		}
	case t.call == "s3:HeadBucket":
		a.looked[t.who+" "+bucket] = a.granted
	case t.call == "s3:CreateBucket" && a.duel.buckets[0] != a.duel.buckets[1]:
		if by := a.made[bucket]; by != "" && by != t.who && a.looked[t.who+" "+bucket] > a.when[bucket] {
			t.forbidden = "the bucket was there when it was looked for"
		}
	}
}

// happened sees what came of it.
func (a *arena) happened(t *turn) {
	if t.answer.StatusCode >= 300 {
		return
	}
	if t.forbidden != "" {
		a.t.Errorf("%s: %s", t, t.forbidden)
	}
	if bucket, _, _ := strings.Cut(t.about, "/"); t.call == "s3:CreateBucket" && a.made[bucket] == "" {
		a.made[bucket], a.when[bucket] = t.who, a.granted
	}
}

// isHeard sees an answer that its engine is about to get.
func (a *arena) isHeard(t *turn) {
	_, key, _ := strings.Cut(t.about, "/")
	ok := t.answer.StatusCode < 300
	known := false
	switch {
	case key == lockKey && t.call == "s3:PutObject" && ok:
		a.holding[t.who] = true
	case key == lockKey && t.call == "s3:DeleteObject":
		a.holding[t.who] = false
	case key == lockKey && t.call == "s3:GetObject" && a.holding[t.who]:
		owner, _ := lockIn(content(t.answer))
		known = owner != t.who
	case key == recordKey && t.call == "s3:GetObject" && ok && len(a.wrote[t.who]) > 0:
		body := content(t.answer)
		known = !slices.ContainsFunc(a.wrote[t.who], func(own []byte) bool { return bytes.Equal(own, body) })
	}
	if _, already := a.beaten[t.who]; known && !already {
		a.note("%s knows that the stack is another's", t.who)
		a.beaten[t.who] = a.granted
	}
}

// content is the body of an answer, which stays to be read.
func content(answer *http.Response) []byte {
	text, _ := io.ReadAll(answer.Body) // of a recorder: nothing can go wrong
	answer.Body = io.NopCloser(bytes.NewReader(text))
	return text
}

func (a *arena) object(bucket, key string) []byte {
	o, _ := a.aws.S3.Object(bucket, key)
	return o.Body
}

func lockIn(body []byte) (owner string, expires time.Time) {
	var lock struct {
		Owner     string
		ExpiresAt int64
	}
	if json.Unmarshal(body, &lock) != nil {
		return "", time.Time{}
	}
	return lock.Owner, time.UnixMilli(lock.ExpiresAt)
}

type row struct{ ResourceType, PhysicalID string }

func (a *arena) record(bucket string) map[string]row {
	var record struct{ Resources map[string]row }
	if body := a.object(bucket, recordKey); body != nil {
		if err := json.Unmarshal(body, &record); err != nil {
			a.t.Fatal(err)
		}
	}
	return record.Resources
}

// answered tells whether the record answers all that the ledger names.
func (a *arena) answered(bucket string) bool {
	var ledger struct{ Sent map[string]any }
	if err := json.Unmarshal(a.object(bucket, ledgerKey), &ledger); err != nil {
		a.t.Fatal(err)
	}
	record := a.record(bucket)
	for id := range ledger.Sent {
		if _, ok := record[id]; !ok {
			return false
		}
	}
	return true
}

// exists are the ids of what there is in AWS, by type, as a record has them.
func (a *arena) exists() map[string][]string {
	ids := map[string][]string{}
	for _, r := range a.aws.CloudControl.Resources() {
		ids[r.TypeName] = append(ids[r.TypeName], r.Identifier)
	}
	for _, bucket := range a.aws.S3.Buckets() {
		if !slices.Contains(a.duel.buckets, bucket) {
			ids[bucketType] = append(ids[bucketType], bucket)
		}
	}
	return ids
}

// checkOneBucket judges a duel in one bucket by its ends and by what one more
// deploy makes of what it left.
func (a *arena) checkOneBucket(ends []*result.Stack) {
	bucket := a.duel.buckets[0]
	if !a.duel.takeover && !slices.ContainsFunc(ends, done) {
		a.t.Errorf("neither of the two was done")
	}
	time.Sleep(state.LockTTL + time.Minute) // the lock of one that could not give it back
	a.must(a.alone(bucket, a.duel.apps[1]))
	a.checkAccounted(bucket)
	if again := a.alone(bucket, a.duel.apps[1]); again.Outcome != result.NoChange {
		a.t.Errorf("a deploy of the same ends with %s %s", again.Outcome, again.Message)
	}
	for _, o := range a.aws.S3.Objects(bucket) {
		name, own := strings.CutPrefix(o.Key, shopKey)
		settled := o.Key == recordKey || strings.HasPrefix(name, "deployments/") || o.Key == ledgerKey && a.answered(bucket) ||
			name == "retained.json" && bytes.Contains(o.Body, []byte(`"resources": []`))
		if own && !settled {
			a.t.Errorf("%s is left:\n%s", o.Key, o.Body)
		}
	}
}

func done(s *result.Stack) bool { return s.Outcome == result.Success || s.Outcome == result.NoChange }

// checkAccounted makes sure that what there is and what the record names is the
// same, and each there once.
func (a *arena) checkAccounted(buckets ...string) {
	named := map[string][]string{}
	for _, bucket := range buckets {
		for _, r := range a.record(bucket) {
			named[r.ResourceType] = append(named[r.ResourceType], r.PhysicalID)
		}
	}
	there := a.exists()
	for _, all := range []map[string][]string{named, there} {
		for _, ids := range all {
			slices.Sort(ids)
		}
	}
	if len(buckets) > 1 { // a bucket that both looked for before either made it
		named[bucketType] = slices.Compact(named[bucketType])
	}
	if diff := cmp.Diff(named, there, cmpopts.EquateEmpty()); diff != "" {
		a.t.Errorf("recorded, and there (-recorded +there):\n%s", diff)
	}
}
