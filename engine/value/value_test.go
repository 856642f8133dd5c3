package value

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoundTrip(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `""`, `[]`, `{}`, `0`, `-1.50`, `12345678901234567890`, `1e400`, `0.1`,
		`{"b":1,"a":{"z":[1,2,{"y":null}],"c":"<&>"},"":[]}`,
		`"é   😀"`,
	} {
		v, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := Marshal(v)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if string(got) != text {
			t.Errorf("members and digits are kept (S-4, S-5)\nwant %s\ngot  %s", text, got)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", ``, "line 1: the JSON text ends too early"},
		{"a truncated file", "{\n \"a\": [1,\n", "the JSON text ends too early"},
		{"two values", `{} {}`, "text after the end"},
		{"a bare word", `{"a": nope}`, "line 1: "},
		{"hostile nesting", strings.Repeat("[", 100000), "nested more than 500 levels deep"},
		{"hostile objects", strings.Repeat(`{"a":`, 100000), "nested more than 500 levels deep"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("want a SyntaxError with %q, got %v", tt.want, err)
			}
		})
	}
}

func TestEqual(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`{"a":1}`, `{"a":1,"b":null}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`1`, `1.0`, true},
		{`1`, `"1"`, false},
		{`true`, `"true"`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`null`, `null`, true},
		{`null`, `{}`, false},
		{`"a"`, `["a"]`, false},
	}
	for _, tt := range tests {
		a, _ := Parse([]byte(tt.a))
		b, _ := Parse([]byte(tt.b))
		if Equal(a, b) != tt.want || Equal(b, a) != tt.want {
			t.Errorf("Equal(%s, %s): want %t", tt.a, tt.b, tt.want)
		}
	}
}

func TestCloneIsIndependent(t *testing.T) {
	o, _ := ParseObject([]byte(`{"a":{"b":[1,{"c":2}]}}`))
	c := o.Clone()
	c.Object("a").List("b")[1].(*Object).Set("c", json.Number("3"))
	c.Set("d", true)
	if got := JSON(o); got != `{"a":{"b":[1,{"c":2}]}}` {
		t.Errorf("the original changed: %s", got)
	}
}

func TestObjectOrder(t *testing.T) {
	o := NewObject("b", "1", "a", "2")
	o.Set("b", "3")
	o.Set("c", "4")
	o.Delete("a")
	o.Delete("nothing")
	if d := cmp.Diff([]string{"b", "c"}, o.Keys()); d != "" {
		t.Error(d)
	}
	var none *Object
	if none.Len() != 0 || none.Has("a") || none.Value("a") != nil || none.Clone() != nil {
		t.Error("a nil object reads as empty")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1,"x",null,true,{"b":1e5}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Parse(b)
		if err != nil {
			return
		}
		text, err := Marshal(v)
		if err != nil {
			t.Fatalf("parsed but cannot be written: %v", err)
		}
		again, err := Parse(text)
		if err != nil || !Equal(v, again) {
			t.Fatalf("%s changed on the way: %s, %v", b, text, err)
		}
	})
}
