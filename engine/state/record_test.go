package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/value"
)

// Every version is read, and written again as version 11 with nothing else
// changed (S-2, S-5, S-30, S-31, S-33, S-63, S-64).
func TestRecordVersions(t *testing.T) {
	for v := 1; v <= Version; v++ {
		t.Run(fmt.Sprint("version ", v), func(t *testing.T) {
			in := testdata(t, fmt.Sprintf("records/v%d.json", v))
			r, err := ParseRecord("k", in)
			if err != nil {
				t.Fatal(err)
			}
			if r.Version != v {
				t.Errorf("version %d, want %d", r.Version, v)
			}
			r.Region = "eu-west-1" // the place it is saved to says so
			out, err := r.Clone().Marshal()
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(string(in), fmt.Sprintf(`"version": %d`, v), `"version": 11`, 1)
			if v == 1 {
				want = strings.TrimSuffix(want, "\n}") + ",\n  \"version\": 11,\n  \"region\": \"eu-west-1\"\n}"
			}
			if diff := cmp.Diff(want, string(out)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordMembers(t *testing.T) { // (S-36, S-38, S-40..S-49)
	r, err := ParseRecord("k", testdata(t, "records/v11.json"))
	if err != nil {
		t.Fatal(err)
	}
	q := r.Row("Queue")
	got := []any{
		r.StackName, r.LogicalIDs(), q.ResourceType, q.DeletionPolicy, q.UpdateReplacePolicy, q.ProvisionedBy,
		q.Dependencies, value.JSON(q.Properties.Value("Big")), value.JSON(q.NoEchoLeaves), q.NoEchoAttributes,
		r.Row("Role").BaselineRefused, r.Row("Role").BaselineRefusalReason,
		r.Imports, r.OutputReads, r.Exports(), r.Orphans[0].LogicalID, r.Orphans[0].State.PhysicalID,
		r.ParentStack, r.ParentLogicalID, r.ParentRegion, r.LastModified,
	}
	want := []any{
		"Shop", []string{"Queue", "Role"}, "AWS::SQS::Queue", "Retain", "Snapshot", ByCloudControl,
		[]string{"Role"}, "12345678901234567890", `[["Nested","b",1]]`, []string{"Secret"},
		true, "incomplete-resolution",
		[]Import{{"Net", "eu-west-1", "vpc"}}, []OutputRead{{"Net", "us-east-1", "Cidr"}}, []string{"Url"}, "Old", "old",
		"Root", "Child", "eu-west-1", int64(1700000000000),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What the cdkd command line wrote is read and written again byte for byte,
// but for the version (S-4, S-5, S-350).
func TestRecordsOfTheCommandLine(t *testing.T) {
	for _, name := range []string{"messaging/state.json", "mutate-61/state.json", "nested/parent.json", "nested/child.json"} {
		t.Run(name, func(t *testing.T) {
			in := testdata(t, name)
			r, err := ParseRecord(name, in)
			if err != nil {
				t.Fatal(err)
			}
			out, err := r.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(string(in), `"version": 8`, `"version": 11`, 1)
			if diff := cmp.Diff(want, string(out)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordRefused(t *testing.T) {
	const row = `{"physicalId":"p","resourceType":"T","properties":{}}`
	for _, tt := range []struct{ name, body, problem string }{
		{"not JSON (S-56)", `{"version": 8,`, "not JSON"},
		{"not an object", `[]`, "must be an object"},
		{"no resources (S-55)", `{}`, "resources of the record is null"},
		{"resources not an object (S-55)", `{"resources":[]}`, "resources of the record is a list"},
		{"a row not an object (S-55)", `{"resources":{"A":1}}`, "resource A is a number"},
		{"a row without a type (S-55)", `{"resources":{"A":{"properties":{}}}}`, "resourceType of resource A is null"},
		{"a row without properties (S-55)", `{"resources":{"A":{"resourceType":"T"}}}`, "properties of resource A is null"},
		{"properties not an object (S-55)", `{"resources":{"A":{"resourceType":"T","properties":"secret"}}}`, "properties of resource A is a string"},
		{"a policy not a string", `{"resources":{"A":{"resourceType":"T","properties":{},"deletionPolicy":1}}}`, "deletionPolicy of resource A is a number"},
		{"outputs not an object (S-55)", `{"resources":{},"outputs":[]}`, "outputs of the record is a list"},
		{"orphans not a list (S-55)", `{"resources":{},"orphans":{}}`, "orphans of the record is an object"},
		{"an orphan without an id (S-55)", `{"resources":{},"orphans":[{"state":` + row + `}]}`, "logicalId of orphans[0] of the record"},
		{"an orphan without a physical id (S-55)", `{"resources":{},"orphans":[{"logicalId":"A","state":{"physicalId":"","resourceType":"T","properties":{}}}]}`, "orphan A has no physical id"},
		{"an orphan twice (S-55)", `{"resources":{},"orphans":[{"logicalId":"A","state":` + row + `},{"logicalId":"A","state":` + row + `}]}`, "orphan A is listed twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseRecord("cdkd/Shop/eu-west-1/state.json", []byte(tt.body))
			e := as[*MalformedError](t, err)
			if !strings.Contains(e.Error(), tt.problem) || !strings.HasPrefix(e.Error(), "cdkd/Shop/eu-west-1/state.json is malformed") {
				t.Errorf("got %q, want %q", e, tt.problem)
			}
			if strings.Contains(e.Error(), "secret") {
				t.Errorf("a value is shown: %q", e)
			}
		})
	}
}

func TestRecordRepairedForShowing(t *testing.T) { // (S-55)
	r, err := ParseRecord("k", []byte(`{"resources":{"Bad":1,"Good":{"physicalId":"p","resourceType":"T","properties":{}}}}`))
	as[*MalformedError](t, err)
	if diff := cmp.Diff([]string{"Good"}, r.LogicalIDs()); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestRecordVersionRefused(t *testing.T) { // (S-3, S-30, S-32)
	for _, found := range []string{"12", "0", "-1", "8.5", `"8"`, "null", "1e99"} {
		_, err := ParseRecord("the-key", []byte(`{"version":`+found+`,"resources":{}}`))
		e := as[*VersionError](t, err)
		if !strings.Contains(e.Error(), "the-key") || !strings.Contains(e.Error(), "1 to 11") {
			t.Errorf("version %s: got %q", found, e)
		}
	}
}

func TestExports(t *testing.T) { // (S-38)
	for _, tt := range []struct {
		name, members string
		want          []string
	}{
		{"an old record exports all outputs", ``, []string{"A", "B"}},
		{"a list says which", `,"exportNames":["B",7,"Gone"]`, []string{"B"}},
		{"an empty one says none", `,"exportNames":[]`, []string{}},
		{"what is not a list says none", `,"exportNames":{}`, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ParseRecord("k", []byte(`{"resources":{},"outputs":{"A":1,"B":2}`+tt.members+`}`))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.Exports()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRowAfterAnUpdate(t *testing.T) { // (S-47, S-64)
	r, err := ParseRecord("k", testdata(t, "records/v11.json"))
	if err != nil {
		t.Fatal(err)
	}
	before := value.JSON(r.Row("Queue").object())
	next := r.Row("Queue").Next()
	next.Properties = value.NewObject("Delay", value.Int(60))
	got := next.object()
	for name, kept := range map[string]bool{
		"futureRow": true, "deletionPolicy": true, "observedProperties": false,
		"noEchoLeaves": false, "noEchoAttributeNames": false, "noEchoExactEchoLeaves": false,
		"maskedPropertyFingerprints": false, "acceptedCreateOnlyDrops": false,
	} {
		if got.Has(name) != kept {
			t.Errorf("%s kept: %v, want %v", name, got.Has(name), kept)
		}
	}
	if !r.Row("Role").Next().BaselineRefused {
		t.Error("an update in place forgot that the baseline was refused")
	}
	if value.JSON(r.Row("Queue").object()) != before {
		t.Error("the row before was changed")
	}
}

func TestCloneIsIndependent(t *testing.T) {
	r, err := ParseRecord("k", testdata(t, "records/v11.json"))
	if err != nil {
		t.Fatal(err)
	}
	before, _ := r.Marshal()
	c := r.Clone()
	c.Row("Queue").PhysicalID = "changed"
	c.Row("Queue").Dependencies[0] = "changed"
	c.Orphans[0].State.PhysicalID = "changed"
	c.Imports[0].ExportName = "changed"
	c.Drop("skippedOutputs")
	c.Set("New", &Resource{})
	c.Remove("Role")
	if after, _ := r.Marshal(); !bytes.Equal(before, after) {
		t.Errorf("the original changed:\n%s", cmp.Diff(string(before), string(after)))
	}
	if b, _ := c.Marshal(); bytes.Contains(b, []byte("skippedOutputs")) {
		t.Error("a dropped member is written")
	}
}

func TestNewRecordWritten(t *testing.T) { // (S-4, S-31, S-40..S-47)
	r := NewRecord("Shop", "eu-west-1")
	r.Set("B", &Resource{
		PhysicalID: "b", ResourceType: "T::B::B", ProvisionedBy: BySDK, Properties: value.NewObject("Html", "<&>"),
		Attributes: value.NewObject("Arn", "a"), Dependencies: []string{"A"}, DeletionPolicy: "Retain",
		Observed: value.NewObject("Html", "<&>"),
	})
	r.Set("A", &Resource{PhysicalID: "a", ResourceType: "T::A::A", ProvisionedBy: ByCloudControl})
	r.Outputs = value.NewObject("Url", "u")
	r.ExportNames = []string{}
	r.LastModified = 1700000000000
	b, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "records/new.json", b)
}

func FuzzRecord(f *testing.F) {
	seeds, _ := filepath.Glob("testdata/*/*.json")
	for _, name := range seeds {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		const key = "cdkd/Shop/eu-west-1/state.json"
		r, err := ParseRecord(key, b)
		if err != nil {
			_, malformed := errors.AsType[*MalformedError](err)
			_, version := errors.AsType[*VersionError](err)
			if !malformed && !version || !strings.Contains(err.Error(), key) {
				t.Fatalf("got %v (%T)", err, err)
			}
			return
		}
		out, err := r.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseRecord(key, out)
		if err != nil {
			t.Fatalf("%v, after\n%s", err, out)
		}
		twice, err := again.Marshal()
		if err != nil || !bytes.Equal(out, twice) {
			t.Errorf("written twice (%v):\n%s", err, cmp.Diff(string(out), string(twice)))
		}
	})
}

// What a save of a large stack costs the one who asks for it (Clone), and what
// it costs to write (Marshal).
func BenchmarkRecord(b *testing.B) {
	small, err := ParseRecord("k", testdata(b, "messaging/state.json"))
	if err != nil {
		b.Fatal(err)
	}
	r := NewRecord("Large", "eu-west-1")
	for i := range 500 {
		ids := small.LogicalIDs()
		r.Set(fmt.Sprint("R", i), small.Row(ids[i%len(ids)]))
	}
	b.Run("Clone", func(b *testing.B) {
		for b.Loop() {
			r.Clone()
		}
	})
	b.Run("Marshal", func(b *testing.B) {
		for b.Loop() {
			if _, err := r.Marshal(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestReferencesThatChanged(t *testing.T) { // (S-2, S-76)
	r, err := ParseRecord("k", testdata(t, "records/v11.json"))
	if err != nil {
		t.Fatal(err)
	}
	r.Imports = append(r.Imports, Import{"Net", "eu-west-1", "subnet"})
	r.OutputReads = nil
	b, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseRecord("k", b)
	if err != nil {
		t.Fatal(err)
	}
	want := []Import{{"Net", "eu-west-1", "vpc"}, {"Net", "eu-west-1", "subnet"}}
	if diff := cmp.Diff(want, again.Imports); diff != "" || again.OutputReads != nil {
		t.Errorf("reads %v, imports (-want +got):\n%s", again.OutputReads, diff)
	}
	if bytes.Contains(b, []byte("outputReads")) {
		t.Error("an empty list is written")
	}
}

func TestRowsInOrder(t *testing.T) {
	r := NewRecord("Shop", "eu-west-1")
	for _, id := range []string{"C", "A", "B"} {
		r.Set(id, &Resource{ResourceType: id})
	}
	r.Set("A", &Resource{ResourceType: "changed"})
	r.Remove("C")
	r.Remove("never there")
	if diff := cmp.Diff([]string{"A", "B"}, r.LogicalIDs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A row put into the map past Set is written all the same.
	r.Resources["Z"] = &Resource{ResourceType: "direct"}
	b, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseRecord("k", b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A", "B", "Z"}, again.LogicalIDs()); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	var none *Record
	if none.LogicalIDs() != nil || none.Row("A") != nil || none.Exports() != nil || none.Clone() != nil {
		t.Error("no record is not an empty one")
	}
}

func TestMembersReadAsFalseStay(t *testing.T) { // (S-2)
	const row = `{"physicalId":"p","resourceType":"T","properties":{},"observedBaselineRefused":false}`
	r, err := ParseRecord("k", []byte(`{"resources":{"A":`+row+`}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := value.JSON(r.Row("A").object()); got != row {
		t.Errorf("got %s, want %s", got, row)
	}
	r.Row("A").BaselineRefused = true
	if got := r.Row("A").object().Value("observedBaselineRefused"); got != true {
		t.Errorf("got %v", got)
	}
}
