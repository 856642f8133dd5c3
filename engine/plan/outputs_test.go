package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/value"
)

func TestOutputs(t *testing.T) {
	const unresolvedValue = `{"Fn::GetAtt":["R","Arn"]}`
	for _, c := range []struct {
		rule     string
		recorded string // the record's outputs
		exports  []string
		replaced bool // R is; otherwise it does not change
		secrets  bool
		outputs  []Output
		want     []OutputChange
	}{
		{"added, changed, removed, the same (T-440)", `{"Same":1,"Other":"a","Gone":"g"}`, nil, false, false,
			[]Output{{Name: "Same", Value: value.Int(1)}, {Name: "Other", Value: "b"}, {Name: "New", Value: "n"}},
			[]OutputChange{
				{Name: "Other", Action: Update, Old: "a", New: "b", HasOld: true, HasNew: true},
				{Name: "New", Action: Create, New: "n", HasNew: true},
				{Name: "Gone", Action: Delete, Old: "g", HasOld: true},
			}},
		{"exports are rows of their own, after the outputs (T-440)", `{"Old":"e"}`, []string{"Old"}, false, false,
			[]Output{{Name: "A", Value: "a", Exported: true, ExportName: "E"}, {Name: "B", Value: "b"}},
			[]OutputChange{
				{Name: "A", Action: Create, New: "a", HasNew: true},
				{Name: "B", Action: Create, New: "b", HasNew: true},
				{Name: "E", Action: Create, New: "a", HasNew: true, Export: true},
				{Name: "Old", Action: Delete, Old: "e", HasOld: true, Export: true},
			}},
		{"an export never takes an output's place (T-302)", `{}`, nil, false, false,
			[]Output{{Name: "A", Value: "a", Exported: true, ExportName: "B"}, {Name: "B", Value: "b", Exported: true, ExportName: "B"}},
			[]OutputChange{
				{Name: "A", Action: Create, New: "a", HasNew: true},
				{Name: "B", Action: Create, New: "b", HasNew: true},
			}},
		{"what cannot be told of a resource that stays is no change (T-442)", `{}`, nil, false, false,
			[]Output{{Name: "A", Value: parse(t, unresolvedValue), Unresolved: true, References: []Reference{{"R", "Arn"}}}},
			nil},
		{"what cannot be told of one that changes is (T-442)", `{}`, nil, true, false,
			[]Output{{Name: "A", Value: parse(t, unresolvedValue), References: []Reference{{"R", "Arn"}}}, {Name: "B", Value: "b"}},
			[]OutputChange{
				{Name: "A", Action: Create, New: parse(t, unresolvedValue), HasNew: true, Unresolved: true},
				{Name: "B", Action: Create, New: "b", HasNew: true},
			}},
		{"an equal value that a replacement will change", `{"A":"arn"}`, nil, true, false,
			[]Output{{Name: "A", Value: "arn", References: []Reference{{"R", "Arn"}}}},
			[]OutputChange{{Name: "A", Action: Update, Old: "arn", New: "arn", HasOld: true, HasNew: true, Unresolved: true}}},
		{"another value, and a new output, of what a replacement will change", `{"A":"arn"}`, nil, true, false,
			[]Output{{Name: "A", Value: "x-arn", References: []Reference{{"R", "Arn"}}}, {Name: "B", Value: "arn", References: []Reference{{"R", "Arn"}}}},
			[]OutputChange{
				{Name: "A", Action: Update, Old: "arn", New: "x-arn", HasOld: true, HasNew: true, Unresolved: true},
				{Name: "B", Action: Create, New: "arn", HasNew: true, Unresolved: true},
			}},
		{"an output that cannot be told is not removed", `{"A":"arn"}`, nil, false, false,
			[]Output{{Name: "A", Value: parse(t, unresolvedValue), Unresolved: true}},
			nil},
		{"nor an export whose name cannot be", `{"A":"a","E":"a","Gone":"g"}`, []string{"E"}, false, false,
			[]Output{{Name: "A", Value: "a", Exported: true, ExportUnresolved: true}},
			[]OutputChange{{Name: "Gone", Action: Delete, Old: "g", HasOld: true}}},
		{"an export name with a secret is not published (T-303)", `{"A":"a"}`, nil, false, true,
			[]Output{{Name: "A", Value: "a", Exported: true, ExportName: "s3cret", ExportSecret: true}},
			nil},
		{"a new export name in a template with secrets is not shown (T-443)", `{"A":"a"}`, nil, false, true,
			[]Output{{Name: "A", Value: "a", Exported: true, ExportName: "E"}},
			nil},
		{"one that is recorded is (T-443)", `{"A":"a","E":"b"}`, []string{"E"}, false, true,
			[]Output{{Name: "A", Value: "a", Exported: true, ExportName: "E"}},
			[]OutputChange{{Name: "E", Action: Update, Old: "b", New: "a", HasOld: true, HasNew: true, Export: true}}},
		{"an old record may hold what is a secret now (T-444)", `{"P":"hunter2","Url":"old"}`, nil, false, true,
			[]Output{{Name: "P", Value: "{{resolve:secretsmanager:s}}", Secret: true}, {Name: "Url", Value: "new"}},
			[]OutputChange{
				{Name: "P", Action: Update, New: "{{resolve:secretsmanager:s}}", HasOld: true, HasNew: true, Secret: true, OldRedacted: true},
				{Name: "Url", Action: Update, New: "new", HasOld: true, HasNew: true, OldRedacted: true},
			}},
		{"and what is no longer declared (T-444)", `{"P":"hunter2"}`, nil, false, true, nil,
			[]OutputChange{{Name: "P", Action: Delete, HasOld: true, OldRedacted: true}}},
		{"not when the record keeps expressions (T-444)", `{"P":"p","Q":"{{resolve:secretsmanager:s}}"}`, nil, false, true,
			[]Output{{Name: "Q", Value: "{{resolve:secretsmanager:s}}", Secret: true}},
			[]OutputChange{{Name: "P", Action: Delete, Old: "p", HasOld: true}}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			current := recordOf(t, "R", "AWS::SQS::Queue", `{"QueueName":"a"}`)
			current.Outputs, current.ExportNames = object(t, c.recorded), c.exports
			name := "a"
			if c.replaced {
				name = "b"
			}
			p := compute(t, Input{
				Current: current, Outputs: c.outputs, SecretBearing: c.secrets,
				Desired: []Resource{{LogicalID: "R", Type: "AWS::SQS::Queue", Properties: value.NewObject("QueueName", name)}},
			})
			if d := cmp.Diff(c.want, p.Outputs, same); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}
