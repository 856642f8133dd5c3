package template

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// LanguageExtensions is the one transform that is evaluated here.
const LanguageExtensions = "AWS::LanguageExtensions"

// MetadataType is the type of CDK's own usage marker. It takes part in nothing.
const MetadataType = "AWS::CDK::Metadata"

const loopPrefix = "Fn::ForEach::"

// Parse reads a template. A template that is not valid gives a *Faults with
// all that is wrong with it.
func Parse(name string, body []byte) (*Template, error) {
	faults := &Faults{Template: name}
	v, err := value.Parse(body)
	if err != nil {
		err = fmt.Errorf("not JSON: %w", err)
		if first := bytes.TrimSpace(body); len(first) > 0 && first[0] != '{' && bytes.ContainsRune(first, ':') {
			err = fmt.Errorf("%w; if it is YAML, which CDK does not write, convert it to JSON", err)
		}
		faults.addError("", err)
		return nil, faults
	}
	o, ok := v.(*value.Object)
	if !ok {
		faults.add("", "want a JSON object, got %s", value.Kind(v))
		return nil, faults
	}
	t := build(name, o, faults)
	if err := faults.err(); err != nil {
		return nil, err
	}
	return t, nil
}

// build makes a Template of a body. What it cannot make sense of it leaves out
// and adds to the faults.
func build(name string, body *value.Object, faults *Faults) *Template {
	b := builder{Faults: faults, t: &Template{
		Name: name, Body: body,
		resources: map[string]*Resource{},
		outputs:   map[string]*Output{},
	}}
	b.transforms(body.Value("Transform"))
	for _, section := range []string{"Resources", "Outputs", "Conditions"} {
		loops := hasLoops(body.Value(section))
		if loops && !b.t.extended() {
			b.add("", "Fn::ForEach needs \"Transform\": %q", LanguageExtensions)
		}
		b.t.unwritten = b.t.unwritten || loops || b.t.extended() && hasComputedNames(body.Value(section))
	}
	for id, v := range b.section("Parameters").All() {
		b.parameter(id, v)
	}
	b.t.Mappings = b.mappings()
	b.t.Conditions = b.section("Conditions")
	for id, v := range b.section("Resources").All() {
		b.resource(id, v)
	}
	for id, v := range b.section("Outputs").All() {
		b.output(id, v)
	}
	b.check()
	return b.t
}

type builder struct {
	*Faults
	t *Template
}

// section returns a part of the template that has to be an object.
func (b *builder) section(name string) *value.Object {
	v, ok := b.t.Body.Get(name)
	if !ok {
		return nil
	}
	o, ok := v.(*value.Object)
	if !ok {
		b.add(name, "want an object, got %s", value.Kind(v))
	}
	return o
}

func (b *builder) transforms(v any) {
	list, ok := v.([]any)
	if !ok && v != nil {
		list = []any{v}
	}
	for _, item := range list {
		name, ok := item.(string)
		if o, isObject := item.(*value.Object); isObject {
			name, ok = o.String("Name"), o.String("Name") != ""
		}
		if !ok {
			b.add("Transform", "want the name of a macro, got %s", value.Kind(item))
			continue
		}
		b.t.Transform = append(b.t.Transform, name)
	}
}

func (b *builder) parameter(name string, v any) {
	at := "Parameters." + name
	o, ok := v.(*value.Object)
	if !ok {
		b.add(at, "want an object, got %s", value.Kind(v))
		return
	}
	p := &Parameter{Name: name, Type: o.String("Type"), Default: o.Value("Default"), Declaration: o}
	switch {
	case p.Type == "":
		b.add(at, "a parameter needs a Type")
	case !parameterType.MatchString(p.Type):
		b.add(at+".Type", "there is no parameter type %s", p.Type)
	}
	switch no := o.Value("NoEcho").(type) {
	case nil:
	case bool:
		p.NoEcho = no
	case string:
		p.NoEcho = strings.EqualFold(no, "true")
	default:
		b.add(at+".NoEcho", "want true or false, got %s", value.Kind(no))
	}
	if _, object := p.Default.(*value.Object); object {
		b.add(at+".Default", "want a string, a number or a list, got an object")
	}
	b.t.Parameters = append(b.t.Parameters, p)
}

func (b *builder) mappings() *value.Object {
	all := b.section("Mappings")
	for name, v := range all.All() {
		keys, ok := v.(*value.Object)
		if !ok {
			b.add("Mappings."+name, "want an object, got %s", value.Kind(v))
		}
		for key, v := range keys.All() {
			at := "Mappings." + name + "." + key
			members, ok := v.(*value.Object)
			if !ok {
				b.add(at, "want an object, got %s", value.Kind(v))
			}
			for member, v := range members.All() {
				b.mapped(at+"."+member, v)
			}
		}
	}
	return all
}

// mapped checks a value of a mapping, in which no function is evaluated.
func (b *builder) mapped(at string, v any) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, v := range list {
		if _, ok := value.Text(v); !ok {
			b.add(at, "want a text, a number or a list of them, got %s", value.Kind(v))
		}
	}
}

func (b *builder) resource(id string, v any) {
	if strings.HasPrefix(id, loopPrefix) {
		return
	}
	at := "Resources." + id
	o, ok := v.(*value.Object)
	if !ok {
		b.add(at, "want an object, got %s", value.Kind(v))
		return
	}
	if !alphanumeric(id) {
		b.add(at, "a logical id has only letters and digits")
	}
	r := &Resource{
		LogicalID: id, Type: o.String("Type"), Condition: o.String("Condition"),
		CreationPolicy: o.Value("CreationPolicy"), UpdatePolicy: o.Value("UpdatePolicy"),
		Metadata: o.Object("Metadata"),
	}
	if r.Type == "" {
		b.add(at, "a resource needs a Type")
	}
	if v, ok := o.Get("Properties"); ok && v != nil {
		if r.Properties, ok = v.(*value.Object); !ok {
			b.add(at+".Properties", "want an object, got %s", value.Kind(v))
		}
	}
	if v, ok := o.Get("Condition"); ok && r.Condition == "" {
		b.add(at+".Condition", "want the name of a condition, got %s", value.Kind(v))
	}
	switch d := o.Value("DependsOn").(type) {
	case nil:
	case string:
		r.DependsOn = []string{d}
	case []any:
		for _, v := range d {
			if target, ok := v.(string); ok {
				r.DependsOn = append(r.DependsOn, target)
			} else {
				b.add(at+".DependsOn", "want logical ids, got %s", value.Kind(v))
			}
		}
	default:
		b.add(at+".DependsOn", "want a logical id or a list of them, got %s", value.Kind(d))
	}
	r.DeletionPolicy, r.deletionPolicy = b.policy(o, at, "DeletionPolicy", "Delete", "Retain", "RetainExceptOnCreate", "Snapshot")
	r.UpdateReplacePolicy, r.updateReplacePolicy = b.policy(o, at, "UpdateReplacePolicy", "Delete", "Retain", "Snapshot")
	b.t.Resources = append(b.t.Resources, r)
	b.t.resources[id] = r
}

func (b *builder) policy(o *value.Object, at, name string, allowed ...string) (text string, function any) {
	switch v := o.Value(name).(type) {
	case nil:
	case string:
		if !slices.Contains(allowed, v) {
			b.add(at+"."+name, "want one of %s, got %q", strings.Join(allowed, ", "), v)
		}
		return v, nil
	case *value.Object:
		if b.t.extended() {
			return "", v
		}
		b.add(at+"."+name, "a function here needs \"Transform\": %q", LanguageExtensions)
	default:
		b.add(at+"."+name, "want one of %s, got %s", strings.Join(allowed, ", "), value.Kind(v))
	}
	return "", nil
}

func (b *builder) output(name string, v any) {
	if strings.HasPrefix(name, loopPrefix) {
		return
	}
	at := "Outputs." + name
	o, ok := v.(*value.Object)
	if !ok {
		b.add(at, "want an object, got %s", value.Kind(v))
		return
	}
	out := &Output{Name: name, Condition: o.String("Condition"), Description: o.String("Description"), Value: o.Value("Value")}
	if !o.Has("Value") {
		b.add(at, "an output needs a Value")
	}
	if v, ok := o.Get("Condition"); ok && out.Condition == "" {
		b.add(at+".Condition", "want the name of a condition, got %s", value.Kind(v))
	}
	if v, ok := o.Get("Export"); ok {
		export, isObject := v.(*value.Object)
		if out.ExportName = export.Value("Name"); !isObject || out.ExportName == nil {
			b.add(at+".Export", "an export needs a Name")
		}
	}
	b.t.Outputs = append(b.t.Outputs, out)
	b.t.outputs[name] = out
}

func (t *Template) extended() bool { return slices.Contains(t.Transform, LanguageExtensions) }

func alphanumeric(s string) bool {
	for _, c := range []byte(s) {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return s != ""
}
