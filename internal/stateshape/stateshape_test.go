package stateshape

import (
	"net/http"
	"strings"
	"testing"

	"github.com/org/cdkd-action/internal/sandbox/s3"
)

const (
	recordName = "cdkd/Shop/eu-west-1/state.json"
	good       = `{
  "version": 11,
  "stackName": "Shop",
  "region": "eu-west-1",
  "resources": {
    "Queue": {
      "physicalId": "q",
      "resourceType": "AWS::SQS::Queue",
      "properties": {}
    }
  },
  "lastModified": 1700000000000
}`
)

// put is a request that stores an object over others.
func put(key, body, match string, before map[string]string) s3.Put {
	h := http.Header{"Content-Type": {"application/json"}}
	if match != "" {
		h.Set("If-Match", match)
	}
	return s3.Put{Key: key, Body: []byte(body), Header: h, Before: func(key string) []byte {
		if b, ok := before[key]; ok {
			return []byte(b)
		}
		return nil
	}}
}

func TestWritten(t *testing.T) {
	edit := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	future := edit(`"properties": {}`, `"properties": {},
      "future": 1`)
	for _, tt := range []struct {
		name string
		put  s3.Put
		want string // of the error; "": none
	}{
		{"as it should be", put(recordName, good, "", nil), ""},
		{"an unknown member (S-2)", put(recordName, future, "", nil), "resources.Queue has a member future"},
		{"an unknown member that was there (S-2)", put(recordName, future, `"1"`, map[string]string{recordName: future}), ""},
		{"one of a record of the oldest form (S-73)", put(recordName, future, "", map[string]string{"cdkd/Shop/state.json": future}), ""},
		{"without what has to be there", put(recordName, edit(`"resourceType": "AWS::SQS::Queue",`, ""), "", nil), "resources.Queue lacks resourceType"},
		{"another version (S-31)", put(recordName, edit(`11`, `8`), "", nil), "written in version 8, want 11"},
		{"of another stack (S-31)", put(recordName, edit(`Shop`, `Other`), "", nil), `stackName is "Other"`},
		{"a time in seconds (S-4)", put(recordName, edit(`1700000000000`, `1700000000`), "", nil), "lastModified"},
		{"a time with an exponent (S-5)", put(recordName, edit(`1700000000000`, `1.7e12`), "", nil), "lastModified"},
		{"one space (S-4)", put(recordName, edit(`  "version"`, ` "version"`), "", nil), "indented"},
		{"a newline at the end (S-4)", put(recordName, good+"\n", "", nil), "indented"},
		{"an empty list that is left out", put(recordName, edit(`"lastModified"`, `"orphans": [],
  "lastModified"`), "", nil), "orphans is empty"},
		{"over another version unseen (S-71)", put(recordName, good, "", map[string]string{recordName: good}), "without If-Match"},
		{"under a key that nobody knows", put("cdkd/Shop/eu-west-1/other.json", good, "", nil), "no such key"},
		{"what a handler answers is its own", put("custom-resource-responses/1.json", "not JSON", "", nil), ""},
		{"half of the link to a parent", put(recordName, edit(`"lastModified"`, `"parentStack": "Root",
  "lastModified"`), "", nil), "only some of"},
		{"a lock of nobody", put("cdkd/Shop/eu-west-1/lock.json", `{
  "owner": "",
  "timestamp": 1700000000000,
  "expiresAt": 1700000000000
}`, "", nil), "owner must be a string that is not empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Written(tt.put)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
