package state

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
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
	c.requests()
	if err := k.PurgeVersions(t.Context()); err != nil {
		t.Fatal(err)
	}
	deletes := 0
	for _, r := range c.requests() {
		if r == "DeleteObjects" {
			deletes++
		}
	}
	if deletes != 2+1+1 { // of the record in two parts (S-22)
		t.Errorf("%d requests to delete, want 4", deletes)
	}
	if got, err := k.EarlierVersions(t.Context(), func([]byte) bool { return true }); err != nil || got != 0 {
		t.Errorf("%d earlier versions are left (%v)", got, err)
	}
}

// What of many could not be deleted is said of each, and the rest goes (S-22).
func TestDeletesThatFail(t *testing.T) {
	c, k := shop(t)
	c.on("DeleteObjects", "", 0, 1, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Write([]byte(`<DeleteResult><Error><Key>a</Key><Code>AccessDenied</Code></Error><Error><Key>b</Key><Code>InternalError</Code></Error></DeleteResult>`))
	})
	err := k.store.removeAll(t.Context(), []string{"a", "b", "c"})
	if err == nil || !strings.Contains(err.Error(), "access to a in state bucket") || !strings.Contains(err.Error(), "delete b in state bucket") || strings.Contains(err.Error(), "c in state bucket") {
		t.Errorf("got %v", err)
	}
	if denied, ok := errors.AsType[*AccessError](err); !ok || denied.Key != "a" || denied.Permission != "s3:DeleteObject" {
		t.Errorf("got %#v, want an AccessError of a", err)
	}
}
