package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/schema"
)

func TestEqual(t *testing.T) {
	text := &schema.Property{Type: "string"}
	count := &schema.Property{Type: "integer"}
	flag := &schema.Property{Type: "boolean"}
	set := &schema.Property{Type: "array", Unordered: true, Items: text}
	list := &schema.Property{Type: "array", Items: text}
	policy := &schema.Property{JSON: true}
	nested := &schema.Property{Type: "object", Properties: map[string]*schema.Property{"N": count, "S": set}}
	for _, c := range []struct {
		rule  string
		shape *schema.Property
		a, b  string
		want  bool
	}{
		{"same text (T-405)", text, `"a"`, `"a"`, true},
		{"null is not absent in a list (T-405)", nil, `null`, `""`, false},
		{"objects by members (T-405)", nil, `{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{"another member (T-405)", nil, `{"a":1}`, `{"b":1}`, false},
		{"one more member (T-405)", nil, `{"a":1}`, `{"a":1,"b":1}`, false},
		{"lists by position (T-405)", list, `["a","b"]`, `["b","a"]`, false},
		{"a function call is not a value (T-405)", nil, `{"Ref":"A"}`, `"A"`, false},
		{"nor an object with the same member (T-405)", nil, `{"Ref":"A"}`, `{"Ref":"A","X":1}`, false},
		{"the same function call (T-405)", nil, `{"Ref":"A"}`, `{"Ref":"A"}`, true},
		{"no coercion without a schema (T-405)", nil, `1`, `"1"`, false},
		{"nor of a boolean (T-405)", nil, `true`, `"true"`, false},
		{"a number as text, wanted a string (T-406)", text, `1`, `"1"`, true},
		{"a number as text, wanted a number (T-406)", count, `"30"`, `30`, true},
		{"only in its exact form (T-406)", count, `"30.0"`, `30`, false},
		{"a boolean as text (T-406)", flag, `"true"`, `true`, true},
		{"a boolean as text, wanted a string (T-406)", text, `false`, `"false"`, true},
		{"a boolean is no number (T-406)", count, `"true"`, `true`, false},
		{"a set in another order (T-406)", set, `["a","b","a"]`, `["a","a","b"]`, true},
		{"a set with other multiplicities (T-406)", set, `["a","b","b"]`, `["a","a","b"]`, false},
		{"tags in another order (T-406)", nil, `[{"Key":"a","Value":"1"},{"Key":"b","Value":"2"}]`, `[{"Key":"b","Value":"2"},{"Key":"a","Value":"1"}]`, true},
		{"another tag (T-406)", nil, `[{"Key":"a","Value":"1"}]`, `[{"Key":"a","Value":"2"}]`, false},
		{"pairs with one key twice are no tags (T-406)", nil, `[{"Key":"a","Value":"1"},{"Key":"a","Value":"2"}]`, `[{"Key":"a","Value":"2"},{"Key":"a","Value":"1"}]`, false},
		{"a document as text (T-406)", policy, `"{\"A\": [1, 2]}"`, `{"A":[1,2]}`, true},
		{"two texts of a document (T-406)", policy, `"{\"A\":1,\"B\":2}"`, `"{ \"B\": 2, \"A\": 1 }"`, true},
		{"another document (T-406)", policy, `"{\"A\":1}"`, `{"A":2}`, false},
		{"text that is no document (T-406)", policy, `"{not"`, `"{not"`, true},
		{"text is not parsed elsewhere (T-406)", text, `"{\"A\":1}"`, `{"A":1}`, false},
		{"NoValue is absent (T-406)", nil, `{"a":1,"b":{"Ref":"AWS::NoValue"}}`, `{"a":1}`, true},
		{"NoValue is absent on the other side (T-406)", nil, `{"a":1}`, `{"a":1,"b":{"Ref":"AWS::NoValue"}}`, true},
		{"NoValue is not null (T-406)", nil, `{"a":null}`, `{"a":{"Ref":"AWS::NoValue"}}`, false},
		{"NoValue in a list (T-406)", list, `["a",{"Ref":"AWS::NoValue"}]`, `["a"]`, true},
		{"shapes reach nested values (T-406)", nested, `{"N":"1","S":["a","b"]}`, `{"N":1,"S":["b","a"]}`, true},
		{"IPv6 prefixes by value (T-276)", text, `"2001:db8:0:0:0:0:0:0/32"`, `"2001:db8::/32"`, true},
		{"another IPv6 prefix (T-276)", text, `"2001:db8::/32"`, `"2001:db8::/33"`, false},
	} {
		t.Run(c.rule, func(t *testing.T) {
			a, b := parse(t, c.a), parse(t, c.b)
			if got := Equal(c.shape, a, b); got != c.want {
				t.Errorf("%s and %s: got %v", c.a, c.b, got)
			}
			if got := Equal(c.shape, b, a); got != c.want {
				t.Errorf("%s and %s: got %v, the other way round", c.b, c.a, got)
			}
		})
	}
}

func TestReduce(t *testing.T) {
	for _, c := range []struct{ rule, old, new, wantOld, wantNew string }{
		{"equal members go (T-433)", `{"V":{"A":"1","B":"2"}}`, `{"V":{"A":"1","B":"3"}}`, `{"V":{"B":"2"}}`, `{"V":{"B":"3"}}`},
		{"function calls go (T-433)", `{"A":"x","B":"1"}`, `{"A":{"Ref":"Q"},"B":"2"}`, `{"B":"1"}`, `{"B":"2"}`},
		{"one-sided members stay (T-433)", `{"A":1}`, `{"B":2}`, `{"A":1}`, `{"B":2}`},
		{"lists are whole (T-433)", `{"L":[1,2]}`, `{"L":[1,3]}`, `{"L":[1,2]}`, `{"L":[1,3]}`},
		{"all of it when nothing remains (T-433)", `{"A":"x"}`, `{"A":{"Ref":"Q"}}`, `{"A":"x"}`, `{"A":{"Ref":"Q"}}`},
		{"not across kinds (T-433)", `{"A":1}`, `"x"`, `{"A":1}`, `"x"`},
		{"an emptied object goes (T-433)", `{"A":{"B":"x"},"C":1}`, `{"A":{"B":{"Ref":"Q"}},"C":2}`, `{"C":1}`, `{"C":2}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			old, new := Reduce(nil, parse(t, c.old), parse(t, c.new))
			if d := cmp.Diff([]any{parse(t, c.wantOld), parse(t, c.wantNew)}, []any{old, new}, same); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestBucketForm(t *testing.T) {
	for _, c := range []struct {
		rule, old, new string
		want           Action
	}{
		{"a rule for all objects, with and without a filter (T-403)", `{"Rules":[{"Status":"Enabled","Filter":{"Prefix":""}}]}`, `{"Rules":[{"Status":"Enabled"}]}`, NoChange},
		{"a rule for some objects (T-403)", `{"Rules":[{"Status":"Enabled","Filter":{"Prefix":"a"}}]}`, `{"Rules":[{"Status":"Enabled"}]}`, Update},
		{"a rule with tags (T-403)", `{"Rules":[{"Status":"Enabled","TagFilters":[]}]}`, `{"Rules":[{"Status":"Enabled"}]}`, Update},
		{"rules that cannot be told (T-403)", `{"Rules":[{"Status":"Enabled"}]}`, `{"Rules":{"Ref":"P"}}`, Update},
	} {
		t.Run(c.rule, func(t *testing.T) {
			p := compute(t, Input{
				Current: recordOf(t, "B", "AWS::S3::Bucket", `{"LifecycleConfiguration":`+c.old+`}`),
				Desired: []Resource{{LogicalID: "B", Type: "AWS::S3::Bucket", Properties: object(t, `{"LifecycleConfiguration":`+c.new+`}`)}},
			})
			if got := p.Changes[0].Action; got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}
