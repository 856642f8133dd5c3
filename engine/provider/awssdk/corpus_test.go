package awssdk

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// Every resource of a described type in the corpus is provisioned without
// Cloud Control, but for what a type recast as another cannot carry, and every
// value that it has can be bound.
func TestCorpus(t *testing.T) {
	dirs := []string{"../../../testdata/corpus"}
	if dir := os.Getenv("CDKD_CORPUS"); dir != "" {
		dirs = append(dirs, dir)
	}
	described := map[string]provider.Resource{}
	for _, r := range Resources() {
		described[r.Type] = r
	}
	for _, dir := range dirs {
		// A link would be walked as a file.
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			template, err := value.ParseObject(text)
			if err != nil {
				return nil // not all of the corpus is well formed
			}
			for id, v := range template.Object("Resources").All() {
				declared, _ := v.(*value.Object)
				if r, ok := described[declared.String("Type")]; ok {
					count++
					checkBinds(t, path, id, r, declared.Object("Properties"))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if count < 100 {
			t.Errorf("found %d resources of described types in %s: the corpus is not where it was", count, dir)
		}
	}
}

func checkBinds(t *testing.T, path, id string, r provider.Resource, declared *value.Object) {
	t.Helper()
	props, _ := withoutIntrinsics(declared).(*value.Object)
	if props == nil {
		props = &value.Object{}
	}
	if r.Name != "" && !props.Has(r.Name) {
		props.Set(r.Name, "name")
	}
	typ, _ := schema.Lookup(r.Type)
	if recast := r.Recast; recast != nil {
		lost := func(path string) bool { return reaches(props, strings.Split(path, ".")) }
		if slices.ContainsFunc(recast.Lost, lost) || recast.Beyond != nil && len(recast.Beyond(props)) > 0 {
			return // Cloud Control's
		}
	}
	for _, u := range r.Coverage(typ).Unhandled {
		if reaches(props, strings.Split(u, ".")) {
			t.Errorf("%s: %s (%s) uses %s, which is not covered", path, id, r.Type, u)
		}
	}
	inputs := slices.Concat(r.Inputs, r.Updates)
	for _, s := range r.Satellites {
		if s.Input != nil && slices.ContainsFunc(s.Properties, props.Has) {
			inputs = append(inputs, s.Input)
		}
	}
	request := &provider.Request{Session: &provider.Session{}, Stack: stack, LogicalID: id, Type: r.Type, PhysicalID: "id", Properties: props}
	for _, in := range inputs {
		out := reflect.ValueOf(in).MethodByName("Input").Call([]reflect.Value{reflect.ValueOf(request)})
		if err, ok := out[1].Interface().(error); ok && !strings.Contains(err.Error(), "needs a Node.js or Python runtime") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// withoutIntrinsics puts a value in the place of what a deploy would resolve.
// It reads as text and as a number.
func withoutIntrinsics(v any) any {
	switch v := v.(type) {
	case *value.Object:
		if k, m, ok := v.Sole(); ok && (k == "Ref" || strings.HasPrefix(k, "Fn::")) {
			if branches, ok := m.([]any); ok && k == "Fn::If" && len(branches) == 3 {
				return withoutIntrinsics(branches[1])
			}
			if k == "Ref" && m == "AWS::NoValue" {
				return nil
			}
			return "7"
		}
		o := &value.Object{}
		for k, m := range v.All() {
			o.Set(k, withoutIntrinsics(m))
		}
		return o
	case []any:
		l := make([]any, len(v))
		for i, m := range v {
			l[i] = withoutIntrinsics(m)
		}
		return l
	}
	return v
}

// reaches tells whether there is something at a path, in any element of the
// lists on the way.
func reaches(v any, path []string) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return reaches(e, path) })
	case *value.Object:
		if len(path) > 0 {
			m, ok := v.Get(path[0])
			return ok && reaches(m, path[1:])
		}
	}
	return len(path) == 0
}
