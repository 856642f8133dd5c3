package secret_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/value"
)

const expression = "{{resolve:secretsmanager:db:SecretString:password::}}"

func json(t *testing.T, text string) any {
	t.Helper()
	v, err := value.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func known() *secret.Set {
	s := &secret.Set{}
	s.Add("s3cr3t", expression)
	s.Add("abc", "{{resolve:ssm-secure:/short}}")
	s.Add("same-twice", "{{resolve:ssm-secure:/one}}")
	s.Add("same-twice", "{{resolve:ssm-secure:/two}}")
	s.Add(`quo"te`, "{{resolve:ssm-secure:/quote}}")
	s.Add("54321", "{{resolve:ssm-secure:/port}}")
	s.AddNoEcho("hunter2")
	s.AddNoEcho("on")
	s.AddDerived("czNjcjN0")
	s.Add("", "{{resolve:ssm-secure:/empty}}")
	s.Add("plaintext-bytes", "{{resolve:ssm-secure:/bytes}}")
	return s
}

func TestRedact(t *testing.T) {
	for _, c := range []struct{ name, v, source, want, masked string }{
		{"by position: the value of today is not that of the expression (S-156)", `{"a":"rotated"}`, `{"a":"` + expression + `"}`, `{"a":"` + expression + `"}`, ""},
		{"by position: inside a longer text (S-156)", `{"a":"x-rotated"}`, `{"a":"x-` + expression + `"}`, `{"a":"x-` + expression + `"}`, ""},
		{"by position: masked (S-160)", `{"a":["x","new"]}`, `{"a":["x","***"]}`, `{"a":["x","***"]}`, "[[a 1]]"},
		{"by position: what a provider made a number", `{"a":1234}`, `{"a":"{{resolve:ssm-secure:/port}}"}`, `{"a":"{{resolve:ssm-secure:/port}}"}`, ""},
		{"by position: an ssm reference that is a known secret", `{"a":"y"}`, `{"a":"{{resolve:ssm:/plain}}"}`, `{"a":"y"}`, ""},
		{"by value: whole (S-156)", `{"a":"s3cr3t"}`, `null`, `{"a":"` + expression + `"}`, ""},
		{"by value: whole, however short (S-156)", `["abc","abcd"]`, `null`, `["{{resolve:ssm-secure:/short}}","abcd"]`, ""},
		{"by value: inside a longer text (S-156)", `["<s3cr3t>"]`, `null`, `["<` + expression + `>"]`, ""},
		{"by value: inside text that is JSON", `["{\"a\":\"quo\\\"te\"}"]`, `null`, `["{\"a\":\"{{resolve:ssm-secure:/quote}}\"}"]`, ""},
		{"by value: a number", `[54321,7]`, `null`, `["{{resolve:ssm-secure:/port}}",7]`, ""},
		{"no single expression (S-156)", `["same-twice"]`, `null`, `["***"]`, "[[0]]"},
		{"derived", `["czNjcjN0"]`, `null`, `["***"]`, "[[0]]"},
		{"NoEcho: the whole leaf, with its path (S-160)", `{"a":[{"b":"user:hunter2"}],"c":"hunter2"}`, `null`, `{"a":[{"b":"***"}],"c":"***"}`, "[[a 0 b] [c]]"},
		{"NoEcho: too short to be looked for", `{"a":"on"}`, `null`, `{"a":"on"}`, ""},
		{"expressions stay", `["` + expression + `"]`, `null`, `["` + expression + `"]`, ""},
		{"lists of other lengths are judged by value", `["s3cr3t","x"]`, `["***"]`, `["` + expression + `","x"]`, ""},
		{"tags by their keys, in whatever order AWS lists them", `[{"Key":"b","Value":"x"},{"Key":"new","Value":"y"},{"Key":"a","Value":"z"}]`,
			`[{"Key":"a","Value":"***"},{"Key":"b","Value":"x"}]`, `[{"Key":"b","Value":"x"},{"Key":"new","Value":"y"},{"Key":"a","Value":"***"}]`, "[[2 Value]]"},
		{"by value: in the base64 of a longer text", `["PHBsYWludGV4dC1ieXRlcz4="]`, `null`, `["***"]`, "[[0]]"},
		{"names of members stay", `{"s3cr3t":"x"}`, `null`, `{"s3cr3t":"x"}`, ""},
		{"other kinds", `[null,true,1.50,{}]`, `[1,"x",[],null]`, `[null,true,1.50,{}]`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := json(t, c.v)
			got, masked := known().Redact(v, json(t, c.source))
			if value.JSON(got) != c.want {
				t.Errorf("want %s, got %s", c.want, value.JSON(got))
			}
			var paths string
			if masked != nil {
				paths = strings.ReplaceAll(strings.ReplaceAll(sprint(masked), "secret.Path", ""), "  ", " ")
			}
			if paths != c.masked {
				t.Errorf("masked: want %q, got %q", c.masked, paths)
			}
			if value.JSON(v) != c.v {
				t.Errorf("the input was changed to %s", value.JSON(v))
			}
			again, maskedAgain := known().Redact(got, json(t, c.source))
			if !value.Equal(got, again) || len(maskedAgain) != len(masked) {
				t.Errorf("redacting again gives %s, %v", value.JSON(again), maskedAgain)
			}
		})
	}
}

func sprint(paths []secret.Path) string {
	var out []string
	for _, p := range paths {
		var parts []string
		for _, part := range p {
			parts = append(parts, strings.Trim(value.JSON(part), `"`))
		}
		out = append(out, "["+strings.Join(parts, " ")+"]")
	}
	return "[" + strings.Join(out, " ") + "]"
}

func TestMask(t *testing.T) { // S-155, S-163
	s := known()
	for text, want := range map[string]string{
		"user:s3cr3t@host":      "user:***@host",
		"abc":                   "***",
		"abcd":                  "abcd",
		"hunter2hunter2":        "******",
		`{"a":"quo\"te"}`:       `{"a":"***"}`,
		"https://h/?p=quo%22te": "https://h/?p=***",
		"on and off":            "on and off",
		// base64 of <plaintext-bytes>, and of it with one and two bytes before.
		"PHBsYWludGV4dC1ieXRlcz4=":   "PH***z4=",
		"PDxwbGFpbnRleHQtYnl0ZXM+":   "PDx***M+",
		"PDw8cGxhaW50ZXh0LWJ5dGVzPg": "PDw8***Pg",
		"":                           "",
	} {
		if got := s.Mask(text); got != want {
			t.Errorf("%q: want %q, got %q", text, want, got)
		}
		if s.Contains(text) != (text != want) {
			t.Errorf("%q: Contains is wrong", text)
		}
	}
	var none *secret.Set
	if none.Mask("x") != "x" || !none.Empty() {
		t.Error("a nil set knows nothing")
	}
	if v, masked := none.Redact(value.NewObject("a", "b"), nil); value.JSON(v) != `{"a":"b"}` || masked != nil {
		t.Errorf("got %s, %v", value.JSON(v), masked)
	}
}

func TestMaskLineByLine(t *testing.T) {
	s := &secret.Set{}
	s.Add("-----BEGIN KEY-----\nAAAABBBBCCCC\n}\n", expression)
	for text, want := range map[string]string{"key: AAAABBBBCCCC.": "key: ***.", "}": "}"} {
		if got := s.Mask(text); got != want {
			t.Errorf("%q: want %q, got %q", text, want, got)
		}
	}
}

// AWS may quote one value of a document that was sent whole.
func TestMaskValuesOfADocument(t *testing.T) {
	var announced []string
	s := secret.NewSet(func(plaintext string) { announced = append(announced, plaintext) })
	const document = `{"password":"correct-horse","port":5432,"user":"me","more":{"list":["battery-staple"]},"inner":"{\"key\":\"inner-secret\"}"}`
	s.Add(document, expression)
	for text, want := range map[string]string{
		"bad value correct-horse for me": "bad value *** for me",
		"battery-staple/5432":            "***/5432",
		"of inner-secret":                "of ***",
		`{"p": "correct-horse"}`:         `{"p": "***"}`,
	} {
		if got := s.Mask(text); got != want {
			t.Errorf("%q: want %q, got %q", text, want, got)
		}
	}
	for _, want := range []string{document, "correct-horse", "battery-staple", "inner-secret"} {
		if !slices.Contains(announced, want) {
			t.Errorf("%q was not announced", want)
		}
	}
}

func TestLongerSecretsWin(t *testing.T) {
	s := &secret.Set{}
	s.Add("pass", "{{resolve:ssm-secure:/a}}")
	s.Add("password", "{{resolve:ssm-secure:/b}}")
	got, _ := s.Redact([]any{"x-password", "x-pass"}, nil)
	if want := `["x-{{resolve:ssm-secure:/b}}","x-{{resolve:ssm-secure:/a}}"]`; value.JSON(got) != want {
		t.Errorf("want %s, got %s", want, value.JSON(got))
	}
}

func TestAnnouncedOnceBeforeUse(t *testing.T) { // S-163, T-295
	var announced []string
	s := secret.NewSet(func(plaintext string) { announced = append(announced, plaintext) })
	s.Add("one-secret", expression)
	s.Add("one-secret", expression)
	s.AddNoEcho("two-secret")
	if diff := cmp.Diff([]string{"one-secret", "two-secret"}, announced); diff != "" {
		t.Error(diff)
	}
}

func TestUsedByManyAtOnce(t *testing.T) {
	s := &secret.Set{}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			plaintext := strings.Repeat(string(rune('a'+i)), 6)
			s.Add(plaintext, "{{resolve:ssm-secure:/"+plaintext+"}}")
			for range 50 {
				if s.Mask("x"+plaintext+"x") != "x***x" {
					t.Error("a secret that was added is not masked")
				}
				s.Redact([]any{plaintext}, nil)
			}
		})
	}
	wg.Wait()
}

func FuzzRedact(f *testing.F) {
	f.Add("s3cr3t", `{"a":["xs3cr3tx"]}`, `{"a":["***"]}`)
	f.Fuzz(func(t *testing.T, plaintext, v, source string) {
		parsed, err := value.Parse([]byte(v))
		if err != nil {
			return
		}
		from, _ := value.Parse([]byte(source))
		s := &secret.Set{}
		s.Add(plaintext, "{{resolve:ssm-secure:/x}}")
		got, _ := s.Redact(parsed, from)
		for _, leaf := range leaves(got) {
			if len(plaintext) >= 4 && strings.Contains(leaf, plaintext) && !strings.Contains("{{resolve:ssm-secure:/x}}***", plaintext) && !slices.Contains(leaves(from), leaf) && !strings.Contains(leaf, "{{resolve:") {
				t.Errorf("%q is left in %q", plaintext, leaf)
			}
		}
	})
}

func leaves(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, member := range v {
			all = append(all, leaves(member)...)
		}
		return all
	case *value.Object:
		var all []string
		for _, member := range v.All() {
			all = append(all, leaves(member)...)
		}
		return all
	}
	return nil
}

// Whatever stands around a secret, and however it is written there, it is masked.
func FuzzMask(f *testing.F) {
	f.Add("hunter2-secret", "<", ">")
	f.Add("a\"b\\c&d e+f/g\n", "", "=")
	f.Add("\x00\xff\xfe12345", "ab", "é")
	f.Fuzz(func(t *testing.T, plaintext, before, after string) {
		if len(plaintext) < 8 || strings.Contains(plaintext, "*") {
			return
		}
		s := &secret.Set{}
		s.AddDerived(plaintext)
		if got := s.Mask(before + plaintext + after); strings.Contains(got, plaintext) {
			t.Errorf("%q is in %q", plaintext, got)
		}
		code := base64.StdEncoding.EncodeToString([]byte(before + plaintext + after))
		from, to := (8*len(before)+5)/6, 8*(len(before)+len(plaintext))/6 // what the secret alone decides
		if got := s.Mask(code); strings.Contains(got, code[from:to]) {
			t.Errorf("%q of %q is in %q", code[from:to], plaintext, got)
		}
	})
}
