package cloudcontrol

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	emulator "github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

func TestUpdates(t *testing.T) {
	for _, c := range []struct {
		rule, typeName, previous, want string
		patch                          string
		partial                        bool
	}{
		{"added, changed and removed (T-1004)", workgroup, `{"Name":"w","Description":"a","State":"ENABLED"}`, `{"Name":"w","Description":"b","RecursiveDeleteOption":true}`,
			`[{"op":"replace","path":"/Description","value":"b"},{"op":"add","path":"/RecursiveDeleteOption","value":true},{"op":"remove","path":"/State"}]`, false},
		{"nothing to do: no call (T-1004)", repository, `{"RepositoryName":"w","ImageScanningConfiguration":{"ScanOnPush":"true"}}`, `{"RepositoryName":"w","ImageScanningConfiguration":{"ScanOnPush":true}}`, ``, false},
		{"what cannot be read back is added again (T-1004)", secret, `{"Name":"s","Description":"a","SecretString":"x"}`, `{"Name":"s","Description":"b","SecretString":"x"}`,
			`[{"op":"replace","path":"/Description","value":"b"},{"op":"add","path":"/SecretString","value":"x"}]`, false},
		{"what cannot be read back cannot be removed (T-1005)", secret, `{"Name":"s","SecretString":"x"}`, `{"Name":"s"}`, ``, true},
		{"create-only properties are not named (T-1005)", workgroup, `{"Name":"w","Description":"a"}`, `{"Description":"b"}`,
			`[{"op":"replace","path":"/Description","value":"b"}]`, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, 0)
				p := New(Options{})
				r := w.request(t, c.typeName, c.previous, "")
				made, err := p.Create(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				r.PhysicalID, r.Previous, r.Properties = made.PhysicalID, r.Properties, object(t, c.want)
				out, err := p.Update(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				var patch string
				if b := w.bodies("UpdateResource"); len(b) > 0 {
					patch = b[0].String("PatchDocument")
				}
				if diff := cmp.Diff(c.patch, patch); diff != "" {
					t.Errorf("patch (-want +got):\n%s", diff)
				}
				if (out.Partial != "") != c.partial {
					t.Errorf("partial: want %t, got %q", c.partial, out.Partial)
				}
			})
		})
	}
}

// What was changed behind the record's back is drift's to tell, and stays.
func TestUpdateIsFromTheRecord(t *testing.T) { // (T-1006)
	for want, patch := range map[string]string{
		`{"Name":"w","Description":"a"}`: ``,
		`{"Name":"w","Description":"b"}`: `[{"op":"replace","path":"/Description","value":"b"}]`,
	} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, 0)
			id, err := w.Put(region, workgroup, map[string]any{"Name": "w", "Description": "by hand", "State": "DISABLED"})
			if err != nil {
				t.Fatal(err)
			}
			r := w.request(t, workgroup, want, `{"Name":"w","Description":"a"}`)
			r.PhysicalID = id
			if _, err := New(Options{}).Update(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, b := range w.bodies("UpdateResource") {
				got += b.String("PatchDocument")
			}
			if got != patch {
				t.Errorf("to %s: the patch is %q, want %q", want, got, patch)
			}
		})
	}
}

func TestUpdateReadsTheLiveModelWhenItHasParted(t *testing.T) { // (T-1007)
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 0)
		id, err := w.Put(region, workgroup, map[string]any{"Name": "w", "Description": "a"})
		if err != nil {
			t.Fatal(err)
		}
		// State is recorded, but somebody took it away.
		r := w.request(t, workgroup, `{"Name":"w","Description":"b"}`, `{"Name":"w","Description":"a","State":"ENABLED"}`)
		r.PhysicalID = id
		if _, err := New(Options{}).Update(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		patches := w.bodies("UpdateResource")
		if last := patches[len(patches)-1].String("PatchDocument"); len(patches) != 2 || last != `[{"op":"replace","path":"/Description","value":"b"}]` {
			t.Errorf("want a second patch from the live model, got %d, the last %s", len(patches), last)
		}
	})
}

func TestUpdatesThatOnlyAReplacementCanMake(t *testing.T) { // (T-811, T-812, T-1012)
	for _, c := range []struct {
		rule    string
		arrange func(w *world)
		calls   int
	}{
		{"the handler refuses, twice", func(w *world) {
			w.Fail(emulator.Failure{Operation: "UPDATE", Code: "NotUpdatable", Message: "no", Times: 9})
		}, 2},
		{"the type has no update", func(w *world) { w.refuse = map[string]string{"UpdateResource": "UnsupportedActionException"} }, 1},
	} {
		t.Run(c.rule, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, 0)
				id, err := w.Put(region, workgroup, map[string]any{"Name": "w", "Description": "a"})
				if err != nil {
					t.Fatal(err)
				}
				c.arrange(w)
				r := w.request(t, workgroup, `{"Name":"w","Description":"b"}`, `{"Name":"w","Description":"a"}`)
				r.PhysicalID = id
				_, err = New(Options{}).Update(t.Context(), r)
				var refused *provider.UnsupportedUpdateError
				if !errors.As(err, &refused) {
					t.Fatalf("want an UnsupportedUpdateError, got %v", err)
				}
				if diff := cmp.Diff([]string{"Description"}, refused.Properties); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if n := len(w.times("UpdateResource")); n != c.calls {
					t.Errorf("want %d calls, got %d", c.calls, n)
				}
			})
		})
	}
}
