package corpus

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/internal/sandbox"
)

// A resource is what a deploy recorded of one.
type resource struct {
	stack, region, logicalID string
	row                      *state.Resource
}

func (r resource) id() string               { return r.row.PhysicalID }
func (r resource) has(property string) bool { return r.row.Properties.Has(property) }
func (r resource) property(name string) any { return r.row.Properties.Value(name) }
func (r resource) text(name string) string  { s, _ := value.Text(r.property(name)); return s }
func (r resource) byCloudControl() bool     { return r.row.ProvisionedBy == state.ByCloudControl }
func (r resource) String() string {
	return fmt.Sprintf("%s %s (%s)", r.stack, r.logicalID, r.row.ResourceType)
}

func (r resource) texts(name string) (all []string) {
	for _, v := range r.row.Properties.List(name) {
		s, _ := value.Text(v)
		all = append(all, s)
	}
	return all
}

// pick takes some properties.
func (r resource) pick(names ...string) *value.Object {
	o := &value.Object{}
	for _, name := range names {
		if v, ok := r.row.Properties.Get(name); ok {
			o.Set(name, v)
		}
	}
	return o
}

// only takes some members of the objects in a list.
func (r resource) only(name string, members ...string) []any {
	var all []any
	for _, v := range r.row.Properties.List(name) {
		o := &value.Object{}
		for _, m := range members {
			if w, ok := v.(*value.Object).Get(m); ok {
				o.Set(m, w)
			}
		}
		all = append(all, o)
	}
	return all
}

// made tells whether there is something of the resource in the account.
func (r resource) made() bool {
	typ := r.row.ResourceType
	return !strings.HasPrefix(typ, "Custom::") && !strings.HasPrefix(typ, "AWS::CloudFormation::")
}

// probe is how the command line sees the resource; ok is false when nobody said.
func (r resource) probe() (p probe, ok bool) {
	if r.byCloudControl() {
		return cloudControl(r.row.ResourceType), true
	}
	p, ok = probes[r.row.ResourceType]
	return p, ok
}

// A budget bounds how often a type is looked at in a run: a look takes half a
// second. It is nothing with -short, and nil is without bounds.
type budget struct {
	mu   sync.Mutex
	left map[string]int
}

// take asks for one look; the first of a kind says how many there may be.
func (b *budget) take(what string, all int) bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	left, known := b.left[what]
	if !known && !testing.Short() {
		left = all
	}
	b.left[what] = left - 1
	return left > 0
}

// ask runs the aws command line and returns what it prints.
func ask(ctx context.Context, s *sandbox.Sandbox, region string, args []string) (any, error) {
	cmd := exec.CommandContext(ctx, "aws", append(slices.Clone(args), "--endpoint-url", s.URL, "--region", region, "--output", "json")...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") }), s.Env()...)
	cmd.Env = append(cmd.Env, "AWS_MAX_ATTEMPTS=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("aws %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	if len(bytes.TrimSpace(out.Bytes())) == 0 {
		return nil, nil
	}
	v, err := value.Parse(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("aws %s: %w", strings.Join(args, " "), err)
	}
	return v, nil
}

// A listing is one question for all resources of a type in a region, and what
// should be in the answer.
type listing struct {
	args   []string
	region string
	key    string
	want   map[string]any // by id
}

// listings are the questions that cover resources, with those of them that
// count as there.
func listings(all []resource, there func(resource) bool) []*listing {
	var lists []*listing
	for _, r := range all {
		p, ok := r.probe()
		if !ok || p.list == nil {
			continue
		}
		region := r.region
		if p.global {
			region = "us-east-1"
		}
		i := slices.IndexFunc(lists, func(l *listing) bool { return l.region == region && slices.Equal(l.args, p.list) })
		if i < 0 {
			lists = append(lists, &listing{p.list, region, p.key, map[string]any{}})
			i = len(lists) - 1
		}
		id := r.id()
		if p.id != nil {
			id = p.id(r)
		}
		if id != "" && there(r) {
			lists[i].want[id] = nil
			if p.want != nil {
				lists[i].want[id] = p.want(r)
			}
		}
	}
	return lists
}

// look compares what the command line lists with what should be there and
// returns the faults.
func look(ctx context.Context, s *sandbox.Sandbox, b *budget, lists []*listing, foreign func(id string) bool) []string {
	faults := make([]string, len(lists))
	var g errgroup.Group
	g.SetLimit(2)
	for i, l := range lists {
		if !b.take(strings.Join(l.args, " "), 30) {
			continue
		}
		g.Go(func() error {
			got, err := ask(ctx, s, l.region, l.args)
			if err == nil {
				err = l.compare(got, foreign)
			}
			if err != nil {
				faults[i] = fmt.Sprintf("aws %s in %s: %v", strings.Join(l.args, " "), l.region, err)
			}
			return nil
		})
	}
	g.Wait()
	return slices.DeleteFunc(faults, func(f string) bool { return f == "" })
}

func (l *listing) compare(got any, foreign func(id string) bool) error {
	things := map[string]any{}
	list, _ := got.([]any)
	for _, v := range list {
		id, _ := value.Text(v)
		if o, ok := v.(*value.Object); ok {
			id = o.String(l.key)
		}
		if !foreign(id) {
			things[id] = v
		}
	}
	ids, want := slices.Sorted(maps.Keys(things)), slices.Sorted(maps.Keys(l.want))
	if l.args[0] == "cloudcontrol" && len(ids) == len(want) {
		return nil // some records hold a form of their own instead of the identifier
	}
	if !slices.Equal(ids, want) {
		return fmt.Errorf("it lists %q, want %q", ids, want)
	}
	for _, id := range want {
		if fault := holds(l.want[id], things[id]); fault != "" {
			return fmt.Errorf("%s: %s", id, fault)
		}
	}
	return nil
}

// most is how many resources of a type in an assembly are looked at one by one.
const most = 2

// inspect asks for the details of resources and returns the faults.
func inspect(ctx context.Context, s *sandbox.Sandbox, b *budget, all []resource) []string {
	var g errgroup.Group
	g.SetLimit(2)
	faults := make([][]string, len(all))
	seen := map[string]int{}
	for i, r := range all {
		p, ok := r.probe()
		if !ok || p.show == nil || seen[r.row.ResourceType] == most || !b.take("details of "+r.row.ResourceType, 10) {
			continue
		}
		seen[r.row.ResourceType]++
		g.Go(func() error {
			for _, c := range p.show(r) {
				got, err := ask(ctx, s, r.region, c.args)
				if err != nil {
					faults[i] = append(faults[i], fmt.Sprintf("%s: %v", r, err))
				} else if fault := holds(c.want, got); fault != "" {
					faults[i] = append(faults[i], fmt.Sprintf("%s: aws %s: %s", r, strings.Join(c.args, " "), fault))
				}
			}
			return nil
		})
	}
	g.Wait()
	return slices.Concat(faults...)
}

// sameText compares scalars as text, numbers by their value.
func sameText(a, b string) bool {
	if strings.EqualFold(a, b) && (strings.EqualFold(a, "true") || strings.EqualFold(a, "false")) || a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}
