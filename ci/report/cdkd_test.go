package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// The plan agrees with cdkd's diff on records that cdkd wrote.
func TestAgreesWithCdkd(t *testing.T) {
	for _, name := range []string{"replace", "policy", "nochange"} {
		t.Run(name, func(t *testing.T) {
			read := func(file string) []byte {
				b, err := os.ReadFile(filepath.Join("testdata", "cdkd", name, file))
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			current, err := state.ParseRecord("state.json", read("state.json"))
			if err != nil {
				t.Fatal(err)
			}
			in := fromTemplate(object(string(read("template.json"))), current)
			in.Stack, in.Region, in.Current = current.StackName, current.Region, current
			b := diffJSON(t, compute(t, in))
			got := parse(b).([]any)[0].(*value.Object)
			dropAdditions(got)
			want := parse(string(read("diff.json"))).([]any)[0].(*value.Object)
			if d := cmp.Diff(want, got, same); d != "" {
				t.Errorf("(-want +got)\n%s\nin full:\n%s", d, b)
			}
		})
	}
}

// dropAdditions takes out what cdkd's diff does not say: that a value is not
// known yet, and that outputs of a replaced resource will change.
func dropAdditions(node *value.Object) {
	for _, c := range node.List("changes") {
		for _, p := range c.(*value.Object).List("propertyChanges") {
			p.(*value.Object).Delete("unresolved")
		}
	}
	outputs := []any{}
	for _, o := range node.List("outputChanges") {
		if !o.(*value.Object).Has("unresolved") {
			outputs = append(outputs, o)
		}
	}
	node.Set("outputChanges", outputs)
}

// fromTemplate resolves Ref and Fn::GetAtt of a template against a record,
// which is all that these templates need.
func fromTemplate(template *value.Object, current *state.Record) plan.Input {
	var in plan.Input
	for id, v := range template.Object("Resources").All() {
		r := v.(*value.Object)
		want := plan.Resource{
			LogicalID: id, Type: r.String("Type"), Written: r.Object("Properties"),
			Properties: &value.Object{}, References: map[string][]plan.Reference{},
			DeletionPolicy: r.String("DeletionPolicy"), UpdateReplacePolicy: r.String("UpdateReplacePolicy"),
		}
		for name, v := range want.Written.All() {
			var refs []plan.Reference
			want.Properties.Set(name, resolve(v, current, &refs))
			want.References[name] = refs
		}
		in.Desired = append(in.Desired, want)
	}
	for name, v := range template.Object("Outputs").All() {
		o := v.(*value.Object)
		out := plan.Output{Name: name}
		out.Value = resolve(o.Value("Value"), current, &out.References)
		if export := o.Object("Export"); export != nil {
			out.Exported, out.ExportName = true, export.String("Name")
		}
		in.Outputs = append(in.Outputs, out)
	}
	return in
}

func resolve(v any, current *state.Record, refs *[]plan.Reference) any {
	switch v := v.(type) {
	case []any:
		l := make([]any, len(v))
		for i := range v {
			l[i] = resolve(v[i], current, refs)
		}
		return l
	case *value.Object:
		if name, arg, ok := v.Sole(); ok && name == "Ref" && current.Row(arg.(string)) != nil {
			*refs = append(*refs, plan.Reference{LogicalID: arg.(string)})
			return current.Row(arg.(string)).PhysicalID
		} else if ok && name == "Fn::GetAtt" {
			id, attribute := arg.([]any)[0].(string), arg.([]any)[1].(string)
			*refs = append(*refs, plan.Reference{LogicalID: id, Attribute: attribute})
			return current.Row(id).Attributes.Value(attribute)
		}
		o := &value.Object{}
		for k, m := range v.All() {
			o.Set(k, resolve(m, current, refs))
		}
		return o
	}
	return v
}
