package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/graph"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A planned stack is a plan and what carrying it out needs.
type planned struct {
	*plan.Plan
	world     *world
	scope     *template.Scope
	decisions map[string]provider.Decision
	waits     graph.Edges         // between all resources of the template
	recorded  graph.Edges         // what becomes their rows' dependencies
	feeds     map[string][]string // what the exports mention, by their names
	told      map[string]evaluated
	readopted bool                // the record is not what was read: orphans were taken back, or forgotten
	doubtful  map[string][]string // properties of which it is not known what AWS has
	unmade    map[string]refusal  // what of the plan is known not to be done
	below     []*deployment       // nested stacks, as far as they are planned with this one
	input     plan.Input          // what the plan was made of
	compared  *state.Record       // and what with
	notices   []string
	warnings  []string
}

// plan compares the stack with its record, which may be nil. It writes nothing.
func (d *deployment) plan(ctx context.Context, record *state.Record) (*planned, error) {
	t := d.t
	p := &planned{decisions: map[string]provider.Decision{}, world: d.newWorld(record), doubtful: d.doubtful(record)}
	options := []template.Option{template.Secrets(d.e.config.Secrets), template.Hidden(t.Hidden...), template.Attributes(d.hasAttribute)}
	options = append(options, template.Unknown(t.unknown...))
	if d.tolerant != nil {
		options = append(options, template.Tolerant(d.tolerant))
	}
	var err error
	p.scope, err = t.Template.Bind(ctx, d.environment(), t.Parameters, p.world, options...)
	if err != nil {
		return nil, err
	}
	if err := p.scope.Admit(ctx); err != nil {
		return nil, err
	}
	var orphans int
	if record != nil {
		orphans = len(record.Orphans)
	}
	if p.notices, p.warnings, err = d.readopt(ctx, record, p.scope.Resources()); err != nil {
		return nil, err
	}
	p.readopted = record != nil && len(record.Orphans) < orphans
	recreate, err := d.recreations(p.scope, record)
	if err != nil {
		return nil, err
	}
	desired, err := p.desired(ctx, t, recreate)
	if err != nil {
		return nil, err
	}
	if err := checkNames(t.Name, desired, d.router); err != nil {
		return nil, err
	}
	if err := p.order(d.opt.DeclaredOrder); err != nil {
		return nil, err
	}
	if err := p.route(d, desired, record); err != nil {
		return nil, err
	}
	p.leaveOut(desired)
	outputs, err := p.outputs(ctx)
	if err != nil {
		return nil, err
	}
	current := record.Clone()
	for _, id := range current.LogicalIDs() {
		current.Set(id, d.sentRow(current.Row(id)))
	}
	p.input = plan.Input{
		Stack: t.Name, Region: t.Region, Current: current, Desired: desired, Outputs: outputs,
		SecretBearing: refersToSecrets(t.Template), Schema: d.router.Schema,
		Route: func(want *plan.Resource, properties *value.Object, row *state.Resource) (plan.Route, error) {
			w := provider.Want{Type: want.Type, Properties: properties, Mutating: true, Layer: d.opt.layer(t, want.LogicalID)}
			if row != nil {
				w.Recorded, w.Exists, w.Had = row.ProvisionedBy, true, row.Properties
			}
			d, err := d.router.Route(w)
			return d.Route, err
		},
	}
	p.compared = record
	return p, d.compute(p, nil)
}

// compute makes the plan of what was found out. visit are nested stacks that
// differ although their rows may not.
func (d *deployment) compute(p *planned, visit map[string]bool) error {
	for i := range p.input.Desired {
		r := &p.input.Desired[i]
		r.ChildChanged = visit[r.LogicalID]
	}
	var err error
	if p.Plan, err = plan.Compute(p.input); err != nil {
		return err
	}
	p.recordNewLayer(d.router)
	d.refuse(p, p.compared)
	d.revisit(p)
	return nil
}

// hasAttribute tells whether Fn::GetAtt may ask a type for an attribute, as far
// as its schema tells. One that is younger than the schema is let through by the
// same input as a property.
func (d *deployment) hasAttribute(typ, attribute string) bool {
	shape, ok := schema.Lookup(typ)
	top, _, _ := strings.Cut(attribute, ".")
	if !ok || isCustom(typ) || typ == nestedType || shape.Properties[top] != nil {
		return true
	}
	return slices.Contains(d.opt.Router.AllowProperties[typ], attribute) ||
		slices.ContainsFunc(shape.Attributes, func(name string) bool {
			return name == attribute || strings.HasPrefix(name, attribute+".") || strings.HasPrefix(attribute, name+".")
		})
}

// leaveOut takes out what will not be sent: it is not compared either.
func (p *planned) leaveOut(desired []plan.Resource) {
	for i := range desired {
		r := &desired[i]
		if dropped := p.decisions[r.LogicalID].Dropped; len(dropped) > 0 {
			r.Properties = provider.Without(r.Properties, dropped)
			if r.Written != nil {
				r.Written = provider.Without(r.Written, dropped)
			}
		}
	}
}

// sentRow is a row without what its record says and AWS was never told.
func (d *deployment) sentRow(row *state.Resource) *state.Resource {
	if row == nil || row.ProvisionedBy == state.ByCloudControl {
		return row
	}
	unsent := d.router.Unsent(row.ResourceType, row.Properties)
	if len(unsent) == 0 {
		return row
	}
	c := row.Clone()
	c.Properties = provider.Without(row.Properties, unsent)
	return c
}

// recordNewLayer makes resources that are replaced be recorded under the layer
// that makes the new one. Their old rows may say "sdk", because another engine
// has a provider of its own for the type; the new id is Cloud Control's.
func (p *planned) recordNewLayer(router *provider.Router) {
	for _, c := range p.Changes {
		d := p.decisions[c.LogicalID]
		replaced := c.Action == plan.Replace || c.Action == plan.MayReplace
		if replaced && !d.Direct && router.Driver(c.Type) == nil {
			d.Route.ProvisionedBy = state.ByCloudControl
			p.decisions[c.LogicalID] = d
		}
	}
}

func (d *deployment) newWorld(record *state.Record) *world {
	return &world{
		Resolver: d.e.session(d.t.Region).reference, store: d.store, t: d.t, environment: d.environment(),
		run: d.run, rehearsing: d.opt.DryRun,
		record: record, clear: map[string]*state.Resource{}, live: d.live, warn: d.warn, foreign: d.e.foreign,
		strictGetAtt: d.opt.StrictGetAtt, noCFN: d.opt.NoCloudFormationExports,
	}
}

func (d *deployment) environment() template.Environment {
	return template.Environment{AccountID: d.account, Region: d.t.Region, StackName: d.t.Name, StackID: d.stackID}
}

// stackID is AWS::StackId. A record made by the cdkd command line may hold the
// one that it gives to every stack, which then stays this stack's.
func stackID(account string, t target, prefix string, record *state.Record) string {
	id := template.StackID(account, t.Region, prefix, t.Name)
	constant := "stack/" + t.Name + "/cdkd"
	if record != nil {
		for _, row := range record.Resources {
			if strings.Contains(value.JSON(row.Properties), constant) {
				return id[:strings.LastIndex(id, ":")+1] + constant
			}
		}
		if strings.Contains(value.JSON(record.Outputs), constant) {
			return id[:strings.LastIndex(id, ":")+1] + constant
		}
	}
	return id
}

// desired evaluates the template's resources as far as can be told now.
func (p *planned) desired(ctx context.Context, t target, recreate map[string]plan.Recreation) ([]plan.Resource, error) {
	var all []plan.Resource
	var faults []error
	for _, r := range p.scope.Resources() {
		properties, unresolved, err := p.scope.Preview(ctx, r.LogicalID)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		d := plan.Resource{
			LogicalID: r.LogicalID, Type: r.Type, Path: r.Metadata.String("aws:cdk:path"),
			Properties: properties, Written: r.Properties, Unresolved: unresolved,
			References: map[string][]plan.Reference{}, Recreate: recreate[r.LogicalID],
			DeletionPolicy: r.DeletionPolicy, UpdateReplacePolicy: r.UpdateReplacePolicy,
			Supplied: p.supplied(ctx, r, t), Uncertain: p.doubtful[r.LogicalID],
		}
		for _, ref := range p.scope.References(r.LogicalID) {
			if ref.Property != "" {
				d.References[ref.Property] = append(d.References[ref.Property], plan.Reference{LogicalID: ref.LogicalID, Attribute: ref.Attribute})
			}
		}
		all = append(all, d)
	}
	return all, joined(faults)
}

func refersToSecrets(t *template.Template) bool {
	text := value.JSON(t.Body)
	return strings.Contains(text, "{{resolve:secretsmanager:") || strings.Contains(text, "{{resolve:ssm-secure:")
}

// supplied names the properties that hold a NoEcho value given in this run. A
// value given is a new value: the old one is not stored, so none can tell, but
// where it is the physical id.
func (p *planned) supplied(ctx context.Context, r *template.Resource, t target) (properties []string) {
	for name, v := range r.Properties.All() {
		if len(suppliedTo(v, t)) > 0 && !p.identifies(ctx, r, name) {
			properties = append(properties, name)
		}
	}
	return properties
}

// identifies tells whether a property alone is what the type is identified by,
// and has the value that the recorded resource goes by.
func (p *planned) identifies(ctx context.Context, r *template.Resource, property string) bool {
	row := p.world.row(r.LogicalID)
	typ, known := schema.Lookup(r.Type)
	if row == nil || row.ResourceType != r.Type || !known || !slices.Equal(typ.PrimaryIdentifier, []string{property}) {
		return false
	}
	v, ok := p.scope.Property(ctx, r.LogicalID, property)
	return ok && v == row.PhysicalID
}

// suppliedTo names the NoEcho parameters given in this run that a value mentions.
func suppliedTo(v any, t target) (parameters []string) {
	mentioned := graph.Mentioned(v)
	for _, p := range t.Template.Parameters {
		_, given := t.Parameters[p.Name]
		if t.parent != nil {
			given = slices.Contains(t.renewed, p.Name)
		}
		if given && t.secretive(p) && slices.Contains(mentioned, p.Name) {
			parameters = append(parameters, p.Name)
		}
	}
	return parameters
}

// relaxed is how many of the declared dependencies are not waited for.
func (p *planned) relaxed() (n int) {
	for id, producers := range p.recorded {
		for _, producer := range producers {
			if !slices.Contains(p.waits[id], producer) {
				n++
			}
		}
	}
	return n
}

func (p *planned) order(declared bool) error {
	var err error
	p.waits, p.recorded, err = order(p.scope, declared)
	if n := p.relaxed(); n > 0 && err == nil {
		p.notices = append(p.notices, fmt.Sprintf("DependsOn not waited for, since what has it needs no route: %d (aggressive-vpc-parallel: false waits)", n))
	}
	return err
}

// order is the one in which a template's resources are made, and the one that is
// recorded.
func order(s *template.Scope, declared bool) (waits, recorded graph.Edges, err error) {
	var resources []graph.Resource
	for _, r := range s.Resources() {
		g := graph.Resource{LogicalID: r.LogicalID, Type: r.Type, Properties: r.Properties}
		for _, ref := range s.References(r.LogicalID) {
			if ref.DependsOn {
				g.DependsOn = add(g.DependsOn, ref.LogicalID)
			} else {
				g.References = add(g.References, ref.LogicalID)
			}
		}
		resources = append(resources, g)
	}
	return graph.Creation(resources, declared)
}

// route decides, for every resource, which layer provisions it, and refuses
// before anything is touched what none can.
func (p *planned) route(d *deployment, desired []plan.Resource, record *state.Record) error {
	var wants []provider.Want
	for _, r := range desired {
		w := provider.Want{LogicalID: r.LogicalID, Type: r.Type, Properties: r.Properties, Mutating: true, Layer: d.opt.layer(d.t, r.LogicalID)}
		if row := record.Row(r.LogicalID); row != nil && row.ResourceType == r.Type {
			w.Recorded, w.Exists, w.Had = row.ProvisionedBy, true, row.Properties
		}
		wants = append(wants, w)
	}
	decisions, err := d.router.Preflight(wants)
	if err != nil {
		return err
	}
	for i, d := range decisions {
		p.decisions[wants[i].LogicalID] = d
		p.warnings = append(p.warnings, d.Warnings...)
		p.notices = append(p.notices, d.Notices...)
	}
	return nil
}

func (p *planned) outputs(ctx context.Context) ([]plan.Output, error) {
	var all []plan.Output
	for _, o := range p.scope.Outputs() {
		v, export, unresolved, err := p.scope.PreviewOutput(ctx, o.Name)
		out := plan.Output{Name: o.Name, Value: v, Unresolved: unresolved, Exported: o.ExportName != nil, ExportName: export}
		switch {
		case err != nil:
			// Whether an output can be told is decided when it is needed: after
			// the deploy. A plan shows it as it is written.
			out.Value, out.Unresolved = o.Value, true
			p.warnings = append(p.warnings, fmt.Sprintf("output %s: %v", o.Name, err))
		case o.ExportName != nil && export == "":
			out.ExportUnresolved = true
		}
		if text, ok := out.Value.(string); ok && text == secret.Masked {
			out.Secret = true
		}
		if export != "" {
			if p.feeds == nil {
				p.feeds = map[string][]string{}
			}
			p.feeds[export] = graph.Mentioned(o.Value)
		}
		for _, id := range graph.Mentioned(o.Value) {
			out.References = append(out.References, plan.Reference{LogicalID: id})
		}
		all = append(all, out)
	}
	return all, nil
}

// changing tells whether carrying the plan out changes anything but outputs.
func (p *planned) changing() bool {
	for _, c := range p.Changes {
		if c.Action != plan.NoChange {
			return true
		}
	}
	return false
}
