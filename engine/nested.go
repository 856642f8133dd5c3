package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// nestedType is the type of nested stacks.
const nestedType = "AWS::CloudFormation::Stack"

// nested is the provider of nested stacks: each is a deployment of its own,
// with its own record, lock and journal, run by the one that it is nested in.
type nested struct{ parent *deployment }

var _ provider.Provider = (*nested)(nil)

// A NestedError says that a nested stack did not get done. What failed in it is
// in the result of the top-level stack.
type NestedError struct {
	Stack string
	Err   error
}

func (e *NestedError) Error() string { return fmt.Sprintf("nested stack %s: %v", e.Stack, e.Err) }
func (e *NestedError) Unwrap() error { return e.Err }

// Create implements provider.Provider.
func (n *nested) Create(ctx context.Context, r *provider.Request) (provider.Created, error) {
	id := nestedID(r.Stack.Region, r.Stack.AccountID, r.Stack.Name, r.LogicalID)
	if r.Made != nil { // what the child makes is recorded under it from now on
		r.Made(provider.Created{PhysicalID: id})
	}
	attributes, err := n.deploy(ctx, r)
	made := provider.Created{PhysicalID: id, Attributes: attributes}
	if err != nil {
		return made, &provider.PartialError{Made: made, Err: err}
	}
	return made, nil
}

// nestedID is the physical id of a nested stack's row.
func nestedID(region, account, parent, logicalID string) string {
	return fmt.Sprintf("arn:cdkd-local:%s:%s:nested-stack/%s/%s", region, account, parent, logicalID)
}

// Update implements provider.Provider.
func (n *nested) Update(ctx context.Context, r *provider.Request) (provider.Updated, error) {
	attributes, err := n.deploy(ctx, r)
	return provider.Updated{Attributes: attributes}, err
}

// Read implements provider.Provider.
func (n *nested) Read(context.Context, *provider.Request) (*value.Object, error) {
	return nil, fmt.Errorf("a nested stack has no properties in AWS")
}

func (n *nested) deploy(ctx context.Context, r *provider.Request) (*value.Object, error) {
	p := n.parent
	template := p.t.Nested[r.LogicalID]
	if template == nil {
		return nil, fmt.Errorf("the assembly has no template for nested stack %s: the resource lacks the metadata aws:asset:path, which the CDK writes", r.LogicalID)
	}
	parameters, hidden, err := n.parameters(r)
	if err != nil {
		return nil, err
	}
	for _, ignored := range []string{"TimeoutInMinutes", "NotificationARNs"} {
		if r.Properties.Has(ignored) {
			p.warn("%s: %s of a nested stack has no effect", r.LogicalID, ignored)
		}
	}
	row := p.world.row(r.LogicalID)
	before, err := nestedParameters(&provider.Request{LogicalID: r.LogicalID, Properties: r.Previous})
	if err != nil {
		return nil, err
	}
	t := p.t.child(p, r.LogicalID, template, parameters, hidden)
	p.handDown(&t, before)
	d := n.child(t)
	err = d.deploy(ctx)
	n.adopt(d)
	n.show(d)
	if err != nil {
		return nil, &NestedError{Stack: d.t.Name, Err: err}
	}
	if d.hasOld() || d.hasGone() {
		n.putOff(d, row)
	}
	return outputAttributes(d.world.record), nil
}

// parameters are the values that a nested stack is given, and which of them it
// is to mask.
func (n *nested) parameters(r *provider.Request) (parameters map[string]string, hidden []string, err error) {
	if parameters, err = nestedParameters(r); err != nil {
		return nil, nil, err
	}
	secrets := n.parent.e.config.Secrets
	masked := map[string]bool{}
	for _, path := range r.Masked {
		if len(path) > 1 && path[0] == "Parameters" {
			name, _ := path[1].(string)
			masked[name] = true
		}
	}
	for name, v := range parameters {
		if v != secret.Masked && !masked[name] && !secrets.Contains(v) {
			continue
		}
		// The child is told the expression, and stores that. Of a NoEcho value
		// there is none: it gets the value, and is told to mask it.
		stored, _ := secrets.Redact(v, nil)
		if text, ok := stored.(string); ok && text != secret.Masked && strings.Contains(text, "{{resolve:") {
			parameters[name] = text
			continue
		}
		hidden = append(hidden, name)
	}
	return parameters, hidden, nil
}

// outputAttributes are what Fn::GetAtt may ask of a nested stack.
func outputAttributes(r *state.Record) *value.Object {
	attributes := &value.Object{}
	for name, v := range r.Outputs.All() {
		attributes.Set("Outputs."+name, v)
	}
	return attributes
}

// child returns the deployment of a nested stack: the parent's in everything
// but the stack.
func (n *nested) child(t target) *deployment {
	p := n.parent
	d := &deployment{
		e: p.e, t: t, opt: p.opt, store: p.store, runID: p.runID, run: p.run, custody: p.custody, history: p.history, assets: p.assets,
		place: p.store.Stack(t.Name, t.Region),
		res:   p.e.resultOf(t),
	}
	d.unprotect, d.purge = p.unprotect, p.purge
	d.router = p.e.router(d)
	return d
}

// show puts a nested stack's plan below that of the one that it is nested in.
func (n *nested) show(d *deployment) {
	p := n.parent
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.planned != nil && p.Plan.Change(d.t.parentLogicalID) != nil {
		p.Plan.AddChild(d.t.parentLogicalID, d.Plan)
	}
}

// adopt makes what happened in a nested stack since the last time part of the
// top-level result.
func (n *nested) adopt(d *deployment) {
	p := n.parent
	if d.open() {
		p.pending.mu.Lock()
		if p.pending.children == nil {
			p.pending.children = map[string]bool{}
		}
		p.pending.children[d.t.parentLogicalID] = true
		p.pending.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.res.Failures {
		if !strings.Contains(f.LogicalID, "/") {
			f.LogicalID = d.t.parentLogicalID + "/" + f.LogicalID
		}
		p.res.Failures = append(p.res.Failures, f)
	}
	for _, s := range d.res.Timeline {
		s.LogicalID = d.t.parentLogicalID + "/" + s.LogicalID
		p.res.Timeline = append(p.res.Timeline, s)
	}
	p.others += d.others
	p.res.Unaddressed = append(p.res.Unaddressed, d.res.Unaddressed...)
	p.res.Warnings = append(p.res.Warnings, d.res.Warnings...)
	p.res.Pending = append(p.res.Pending, d.res.Pending...)
	p.res.Unawaited = append(p.res.Unawaited, d.res.Unawaited...)
	p.res.RollbackIncomplete = p.res.RollbackIncomplete || d.res.RollbackIncomplete
	c, n2 := &p.res.Counts, d.res.Counts
	c.Created += n2.Created
	c.Updated += n2.Updated
	c.Deleted += n2.Deleted
	c.Skipped += n2.Skipped
	c.Failed += n2.Failed
	c.Unchanged += n2.Unchanged
	d.res, d.others = d.e.resultOf(d.t), 0
}

// nestedParameters are the values that a nested stack is given, as text.
func nestedParameters(r *provider.Request) (map[string]string, error) {
	parameters := map[string]string{}
	for name, v := range r.Properties.Object("Parameters").All() {
		if list, ok := v.([]any); ok {
			parts := make([]string, len(list))
			for i, m := range list {
				text, ok := value.Text(m)
				if !ok {
					return nil, fmt.Errorf("parameter %s of nested stack %s: element %d is %s and has no text", name, r.LogicalID, i, value.Kind(m))
				}
				parts[i] = text
			}
			parameters[name] = strings.Join(parts, ",")
			continue
		}
		text, ok := value.Text(v)
		if !ok {
			return nil, fmt.Errorf("parameter %s of nested stack %s is %s and has no text", name, r.LogicalID, value.Kind(v))
		}
		parameters[name] = text
	}
	return parameters, nil
}

// Delete implements provider.Provider.
func (n *nested) Delete(ctx context.Context, r *provider.Request) (provider.Deleted, error) {
	p := n.parent
	d := n.child(target{Name: p.t.Name + "~" + r.LogicalID, Region: p.t.Region, parent: p, parentLogicalID: r.LogicalID})
	d.unmaking = p.unmaking
	err := d.destroy(ctx)
	left := len(d.res.Unaddressed) > d.others
	n.adopt(d)
	if !p.unmaking {
		n.show(d)
	}
	if err != nil {
		return provider.Deleted{}, &NestedError{Stack: d.t.Name, Err: err}
	}
	if left {
		return provider.Deleted{Skipped: fmt.Sprintf("nested stack %s still has resources", d.t.Name)}, nil
	}
	return provider.Deleted{}, nil
}
