package awssdk

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// A peculiar type cannot be sampled by its schema alone.
type peculiar struct {
	fixed   map[string]fixed // by path
	needs   []string         // properties that the create must have beside the required ones
	stays   []string         // properties that the service cannot change, though the schema says so
	without [][]string       // samples to take, by the paths that each leaves out
}

// live takes a sample through its create and delete, and returns what was sent.
func live(t *testing.T, rec *recorder, r provider.Resource, props *value.Object) ([]sentRequest, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	rec.take()
	rec.gone = r.Gone[0]
	d := provider.Drive(r, nil)
	request := provider.Request{
		Session: rec.session(), Stack: stack, LogicalID: "Res", Type: r.Type, Name: "made", NameProperty: r.Name,
		Token: "token", Properties: props,
	}
	made, err := d.Create(ctx, &request)
	if err == nil {
		request.PhysicalID, request.Attributes = made.PhysicalID, made.Attributes
		_, err = d.Delete(ctx, &request)
	}
	return rec.take(), err
}

func joined(sent []sentRequest) string {
	var b strings.Builder
	for _, s := range sent {
		b.WriteString(s.operation + " " + s.text + "\n\n")
	}
	return b.String()
}

// unsent returns the paths of a type that a full sample has and that cannot be
// found in the requests that it makes.
func unsent(t *testing.T, rec *recorder, r provider.Resource, typ *schema.Type) (missing []string) {
	var all []string
	found := map[string]bool{}
	for _, s := range samples(r, typ, peculiarities[r.Type]) {
		sample := s.sample()
		requests, err := live(t, rec, r, sample.props)
		if err != nil {
			t.Errorf("sample without %v: %v", slices.Sorted(maps.Keys(s.leave)), err)
			continue
		}
		sent := joined(requests)
		for _, l := range sample.leaves {
			if !slices.Contains(all, l.path) {
				all = append(all, l.path)
			}
			if found[l.path] {
				continue
			}
			if l.mark != "" {
				found[l.path] = regexp.MustCompile(`(^|[^0-9])` + regexp.QuoteMeta(l.mark) + `($|[^0-9])`).MatchString(sent)
			}
		}
		for _, l := range sample.leaves {
			if l.mark == "" && !found[l.path] {
				again := (&sampler{typ: s.typ, fixed: s.fixed, leave: s.leave}).sample()
				i := slices.IndexFunc(again.leaves, func(a leaf) bool { return a.path == l.path })
				again.leaves[i].flip()
				requests, err := live(t, rec, r, again.props)
				if err != nil {
					t.Errorf("sample with another %s: %v", l.path, err)
				}
				found[l.path] = joined(requests) != sent
			}
		}
	}
	for _, path := range all {
		if !found[path] {
			missing = append(missing, path)
		}
	}
	return missing
}
