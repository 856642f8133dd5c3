package cloudformation

import (
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// What follows are answers as their XML has them.

type ids struct {
	Id      string `xml:",omitempty"`
	StackId string `xml:",omitempty"`
}

type changeSetView struct {
	ChangeSetId, ChangeSetName, StackId, StackName, Status, StatusReason, ExecutionStatus string
}

type parameterView struct {
	ParameterKey, ParameterValue string
	ResolvedValue                string `xml:",omitempty"`
}

type outputView struct {
	OutputKey, OutputValue string
	ExportName             string `xml:",omitempty"`
}

type resourceView struct {
	LogicalResourceId, PhysicalResourceId, ResourceType, ResourceStatus string
	StackId, StackName                                                  string
	LastUpdatedTimestamp, Timestamp                                     string
}

type stackView struct {
	StackId, StackName, StackStatus, StackStatusReason, CreationTime string

	EnableTerminationProtection bool
	ParentId                    string          `xml:",omitempty"`
	Parameters                  []parameterView `xml:"Parameters>member"`
	Outputs                     []outputView    `xml:"Outputs>member"`
	Capabilities                []string        `xml:"Capabilities>member"`
}

const when = "2026-01-01T00:00:00Z"

func (c call) describeStacks() (any, error) {
	name := c.form.Get("StackName")
	out := struct {
		Stacks []stackView `xml:"Stacks>member"`
	}{}
	for _, k := range c.stacks {
		if k.Region != c.region || name == "" && k.Status == "DELETE_COMPLETE" || name != "" && k != c.find(c.region, name) {
			continue
		}
		v := stackView{StackId: k.ID, StackName: k.Name, StackStatus: k.Status, StackStatusReason: k.Reason, CreationTime: when,
			EnableTerminationProtection: k.Protected, ParentId: k.Parent, Capabilities: []string{"CAPABILITY_NAMED_IAM"}}
		declared := section(k.template, "Parameters")
		for _, p := range sorted(k.Parameters) {
			text := k.Parameters[p]
			if noEcho, _ := value.Text(declared[p].Value("NoEcho")); noEcho == "true" {
				text = "****"
			}
			v.Parameters = append(v.Parameters, parameterView{p, text, k.stored[p]})
		}
		for id, o := range section(k.template, "Outputs") {
			v.Outputs = append(v.Outputs, outputView{id, c.text(k, o.Value("Value")), c.text(k, o.Object("Export").Value("Name"))})
		}
		slices.SortFunc(v.Outputs, func(a, b outputView) int { return strings.Compare(a.OutputKey, b.OutputKey) })
		out.Stacks = append(out.Stacks, v)
	}
	if name != "" && out.Stacks == nil {
		return nil, invalid("Stack with id %s does not exist", name)
	}
	return out, nil
}

func (c call) listStacks() (any, error) {
	type summary struct{ StackId, StackName, StackStatus, CreationTime string }
	out := struct {
		Stacks []summary `xml:"StackSummaries>member"`
	}{}
	var wanted []string
	for _, m := range c.members("StackStatusFilter") {
		wanted = append(wanted, m[""])
	}
	for _, k := range c.stacks {
		if k.Region == c.region && (wanted == nil || slices.Contains(wanted, k.Status)) {
			out.Stacks = append(out.Stacks, summary{k.ID, k.Name, k.Status, when})
		}
	}
	return out, nil
}

// text is a value as far as it can be told without the resources: of an
// attribute it says which one it is.
func (c call) text(k *Stack, v any) string {
	if text, ok := value.Text(v); ok {
		return text
	}
	o, _ := v.(*value.Object)
	switch function, arg, _ := o.Sole(); function {
	case "Ref":
		id, _ := arg.(string)
		if text, ok := k.Parameters[id]; ok {
			return text
		}
		for _, r := range k.Resources {
			if r.LogicalID == id {
				return r.PhysicalID
			}
		}
	case "Fn::GetAtt":
		return value.JSON(arg)
	}
	return ""
}

func (c call) resources() (all []resourceView, err error) {
	k, err := c.holder()
	if err != nil {
		return nil, err
	}
	logicalID := c.form.Get("LogicalResourceId")
	for _, r := range k.Resources {
		if logicalID == "" || logicalID == r.LogicalID {
			all = append(all, resourceView{r.LogicalID, r.PhysicalID, r.Type, r.Status, k.ID, k.Name, when, when})
		}
	}
	if all == nil && logicalID != "" {
		return nil, invalid("Resource %s does not exist for stack %s", logicalID, k.Name)
	}
	return all, nil
}

// holder is the stack that a call names, or that has the resource which it names.
func (c call) holder() (*Stack, error) {
	physicalID := c.form.Get("PhysicalResourceId")
	if physicalID == "" {
		return c.existing(c.region, c.form.Get("StackName"))
	}
	for _, k := range slices.Backward(c.stacks) {
		has := func(r Resource) bool { return r.PhysicalID == physicalID }
		if k.Region == c.region && slices.ContainsFunc(k.Resources, has) {
			return k, nil
		}
	}
	return nil, invalid("Stack for %s does not exist", physicalID)
}

func (c call) describeResources() (any, error) {
	all, err := c.resources()
	return struct {
		All []resourceView `xml:"StackResources>member"`
	}{all}, err
}

func (c call) listResources() (any, error) {
	all, err := c.resources()
	return struct {
		All []resourceView `xml:"StackResourceSummaries>member"`
	}{all}, err
}

func (c call) getTemplate() (any, error) {
	k, err := c.existing(c.region, c.form.Get("StackName"))
	if err != nil {
		return nil, err
	}
	return struct{ TemplateBody string }{k.Body}, nil
}

func (c call) summary() (any, error) {
	_, template, err := c.document()
	if err != nil {
		return nil, err
	}
	type identifier struct {
		ResourceType string
		Logical      []string `xml:"LogicalResourceIds>member"`
		Identifiers  []string `xml:"ResourceIdentifiers>member"`
	}
	byType := map[string]*identifier{}
	resources := section(template, "Resources")
	for _, id := range sorted(resources) {
		typ := resources[id].String("Type")
		keys := c.identifiers(typ)
		if keys == nil {
			continue
		}
		if byType[typ] == nil {
			byType[typ] = &identifier{ResourceType: typ, Identifiers: keys}
		}
		byType[typ].Logical = append(byType[typ].Logical, id)
	}
	out := struct {
		All []identifier `xml:"ResourceIdentifierSummaries>member"`
	}{}
	for _, typ := range sorted(byType) {
		out.All = append(out.All, *byType[typ])
	}
	return out, nil
}

type export struct {
	ExportingStackId, Name, Value string
}

func (c call) exportsOf(k *Stack) (all []export) {
	outputs := section(k.template, "Outputs")
	for _, id := range sorted(outputs) {
		if name := c.text(k, outputs[id].Object("Export").Value("Name")); name != "" {
			all = append(all, export{k.ID, name, c.text(k, outputs[id].Value("Value"))})
		}
	}
	return all
}

func (c call) listExports() (any, error) {
	out := struct {
		All []export `xml:"Exports>member"`
	}{}
	for _, k := range c.stacks {
		if k.Region == c.region && k.Status != "DELETE_COMPLETE" {
			out.All = append(out.All, c.exportsOf(k)...)
		}
	}
	return out, nil
}

// importersOf are the stacks that import an export.
func (c call) importersOf(name string) (stacks []string) {
	for _, k := range c.stacks {
		if k.Region != c.region || k.Status == "DELETE_COMPLETE" {
			continue
		}
		if imports(k.template, func(v any) bool { return c.text(k, v) == name }) {
			stacks = append(stacks, k.Name)
		}
	}
	return stacks
}

func imports(v any, is func(any) bool) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, func(m any) bool { return imports(m, is) })
	case *value.Object:
		if function, arg, _ := v.Sole(); function == "Fn::ImportValue" && is(arg) {
			return true
		}
		for _, m := range v.All() {
			if imports(m, is) {
				return true
			}
		}
	}
	return false
}

func (c call) listImports() (any, error) {
	name := c.form.Get("ExportName")
	users := c.importersOf(name)
	if users == nil {
		return nil, invalid("Export '%s' is not imported by any stack.", name)
	}
	return struct {
		Imports []string `xml:"Imports>member"`
	}{users}, nil
}
