package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// parse reads a value from JSON text.
func parse(t testing.TB, text string) any {
	t.Helper()
	v, err := value.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func object(t testing.TB, text string) *value.Object {
	t.Helper()
	o, ok := parse(t, text).(*value.Object)
	if !ok {
		t.Fatalf("not an object: %s", text)
	}
	return o
}

// same compares values by what they mean.
var same = cmp.Options{
	cmp.Comparer(func(a, b *value.Object) bool { return value.Equal(a, b) }),
	cmpopts.EquateEmpty(),
}

// recordOf makes a record of rows given as id, type, properties.
func recordOf(t testing.TB, rows ...string) *state.Record {
	t.Helper()
	r := state.NewRecord("S", "eu-west-1")
	for i := 0; i < len(rows); i += 3 {
		r.Set(rows[i], &state.Resource{PhysicalID: "id-" + rows[i], ResourceType: rows[i+1], Properties: object(t, rows[i+2])})
	}
	return r
}

func compute(t testing.TB, in Input) *Plan {
	t.Helper()
	if in.Stack == "" {
		in.Stack, in.Region = "S", "eu-west-1"
	}
	p, err := Compute(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// actions lists what a plan does, by logical id.
func actions(p *Plan) map[string]Action {
	m := map[string]Action{}
	for _, c := range p.Changes {
		m[c.LogicalID] = c.Action
	}
	return m
}
