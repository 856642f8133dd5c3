package template_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// world answers from maps. What is in none of them is known only after
// deployment.
type world struct {
	refs       map[string]any
	attributes map[string]any // by id.name
	exports    map[string]any
	outputs    map[string]any // by stack.output
	dynamic    map[string]string
	secret     map[string]bool
	parameters map[string]string

	mu    sync.Mutex
	asked []string
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, fmt.Sprintf(format, args...))
}

func from(m map[string]any, key string) (any, error) {
	if v, ok := m[key]; ok {
		return v, nil
	}
	return nil, template.ErrUnknown
}

func (w *world) Ref(_ context.Context, id string) (any, error) { return from(w.refs, id) }
func (w *world) Attribute(_ context.Context, id, name string) (any, error) {
	return from(w.attributes, id+"."+name)
}
func (w *world) Import(_ context.Context, name string) (any, error) {
	if name == "gone" {
		return nil, errors.New("no stack exports it")
	}
	return from(w.exports, name)
}
func (w *world) StackOutput(_ context.Context, ref template.StackOutput) (any, error) {
	w.note("output %s.%s in %s as %q", ref.StackName, ref.OutputName, ref.Region, ref.RoleARN)
	return from(w.outputs, ref.StackName+"."+ref.OutputName)
}
func (w *world) AvailabilityZones(_ context.Context, region string) ([]string, error) {
	return []string{region + "a", region + "b"}, nil
}
func (w *world) SSMParameters(_ context.Context, names []string) (map[string]string, error) {
	w.note("ssm %s", strings.Join(names, ","))
	return w.parameters, nil
}
func (w *world) Dynamic(_ context.Context, service, reference string) (string, bool, error) {
	w.note("dynamic %s:%s", service, reference)
	text, ok := w.dynamic[service+":"+reference]
	if !ok {
		return "", false, errors.New("there is no such secret")
	}
	return text, w.secret[service+":"+reference], nil
}

// regional also resolves in other regions.
type regional struct{ *world }

func (w regional) DynamicIn(_ context.Context, region, service, reference string) (string, bool, error) {
	w.note("dynamic in %s %s:%s", region, service, reference)
	return "from " + region, true, nil
}

var env = template.Environment{AccountID: "123456789012", Region: "eu-west-1", StackName: "S", StackID: "arn:stack"}

func parse(t *testing.T, body string) *template.Template {
	t.Helper()
	tmpl, err := template.Parse("t.json", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func bind(t *testing.T, body string, w template.World, options ...template.Option) *template.Scope {
	t.Helper()
	s, err := parse(t, body).Bind(t.Context(), env, nil, w, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func json(t *testing.T, text string) any {
	t.Helper()
	v, err := value.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}
