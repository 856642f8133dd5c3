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
		{`12345678901234567890`, `12345678901234567891`, false},
		{`0.1`, `0.10000000000000000001`, false},
		{`1e400`, `1e401`, false},
		{`1e400`, `10e399`, true},
		{`-0.0`, `0`, true},
		{`120`, `1.2e+2`, true},
		{`1e-999999999`, `1e999999999`, false},
		{`1e99999999999`, `1e99999999999`, true},
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

func TestInteger(t *testing.T) {
	for text, want := range map[string]int64{
		`30`: 30, `30.0`: 30, `3e1`: 30, `"3e1"`: 30, `-1.50e1`: -15, `0.0`: 0, `9223372036854775807`: 9223372036854775807,
		`9007199254740993.0`: 9007199254740993, `"007"`: 7,
	} {
		v, _ := Parse([]byte(text))
		if n, ok := Integer(v); !ok || n != want {
			t.Errorf("%s: want %d, got %d, %t", text, want, n, ok)
		}
	}
	for _, text := range []string{`1.5`, `1e400`, `1e-1`, `9223372036854775808`, `1e99999999999`, `""`, `"x"`, `"0x10"`, `"1_0"`, `true`, `null`, `[1]`} {
		v, _ := Parse([]byte(text))
		if n, ok := Integer(v); ok {
			t.Errorf("%s is no whole number, got %d", text, n)
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
