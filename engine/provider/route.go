package provider

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A Router chooses the layer that provisions a resource. The SDK is the first
// choice, Cloud Control the second: for types without a description, and for a
// resource that uses a property which its description does not handle.
//
// What was made through Cloud Control stays there, as ids and behaviour may
// differ, but for the types listed here. It makes no calls.
type Router struct {
	RouterOptions
	// Described are types that only AWS knows, as it describes them: those younger
	// than the embedded schemas, and what an account has of others.
	Described map[string]Description

	cloud, custom Provider
	own           map[string]Provider
	types         map[string]*Driver
	coverage      sync.Map // type → []string
}

// A Description is what AWS says of a type.
type Description struct {
	Schema *schema.Type // nil when it could not be read
	Refuse string       // why it cannot be managed; "" when it can, or there is no telling
}

// RouterOptions are a person's choices.
type RouterOptions struct {
	// AllowProperties are properties, by type, to leave out rather than to send
	// the resource to Cloud Control for.
	AllowProperties map[string][]string
	// AllowTypes are types to try with Cloud Control although it refuses them.
	AllowTypes []string
	// PinCloudControl keeps resources on Cloud Control that could come back.
	PinCloudControl bool
}

// NewRouter returns a router over the types described, Cloud Control, and the
// engine's own types (nested stacks) by name.
func NewRouter(o RouterOptions, cloud, custom Provider, own map[string]Provider, types []Resource) *Router {
	r := &Router{RouterOptions: o, cloud: cloud, custom: custom, own: own, types: map[string]*Driver{}}
	for _, t := range types {
		r.types[t.Type] = Drive(t, cloud)
	}
	return r
}

// Types that come back from Cloud Control to the SDK in place, which needs the
// same physical id in both.
var (
	// A schedule in a group cannot be addressed through Cloud Control: updates
	// fail, deletes do nothing and say nothing.
	wrongOnCloudControl = []string{"AWS::Scheduler::Schedule"}
	// Slower there, and a removed attribute keeps its value.
	betterOnSDK = []string{"AWS::ElasticLoadBalancingV2::Listener"}
)

// A Want is a resource to be routed.
type Want struct {
	LogicalID, Type string
	Properties      *value.Object // may hold intrinsic functions
	Had             *value.Object // what the record has, nil for a new resource
	// Recorded is the record's ProvisionedBy; Exists that there is a row.
	Recorded string
	Exists   bool
	// Mutating is set when the deploy changes anything.
	Mutating bool
	// Layer, when not "", is the layer asked for by a recreate flag.
	Layer string
}

// A Decision is where a resource goes.
type Decision struct {
	// Provider is nil when the type needs none (CDK metadata).
	Provider Provider
	// Direct is set for a provider that must not be wrapped by Retrying.
	Direct bool
	Route  plan.Route
	// Dropped are properties, as dotted paths, that a person allowed to be left
	// out: they are not sent, and so neither recorded nor compared.
	Dropped []string
	// Notices are lines for the log; Warnings for the annotations too.
	Notices, Warnings []string
}

// Route decides one resource. The error is an *Unroutable, an
// *UnknownPropertyError or a *MistypedError.
func (r *Router) Route(w Want) (Decision, error) {
	d, err := r.route(w)
	driver := r.types[w.Type]
	if err != nil || driver == nil || d.Route.ProvisionedBy != state.BySDK {
		return d, err // Cloud Control knows its types better than we do
	}
	var unknown []string
	for _, name := range driver.Unknown(w.Properties) {
		if slices.Contains(r.AllowProperties[w.Type], name) {
			d.Dropped = append(d.Dropped, name)
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s: %s has no property %s; it is not sent", w.LogicalID, w.Type, name))
		} else {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return d, &UnknownPropertyError{LogicalID: w.LogicalID, Type: w.Type, Properties: unknown}
	}
	if typ, ok := schema.Lookup(w.Type); ok {
		if faults := mistyped(typ, Without(w.Properties, d.Dropped), w.Had); faults != nil {
			return d, &MistypedError{LogicalID: w.LogicalID, Type: w.Type, Faults: faults}
		}
	}
	return d, nil
}

// Unsent lists the paths in recorded properties that the SDK provider of a type
// was never told of: what the type does not have, and what a person allows to be
// left out. Another engine, or an earlier release, may have recorded them.
func (r *Router) Unsent(typeName string, recorded *value.Object) []string {
	driver := r.types[typeName]
	if driver == nil {
		return nil
	}
	typ, _ := schema.Lookup(typeName)
	_, left := r.unhandled(Want{Type: typeName, Properties: recorded}, driver, typ)
	return append(driver.Unknown(recorded), left...)
}

func (r *Router) route(w Want) (Decision, error) {
	if d, ok := r.engineOwn(w.Type); ok {
		return d, nil
	}
	driver := r.types[w.Type]
	typ, _ := schema.Lookup(w.Type)
	unhandled, dropped := r.unhandled(w, driver, typ)
	d := Decision{Dropped: dropped}
	if len(dropped) > 0 {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s (%s): %s will not be sent: not supported, and allowed to be left out", w.LogicalID, w.Type, strings.Join(dropped, ", ")))
	}
	onCloud := w.Exists && w.Recorded == state.ByCloudControl
	switch {
	case w.Layer == state.ByCloudControl:
		return r.toCloud(w, d, unhandled, typ)
	case w.Layer == state.BySDK && driver != nil && len(unhandled) == 0:
		return d.bySDK(driver), nil
	case driver == nil:
		d, err := r.toCloud(w, d, nil, typ)
		if w.Exists && !onCloud {
			// Another engine's SDK provider made it: its id is in that one's form,
			// and the record says so for as long as it lives.
			d.Route.ProvisionedBy = state.BySDK
		}
		return d, err
	case onCloud && slices.Contains(wrongOnCloudControl, w.Type):
		d.Notices = append(d.Notices, fmt.Sprintf("%s (%s) returns to the SDK: Cloud Control cannot address it", w.LogicalID, w.Type))
		return d.returning(driver, r.cloud), nil
	case onCloud && slices.Contains(betterOnSDK, w.Type) && len(unhandled) == 0 && w.Mutating && !r.PinCloudControl:
		d.Notices = append(d.Notices, fmt.Sprintf("%s (%s) returns to the SDK, which handles every property it uses", w.LogicalID, w.Type))
		return d.returning(driver, r.cloud), nil
	case onCloud:
		d.Route.Sticky = len(unhandled) == 0
		return r.toCloud(w, d, unhandled, typ)
	case len(unhandled) > 0 && driver.res.SDKOnly != "":
		return d, &Unroutable{LogicalID: w.LogicalID, Type: w.Type, Properties: unhandled, Reason: driver.res.SDKOnly}
	case len(unhandled) > 0:
		d.Notices = append(d.Notices, fmt.Sprintf("%s (%s) goes through Cloud Control: the SDK provider does not handle %s (to leave them out instead: allow-unsupported-properties %s)",
			w.LogicalID, w.Type, strings.Join(unhandled, ", "), w.Type+":"+strings.Join(unhandled, " "+w.Type+":")))
		return r.toCloud(w, d, unhandled, typ)
	}
	return d.bySDK(driver), nil
}

// Recorded returns the provider that a recorded resource is deleted, read and
// rolled back by.
func (r *Router) Recorded(logicalID, typeName, provisionedBy string) (Decision, error) {
	if d, ok := r.engineOwn(typeName); ok {
		return d, nil
	}
	driver := r.types[typeName]
	if driver != nil && (provisionedBy != state.ByCloudControl || slices.Contains(wrongOnCloudControl, typeName)) {
		return Decision{}.bySDK(driver), nil
	}
	typ, _ := schema.Lookup(typeName)
	d, err := r.toCloud(Want{LogicalID: logicalID, Type: typeName}, Decision{}, nil, typ)
	if provisionedBy == state.ByCloudControl && !strings.HasPrefix(typeName, "AWS::") {
		err = nil // it made it, and a destroy does not ask what the account has
	}
	return d, err
}

// Schema finds the schema of a type: an embedded one, or what AWS says.
func (r *Router) Schema(typeName string) (*schema.Type, bool) {
	if t, ok := schema.Lookup(typeName); ok {
		return t, true
	}
	t := r.Described[typeName].Schema
	return t, t != nil
}

// others are the names of types that are not of AWS.
var others = regexp.MustCompile(`^[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}$`)

// Unknown tells whether only AWS can say if there is a type: no layer knows it,
// and it has the form of one.
func (r *Router) Unknown(typeName string) bool {
	if _, ok := r.engineOwn(typeName); ok || r.types[typeName] != nil || slices.Contains(r.AllowTypes, typeName) {
		return false
	}
	_, known := schema.Lookup(typeName)
	return !known && (strings.HasPrefix(typeName, "AWS::") || others.MatchString(typeName))
}

// Driver returns the SDK provider of a type, nil if it has none.
func (r *Router) Driver(typeName string) *Driver { return r.types[typeName] }

func (r *Router) engineOwn(typeName string) (Decision, bool) {
	d := Decision{Direct: true, Route: plan.Route{ProvisionedBy: state.BySDK}}
	switch {
	case typeName == "AWS::CDK::Metadata":
	case strings.HasPrefix(typeName, "Custom::"), typeName == "AWS::CloudFormation::CustomResource":
		d.Provider = r.custom
	case typeName == "AWS::CloudFormation::WaitConditionHandle":
		d.Provider = waitHandle{}
	case r.own[typeName] != nil:
		d.Provider = r.own[typeName]
	default:
		return Decision{}, false
	}
	return d, true
}

func (d Decision) bySDK(driver *Driver) Decision {
	d.Provider = driver
	d.Route.ProvisionedBy = state.BySDK
	return d
}

func (d Decision) returning(driver *Driver, cloud Provider) Decision {
	d.Provider = &returning{Driver: driver, cloud: cloud}
	d.Route = plan.Route{ProvisionedBy: state.BySDK, Returning: true}
	return d
}

func (r *Router) toCloud(w Want, d Decision, unhandled []string, typ *schema.Type) (Decision, error) {
	d.Provider = r.cloud
	d.Route.ProvisionedBy = state.ByCloudControl
	d.Route.Unhandled = unhandled
	if slices.Contains(r.AllowTypes, w.Type) {
		return d, nil
	}
	reason := ""
	switch {
	case typ != nil && !typ.Provisionable:
		reason = "Cloud Control cannot manage it"
	case typ == nil && r.Described[w.Type] != (Description{}):
		reason = r.Described[w.Type].Refuse
	case !strings.HasPrefix(w.Type, "AWS::"):
		reason = "it is not a type of AWS"
	}
	if reason != "" {
		return d, &Unroutable{LogicalID: w.LogicalID, Type: w.Type, Properties: unhandled, Reason: reason}
	}
	return d, nil
}

// unhandled lists what a resource uses and its description does not handle,
// and what of that a person allowed to be dropped.
func (r *Router) unhandled(w Want, driver *Driver, typ *schema.Type) (unhandled, dropped []string) {
	if driver == nil || typ == nil {
		return nil, nil
	}
	missing, ok := r.coverage.Load(w.Type)
	if !ok {
		missing, _ = r.coverage.LoadOrStore(w.Type, driver.res.Coverage(typ).Unhandled)
	}
	allowed := r.AllowProperties[w.Type]
	paths := used(missing.([]string), w.Properties)
	if recast := driver.res.Recast; recast != nil {
		paths = append(paths, recast.Beyond(w.Properties)...)
	}
	for _, p := range paths {
		top, _, _ := strings.Cut(p, ".")
		if slices.Contains(allowed, p) || slices.Contains(allowed, top) {
			dropped = append(dropped, p)
		} else {
			unhandled = append(unhandled, p)
		}
	}
	return unhandled, dropped
}
