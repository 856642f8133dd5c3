package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Without a region a stack is unlocked where it is recorded, and where it has a lock
// though nothing is recorded: a first deploy that was killed leaves that (S-434).
func TestForceUnlockFindsTheRegion(t *testing.T) {
	e, cloud := newEngine(t)
	lock := fmt.Appendf(nil, `{"owner": "me@gone", "operation": "deploy", "timestamp": %d, "expiresAt": %d}`,
		time.Now().UnixMilli(), time.Now().Add(time.Hour).UnixMilli())
	cloud.S3.PutObject(bucket, shopKey+"state.json", shop("P"))
	for _, key := range []string{"Shop/eu-west-1/lock.json", "Other/eu-west-1/lock.json", "Other/eu-north-1/lock.json"} {
		cloud.S3.PutObject(bucket, "cdkd/"+key, lock)
	}
	cloud.S3.PutObject(bucket, "cdkd/Other/us-west-2/deployments/index.json", []byte(`{}`))
	done, err := e.ForceUnlock(t.Context(), []string{"Shop", "Other", "Nothing"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range done {
		got = append(got, fmt.Sprint(u.Stack, " ", u.Region, " ", u.There, " ", u.Unknown, " ", u.Err))
	}
	want := []string{
		"Shop us-east-1 false false <nil>", "Shop eu-west-1 true false <nil>",
		"Other eu-north-1 true false <nil>", "Other eu-west-1 true false <nil>", "Nothing us-east-1 false true <nil>",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
