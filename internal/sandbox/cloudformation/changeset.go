package cloudformation

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// A changeSet is an import that has been asked for.
type changeSet struct {
	id, name       string
	stack          *Stack
	status, reason string
	body           string
	template       *value.Object
	parameters     map[string]string
	imports        []imported
}

type imported struct {
	Resource
	identifier map[string]string
}

func (c call) createChangeSet() (any, error) {
	if c.form.Get("ChangeSetType") != "IMPORT" {
		return nil, invalid("the sandbox makes change sets of imports only")
	}
	text, template, err := c.document()
	if err != nil {
		return nil, err
	}
	k := c.find(c.region, c.form.Get("StackName"))
	if k == nil {
		k = &Stack{Name: c.form.Get("StackName"), Region: c.region, Status: "REVIEW_IN_PROGRESS", template: &value.Object{}}
		k.ID = c.id("stack", k.Name)
		defer func() {
			if err == nil {
				c.stacks = append(c.stacks, k)
			}
		}()
	}
	if strings.HasSuffix(k.Status, "_IN_PROGRESS") && k.Status != "REVIEW_IN_PROGRESS" {
		err = invalid("Stack:%s is in %s state and can not be updated.", k.ID, k.Status)
		return nil, err
	}
	set := &changeSet{name: c.form.Get("ChangeSetName"), stack: k, status: "CREATE_COMPLETE", body: text, template: template}
	set.id = c.id("changeSet", set.name)
	for _, other := range c.sets {
		if other.stack == k && other.name == set.name {
			err = &Error{"AlreadyExistsException", "ChangeSet " + set.name + " cannot be created due to a mismatch with existing attribute Template"}
			return nil, err
		}
	}
	if set.parameters, err = c.parameters(template, k.Parameters); err != nil {
		return nil, err
	}
	if set.imports, err = c.imports(k, template); err != nil {
		return nil, err
	}
	if err = onlyImports(k, set); err != nil {
		return nil, err
	}
	c.sets[set.id] = set
	return ids{Id: set.id, StackId: k.ID}, nil
}

// imports reads what is to be imported, and checks it.
func (c call) imports(k *Stack, template *value.Object) (all []imported, err error) {
	resources := section(template, "Resources")
	for _, m := range c.members("ResourcesToImport") {
		i := imported{Resource{LogicalID: m["LogicalResourceId"], Type: m["ResourceType"], Status: "IMPORT_COMPLETE"}, map[string]string{}}
		var keys []string
		for name, v := range m {
			if strings.HasPrefix(name, "ResourceIdentifier.entry.") && strings.HasSuffix(name, ".key") {
				keys = append(keys, v)
				i.identifier[v] = m[strings.TrimSuffix(name, "key")+"value"]
			}
		}
		slices.Sort(keys)
		r := resources[i.LogicalID]
		want := c.identifiers(i.Type)
		switch {
		case r == nil || r.String("Type") != i.Type:
			return nil, invalid("Resources [%s] to import are not in the template", i.LogicalID)
		case want == nil:
			return nil, invalid("ResourceTypes [%s] are not supported for Import", i.Type)
		case !slices.Equal(keys, slices.Sorted(slices.Values(want))):
			return nil, invalid("Resource identifier for %s must have the keys [%s]", i.LogicalID, strings.Join(want, ", "))
		case !r.Has("DeletionPolicy"):
			return nil, invalid("Resources [%s] to import must have DeletionPolicy attribute specified in the template.", i.LogicalID)
		}
		if address := r.Object("Properties").String("TemplateURL"); i.Type == nestedType && !c.reads(address) {
			return nil, invalid("TemplateURL of %s must reference a valid S3 object to which you have access: %s", i.LogicalID, address)
		}
		var parts []string
		for _, key := range want {
			if i.identifier[key] == "" {
				return nil, invalid("Resource identifier %s of %s is empty", key, i.LogicalID)
			}
			parts = append(parts, i.identifier[key])
		}
		i.PhysicalID = strings.Join(parts, "|")
		for _, other := range c.stacks {
			if other.Status != "DELETE_COMPLETE" && slices.ContainsFunc(other.Resources, func(r Resource) bool { return r.Type == i.Type && r.PhysicalID == i.PhysicalID }) {
				return nil, invalid("Resource %s already exists in stack %s", i.PhysicalID, other.ID)
			}
		}
		all = append(all, i)
	}
	if all == nil {
		return nil, invalid("ResourcesToImport must be specified for an import")
	}
	return all, nil
}

// reads tells whether there is an object at an address that has its bucket in the
// path.
func (c call) reads(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	_, ok := c.o.Object(bucket, key)
	return ok
}

const nestedType = "AWS::CloudFormation::Stack"

// identifiers are the keys by which resources of a type are imported, nil for a
// type that cannot be.
func (s *Server) identifiers(typ string) []string {
	if typ == nestedType {
		return []string{"StackId"}
	}
	t, ok := s.o.Types(typ)
	if !ok || strings.HasPrefix(typ, "AWS::CloudFormation::") || strings.HasPrefix(typ, "AWS::CDK::") {
		return nil
	}
	// Types from before the registry have a made-up identifier. A few others are
	// only not the engine's to leave to Cloud Control.
	if !t.Provisionable && slices.Equal(t.PrimaryIdentifier, []string{"Id"}) {
		return nil
	}
	return t.PrimaryIdentifier
}

// onlyImports refuses a template that changes what the stack has.
func onlyImports(k *Stack, set *changeSet) error {
	before, after := section(k.template, "Resources"), section(set.template, "Resources")
	for _, id := range sorted(after) {
		isImport := slices.ContainsFunc(set.imports, func(i imported) bool { return i.LogicalID == id })
		switch old := before[id]; {
		case old == nil && !isImport:
			return invalid("As part of the import operation, you cannot modify or add [Resources]: %s", id)
		case old != nil && isImport:
			return invalid("Resource %s is in the stack already", id)
		case old != nil && !value.Equal(old, after[id]):
			return invalid("As part of the import operation, you cannot modify or add [Resources]: %s", id)
		}
	}
	for _, id := range sorted(before) {
		if after[id] == nil {
			return invalid("As part of the import operation, you cannot delete [Resources]: %s", id)
		}
	}
	if !value.Equal(orEmpty(k.template.Object("Outputs")), orEmpty(set.template.Object("Outputs"))) {
		return invalid("As part of the import operation, you cannot modify or add [Outputs]")
	}
	return nil
}

func orEmpty(o *value.Object) *value.Object {
	if o == nil {
		return &value.Object{}
	}
	return o
}

func (c call) set() (*changeSet, error) {
	name := c.form.Get("ChangeSetName")
	for _, set := range c.sets {
		if set.id == name || set.name == name && set.stack == c.find(c.region, c.form.Get("StackName")) {
			return set, nil
		}
	}
	return nil, &Error{"ChangeSetNotFound", "ChangeSet [" + name + "] does not exist"}
}

func (c call) describeChangeSet() (any, error) {
	set, err := c.set()
	if err != nil {
		return nil, err
	}
	return changeSetView{ChangeSetId: set.id, ChangeSetName: set.name, StackId: set.stack.ID, StackName: set.stack.Name, Status: set.status, StatusReason: set.reason, ExecutionStatus: "AVAILABLE"}, nil
}

func (c call) deleteChangeSet() (any, error) {
	if set, err := c.set(); err == nil {
		delete(c.sets, set.id)
	}
	return nil, nil
}

func (c call) executeChangeSet() (any, error) {
	set, err := c.set()
	if err != nil {
		return nil, err
	}
	k := set.stack
	maps.DeleteFunc(c.sets, func(_ string, other *changeSet) bool { return other.stack == k })
	for _, i := range set.imports {
		exists := c.o.Exists(c.ctx, c.region, i.Type, i.identifier)
		if i.Type == nestedType {
			child := c.find(c.region, i.PhysicalID)
			exists = child != nil && child.Status != "DELETE_COMPLETE" && child.Parent == ""
		}
		if !exists {
			k.Status, k.Reason = "IMPORT_ROLLBACK_COMPLETE", "Resource "+i.LogicalID+" of type '"+i.Type+"' with identifier '"+i.PhysicalID+"' was not found."
			return nil, nil
		}
	}
	for _, i := range set.imports {
		if i.Type == nestedType {
			c.find(c.region, i.PhysicalID).Parent = k.ID
		}
		k.Resources = append(k.Resources, i.Resource)
	}
	k.Status, k.Reason, k.Body, k.template, k.Parameters = "IMPORT_COMPLETE", "", set.body, set.template, set.parameters
	return nil, nil
}
