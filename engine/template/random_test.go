package template_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A maker makes expressions of which it knows what they come to, because it
// begins with that: every text can be written as a Join of its halves, as an
// element of a list, as the branch of a condition that holds, and so on.
type maker struct {
	*rand.Rand
	variables int
}

const letters = "ab-/.:,${}|é0 "

func (m *maker) word() string {
	var b strings.Builder
	all := []rune(letters)
	for range m.IntN(6) {
		b.WriteRune(all[m.IntN(len(all))])
	}
	return b.String()
}

func call(name string, arg any) any { return value.NewObject(name, arg) }

var noValueRef = call("Ref", "AWS::NoValue")

// parameters are what a template around made expressions is given.
var parameters = map[string]string{"Alpha": "alpha", "Dollar": "${Alpha}", "Num": "007", "Empty": ""}

// text writes a text as an expression.
func (m *maker) text(want string, depth int) any {
	if depth == 0 {
		return want
	}
	switch m.IntN(10) {
	case 0: // what a parameter or pseudo parameter has
		for name, v := range parameters {
			if v == want {
				return call("Ref", name)
			}
		}
		return call("Fn::Join", []any{"", []any{m.text(want, depth-1)}})
	case 1:
		runes := []rune(want)
		at := m.IntN(len(runes) + 1)
		parts := []any{m.text(string(runes[:at]), depth-1), m.text(string(runes[at:]), depth-1)}
		return call("Fn::Join", []any{m.text("", depth-1), append(parts, noValueRef)})
	case 2:
		delimiter := []string{",", "|", "/"}[m.IntN(3)]
		var parts []any
		for part := range strings.SplitSeq(want, delimiter) {
			parts = append(parts, m.text(part, depth-1))
		}
		return call("Fn::Join", []any{delimiter, parts})
	case 3: // a variable, and text that only looks like one
		m.variables++
		name := fmt.Sprintf("v%d", m.variables)
		return call("Fn::Sub", []any{"${" + name + "}", value.NewObject(name, m.text(want, depth-1), "unused", m.text("x", 0))})
	case 4:
		if strings.Contains(want, "${") {
			return m.text(want, depth-1)
		}
		return call("Fn::Sub", want)
	case 5:
		list, at := []any{m.word(), m.word(), m.word()}, m.IntN(3)
		list[at] = m.text(want, depth-1)
		index := any(value.Int(at))
		if m.IntN(2) == 0 {
			index = m.text(fmt.Sprint(at), depth-1)
		}
		return call("Fn::Select", []any{index, list})
	case 6:
		if strings.Contains(want, ";") {
			return want
		}
		before := m.word()
		return call("Fn::Select", []any{value.Int(1), call("Fn::Split", []any{";", m.text(before+";"+want, depth-1)})})
	case 7:
		never := call("Fn::GetAtt", []any{"Other", "Never"})
		if m.IntN(2) == 0 {
			return call("Fn::If", []any{"Yes", m.text(want, depth-1), never})
		}
		return call("Fn::If", []any{"No", never, m.text(want, depth-1)})
	case 8:
		return call("Fn::FindInMap", []any{"Map", m.text("no such key", depth-1), "x", value.NewObject("DefaultValue", m.text(want, depth-1))})
	}
	return m.text(want, depth-1)
}

// any makes a value and an expression for it.
func (m *maker) any(depth int) (expression, want any) {
	switch k := m.IntN(8); {
	case k == 0 && depth > 0:
		e, w := &value.Object{}, &value.Object{}
		for i := range m.IntN(4) {
			name := fmt.Sprintf("M%d", i)
			if m.IntN(6) == 0 {
				e.Set(name, noValueRef)
				continue
			}
			me, mw := m.any(depth - 1)
			e.Set(name, me)
			w.Set(name, mw)
		}
		return e, w
	case k == 1 && depth > 0:
		e, w := []any{}, []any{}
		for range m.IntN(4) {
			if m.IntN(6) == 0 {
				e = append(e, noValueRef)
				continue
			}
			me, mw := m.any(depth - 1)
			e, w = append(e, me), append(w, mw)
		}
		return e, w
	case k == 2:
		list := []any{}
		var parts []string
		for range 1 + m.IntN(4) {
			part := strings.ReplaceAll(m.word(), ",", "")
			parts, list = append(parts, part), append(list, part)
		}
		return call("Fn::Split", []any{",", m.text(strings.Join(parts, ","), depth)}), list
	case k == 3:
		want := m.word()
		return call("Fn::Base64", m.text(want, depth)), base64.StdEncoding.EncodeToString([]byte(want))
	case k == 4:
		a, b := m.word(), m.word()
		return call("Fn::Equals", []any{m.text(a, depth), m.text(b, depth)}), a == b
	case k == 5 && depth > 0:
		e, w := m.any(depth - 1)
		switch w.(type) {
		case []any, *value.Object:
			return call("Fn::ToJsonString", e), value.JSON(w)
		}
		return e, w
	}
	want = m.word()
	if m.IntN(4) == 0 {
		want = parameters["Alpha"]
	}
	return m.text(want.(string), depth), want
}

// An expression comes to what it was made from, strictly and in a preview, as
// often as it is asked and by several at once, and neither it nor what it was
// given is changed.
func TestMadeExpressions(t *testing.T) {
	const n = 3000
	for seed := range uint64(n) {
		m := &maker{Rand: rand.New(rand.NewPCG(seed, 4))}
		expression, want := m.any(1 + m.IntN(5))
		body := value.NewObject(
			"Transform", template.LanguageExtensions,
			"Parameters", value.NewObject(
				"Alpha", value.NewObject("Type", "String"), "Dollar", value.NewObject("Type", "String"),
				"Num", value.NewObject("Type", "Number"), "Empty", value.NewObject("Type", "String", "Default", "")),
			"Conditions", value.NewObject("Yes", call("Fn::Not", []any{value.NewObject("Condition", "No")}), "No", call("Fn::Equals", []any{"a", "b"})),
			"Mappings", value.NewObject("Map", value.NewObject("k", value.NewObject("x", "y"))),
			"Resources", value.NewObject("Other", value.NewObject("Type", "T::T::T"),
				"R", value.NewObject("Type", "T::T::T", "Properties", value.NewObject("V", expression))))
		written := value.JSON(body)
		tmpl, err := template.Parse("t.json", []byte(written))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, value.JSON(expression))
		}
		before := value.JSON(tmpl.Body)
		w := &world{}
		s, err := tmpl.Bind(t.Context(), env, parameters, w)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, value.JSON(expression))
		}
		check := func(how string, got *value.Object, err error) {
			if err != nil || !value.Equal(got.Value("V"), want) {
				t.Errorf("seed %d, %s: want %s, got %s, %v\n%s", seed, how, value.JSON(want), value.JSON(got), err, value.JSON(expression))
			}
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				got, err := s.Properties(context.Background(), "R")
				check("strictly", got, err)
			})
		}
		wg.Wait()
		got, unresolved, err := s.Preview(t.Context(), "R")
		check("in a preview", got, err)
		if len(unresolved) > 0 {
			t.Errorf("seed %d: the preview leaves %v", seed, unresolved)
		}
		if value.JSON(tmpl.Body) != before {
			t.Errorf("seed %d: the template was changed", seed)
		}
		if t.Failed() {
			return
		}
	}
}

// With something in it that is known only later, a preview leaves a function as it
// is written or evaluates it, but never makes a value of it that the deploy then
// contradicts.
func TestPreviewNeverContradictsTheDeploy(t *testing.T) {
	for seed := range uint64(2000) {
		m := &maker{Rand: rand.New(rand.NewPCG(seed, 9))}
		expression, _ := m.any(1 + m.IntN(4))
		later := value.NewObject("A", expression, "B", call("Fn::Join", []any{"-", []any{m.text(m.word(), 2), call("Ref", "Other")}}))
		tmpl, err := template.Parse("t.json", []byte(value.JSON(value.NewObject(
			"Transform", template.LanguageExtensions,
			"Parameters", value.NewObject("Alpha", value.NewObject("Type", "String"), "Dollar", value.NewObject("Type", "String"),
				"Num", value.NewObject("Type", "String"), "Empty", value.NewObject("Type", "String")),
			"Conditions", value.NewObject("Yes", call("Fn::Equals", []any{"a", "a"}), "No", call("Fn::Equals", []any{"a", "b"})),
			"Mappings", value.NewObject("Map", value.NewObject("k", value.NewObject("x", "y"))),
			"Resources", value.NewObject("Other", value.NewObject("Type", "T::T::T"),
				"R", value.NewObject("Type", "T::T::T", "Properties", later))))))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		w := &world{}
		s, err := tmpl.Bind(t.Context(), env, parameters, w)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		shown, unresolved, err := s.Preview(t.Context(), "R")
		if err != nil || strings.Join(unresolved, ",") != "B" {
			t.Fatalf("seed %d: unresolved %v, %v\n%s", seed, unresolved, err, value.JSON(later))
		}
		w.refs = map[string]any{"Other": "made"}
		done, err := s.Properties(t.Context(), "R")
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !value.Equal(shown.Value("A"), done.Value("A")) {
			t.Fatalf("seed %d: the preview says %s, the deploy %s", seed, value.JSON(shown.Value("A")), value.JSON(done.Value("A")))
		}
		if text, ok := done.Value("B").(string); !ok || !strings.HasSuffix(text, "-made") {
			t.Fatalf("seed %d: B is %v", seed, done.Value("B"))
		}
	}
}
