package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A record loses the secrets that the run knows, and nothing else (S-155, S-156,
// S-162).
func TestScrubRow(t *testing.T) {
	const one, two = "{{resolve:secretsmanager:one}}", "{{resolve:secretsmanager:two}}"
	for _, tt := range []struct {
		name, recorded string
		clear, stored  string // what the template comes to
		written        string // what it has
		want           string
		found, names   []string
	}{
		{name: "by its value", recorded: `{"P":"hunter2-one"}`, want: `{"P":"` + one + `"}`, found: []string{"resource R properties.P"}},
		{name: "inside a longer text", recorded: `{"L":["a","u:hunter2-one@h"]}`, want: `{"L":["a","u:` + one + `@h"]}`, found: []string{"resource R properties.L[1]"}},
		{
			name: "by its place, where two secrets are equal", recorded: `{"A":"same-secret","B":"same-secret","C":"same-secret"}`,
			clear: `{"A":"same-secret","B":"same-secret"}`, stored: `{"A":"` + one + `","B":"` + two + `"}`,
			want:  `{"A":"` + one + `","B":"` + two + `","C":"***"}`,
			found: []string{"resource R properties.A", "resource R properties.B", "resource R properties.C"},
		},
		{
			name: "another value in its place is left to the next deploy", recorded: `{"A":"literal"}`,
			clear: `{"A":"hunter2-one"}`, stored: `{"A":"` + one + `"}`, want: `{"A":"literal"}`,
		},
		{name: "clean", recorded: `{"A":"` + one + `","B":[1,null,true]}`, want: `{"A":"` + one + `","B":[1,null,true]}`},
		{name: "in a name", recorded: `{"hunter2-one":"x"}`, want: `{"hunter2-one":"x"}`, names: []string{"resource R properties.***"}},
		{
			name: "written out in the template", recorded: `{"A":"a hunter2-one b","L":["hunter2-one"],"hunter2-one":"x"}`,
			written: `{"A":"a hunter2-one b","L":["hunter2-one"],"hunter2-one":"x"}`, want: `{"A":"a hunter2-one b","L":["hunter2-one"],"hunter2-one":"x"}`,
		},
		{
			name: "written out as something else", recorded: `{"A":"hunter2-one","L":["hunter2-one"]}`,
			written: `{"A":{"Ref":"P"},"L":["x","hunter2-one"]}`, want: `{"A":"` + one + `","L":["` + one + `"]}`,
			found: []string{"resource R properties.A", "resource R properties.L[0]"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			secrets := &secret.Set{}
			secrets.Add("hunter2-one", one)
			secrets.Add("same-secret", one)
			secrets.Add("same-secret", two)
			parsed := func(text string) *value.Object {
				if text == "" {
					return nil
				}
				o, err := value.ParseObject([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				return o
			}
			s := &scrubbing{d: &deployment{e: &Engine{config: Config{Secrets: secrets}}}}
			s.texts = map[string]template.Resolved{"R": {Clear: parsed(tt.clear), Stored: parsed(tt.stored)}}
			s.written = map[string]*value.Object{"R": parsed(tt.written)}
			r := state.NewRecord("S", "us-east-1")
			r.Set("R", &state.Resource{Properties: parsed(tt.recorded), Observed: parsed(tt.recorded)})
			s.record(r)
			if got := value.JSON(r.Row("R").Properties); got != tt.want {
				t.Errorf("properties %s, want %s", got, tt.want)
			}
			if got := value.JSON(r.Row("R").Observed); got != tt.want {
				t.Errorf("observed %s, want %s", got, tt.want)
			}
			half := func(l []string) []string { return l[:len(l)/2] } // the other is of what was observed
			if d := cmp.Diff(append([]string{}, tt.found...), append([]string{}, half(s.Found)...)); d != "" {
				t.Errorf("found (-want +got)\n%s", d)
			}
			if d := cmp.Diff(append([]string{}, tt.names...), append([]string{}, half(s.Keys)...)); d != "" {
				t.Errorf("names (-want +got)\n%s", d)
			}
		})
	}
}

// A version of an object holds a secret where it would be taken out of it. The id
// by which a resource is found again is none, nor is what the template has written
// out (S-162).
func TestScrubbedVersions(t *testing.T) {
	secrets := &secret.Set{}
	secrets.Add("hunter2-one", "{{resolve:secretsmanager:one}}")
	secrets.AddNoEcho("name")
	written, _ := value.ParseObject([]byte(`{"TableName":"by name"}`))
	s := &scrubbing{d: &deployment{e: &Engine{config: Config{Secrets: secrets}}}, written: map[string]*value.Object{"R": written}}
	for _, tt := range []struct {
		name, body string
		want       bool
	}{
		{"a physical id", `{"version":11,"stackName":"S","region":"r","resources":{"R":{"physicalId":"the-name","resourceType":"T","properties":{}}}}`, false},
		{"written out", `{"version":11,"stackName":"S","region":"r","resources":{"R":{"physicalId":"x","resourceType":"T","properties":{"TableName":"by name"}}}}`, false},
		{"a property", `{"version":11,"stackName":"S","region":"r","resources":{"R":{"physicalId":"x","resourceType":"T","properties":{"P":"hunter2-one"}}}}`, true},
		{"an output", `{"version":11,"stackName":"S","region":"r","resources":{},"outputs":{"O":"hunter2-one"}}`, true},
		{"a journal's id", `{"journalVersion":1,"stackName":"S","region":"r","segments":[{"timestamp":1,"reason":"interrupted","initialDeploy":false,"operations":[{"logicalId":"R","resourceType":"T","changeType":"CREATE","physicalId":"the-name"}]}]}`, false},
		{"a journal's property", `{"journalVersion":1,"stackName":"S","region":"r","segments":[{"timestamp":1,"reason":"interrupted","initialDeploy":false,"operations":[{"logicalId":"R","resourceType":"T","changeType":"CREATE","properties":{"P":"hunter2-one"}}]}]}`, true},
		{"what cannot be read", `{"n":"hunter2-one"`, true},
		{"of another kind", `{"n":"hunter2-one"}`, true},
	} {
		if got := s.holds([]byte(tt.body)); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}
