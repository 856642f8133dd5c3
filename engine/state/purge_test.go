package state

import (
	"bytes"
	"fmt"
	"testing"
)

// All versions of the record are looked at, however many there are, and so are
// those of the journal and of what is open (S-162).
func TestEarlierVersions(t *testing.T) {
	c, k := shop(t)
	versioned(t, k.store)
	const versions = 1203 // more than a page of a listing
	for i := range versions {
		c.PutObject(bucket, shopKey+recordName, fmt.Appendf(nil, `{"n": "<%d>"}`, i))
	}
	for _, key := range []string{journalKey, shopKey + pendingName} {
		c.PutObject(bucket, key, []byte(`{"was": "beside"}`))
		c.PutObject(bucket, key, []byte(`{}`))
	}
	for _, tt := range []struct {
		holds string
		want  int
	}{{"<0>", 1}, {`"n"`, versions - 1}, {"beside", 2}, {fmt.Sprintf("<%d>", versions-1), 0}} { // the last is the current one
		got, err := k.EarlierVersions(t.Context(), func(body []byte) bool { return bytes.Contains(body, []byte(tt.holds)) })
		if err != nil || got != tt.want {
			t.Errorf("%s is in %d earlier versions, want %d (%v)", tt.holds, got, tt.want, err)
		}
	}
	if err := k.PurgeVersions(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := k.EarlierVersions(t.Context(), func([]byte) bool { return true }); err != nil || got != 0 {
		t.Errorf("%d earlier versions are left (%v)", got, err)
	}
}
