package main

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// The forms are held against what the cdkd command line printed of the same
// record; see testdata/cdkd.
func TestResourcesAreTheCommandLinesForm(t *testing.T) {
	body, err := os.ReadFile("../../engine/state/testdata/messaging/state.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := state.ParseRecord("state.json", body)
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, "testdata/cdkd/state-resources.json", rowsJSON(r))
}

func TestShowIsTheCommandLinesForm(t *testing.T) {
	body, err := os.ReadFile("../../engine/state/testdata/messaging/state.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := state.ParseRecord("state.json", body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := shownJSON(&engine.Shown{Record: r}, false)
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, "testdata/cdkd/state-show.json", got)
}

func wantJSON(t *testing.T, file string, got any) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := value.MarshalIndent(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(b)+"\n"); diff != "" {
		t.Errorf("not as in %s (-want +got):\n%s", file, diff)
	}
}

func TestForest(t *testing.T) {
	ref := func(name string) state.Ref { return state.Ref{Stack: name, Region: "eu-west-1"} }
	roots := forest([]state.Ref{
		ref("A"), ref("A~B"), ref("A~B~C"), ref("A~D"), ref("Gone~E"), {Stack: "A~B", Region: "us-east-1"}, {Stack: "Old"},
	})
	want := `A (eu-west-1)
├── A~B (eu-west-1)
│   └── A~B~C (eu-west-1)
└── A~D (eu-west-1)
Gone~E (eu-west-1)
A~B (us-east-1)
Old
`
	if diff := cmp.Diff(want, forestText(roots)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := forestJSON(roots[1:])
	wantFirst := `{"stackName":"Gone~E","region":"eu-west-1","parentStack":"Gone","parentLogicalId":"E","parentRegion":"eu-west-1","children":[]}`
	if diff := cmp.Diff(wantFirst, value.JSON(got[0])); diff != "" {
		t.Errorf("a stack whose parent is not recorded (-want +got):\n%s", diff)
	}
	wantLast := `{"stackName":"Old","region":null,"parentStack":null,"parentLogicalId":null,"parentRegion":null,"children":[]}`
	if diff := cmp.Diff(wantLast, value.JSON(got[2])); diff != "" {
		t.Errorf("a record that does not say its region (-want +got):\n%s", diff)
	}
}

func TestOverviewJSON(t *testing.T) { // (17.1: state info)
	for name, tt := range map[string]struct {
		o    engine.Overview
		want string
	}{
		"all is known": {
			engine.Overview{Bucket: "b", Source: state.FromDefault, Region: "eu-west-1", Version: 11, Stacks: 2,
				Assets: []state.AssetStorage{{Region: "eu-west-1", AssetBucket: "a", ContainerRepo: "r"}}},
			`{"bucket":"b","region":"eu-west-1","regionSource":"auto-detected","bucketSource":"default","schemaVersion":11,"stackCount":2,` +
				`"assetStorage":[{"region":"eu-west-1","assetBucket":"a","containerRepo":"r"}]}`,
		},
		"what is not known says so": {
			engine.Overview{Bucket: "b", Source: state.FromInput},
			`{"bucket":"b","region":null,"regionSource":"unknown","bucketSource":"cli-flag","schemaVersion":"unknown","stackCount":0,"assetStorage":[]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, value.JSON(overviewJSON(&tt.o))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSurvey(t *testing.T) { // (17.1: state list -l)
	now := time.Date(2026, 4, 29, 10, 23, 45, 0, time.UTC)
	r := state.NewRecord("A", "eu-west-1")
	r.Set("Q", &state.Resource{ResourceType: "AWS::SQS::Queue"})
	r.LastModified = now.UnixMilli()
	all := []state.Surveyed{
		{Ref: state.Ref{Stack: "A", Region: "eu-west-1"}, Record: r, Lock: &state.LockRecord{Owner: "bob", Operation: "deploy", Expires: now.Add(time.Minute)}},
		{Ref: state.Ref{Stack: "B", Region: "eu-west-1"}, Lock: &state.LockRecord{Owner: "bob", Operation: "deploy", Expires: now}},
	}
	want := `[{"stackName":"A","region":"eu-west-1","resourceCount":1,"lastModified":"2026-04-29T10:23:45.000Z","locked":true},` +
		`{"stackName":"B","region":"eu-west-1","resourceCount":0,"lastModified":null,"locked":false}]`
	if diff := cmp.Diff(want, value.JSON(surveyJSON(all, now))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantText := `A (eu-west-1)
  1 resource, saved 2026-04-29T10:23:45Z
  locked by bob (deploy), until 2026-04-29T10:24:45Z
B (eu-west-1)
  the record cannot be read
  lock of bob (deploy), expired
`
	if diff := cmp.Diff(wantText, surveyText(all, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
