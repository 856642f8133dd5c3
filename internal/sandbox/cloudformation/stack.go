package cloudformation

import (
	"encoding/xml"
	"net/url"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

func (c call) protect() (any, error) {
	k, err := c.existing(c.region, c.form.Get("StackName"))
	if err != nil {
		return nil, err
	}
	k.Protected = c.form.Get("EnableTerminationProtection") == "true"
	return ids{StackId: k.ID}, nil
}

// update changes a stack. What makes or changes resources is the upstream's, as
// long as that has the stack.
func (c call) update() (any, error) {
	k, err := c.existing(c.region, c.form.Get("StackName"))
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(k.Status, "_IN_PROGRESS") || k.Status == "ROLLBACK_COMPLETE" || k.Status == "DELETE_COMPLETE" {
		return nil, invalid("Stack:%s is in %s state and can not be updated.", k.ID, k.Status)
	}
	text, template, err := c.document()
	if err != nil {
		return nil, err
	}
	parameters, err := c.parameters(template, k.Parameters)
	if err != nil {
		return nil, err
	}
	if needsConsent(template) && !slices.ContainsFunc(c.members("Capabilities"), func(m map[string]string) bool { return strings.Contains(m[""], "IAM") }) {
		return nil, &Error{"InsufficientCapabilitiesException", "Requires capabilities : [CAPABILITY_NAMED_IAM]"}
	}
	if value.Equal(k.template, template) && sameValues(k.Parameters, parameters) {
		return nil, invalid("No updates are to be performed.")
	}
	before, after := section(k.template, "Resources"), section(template, "Resources")
	if k.upstream && !samePlain(before, after, k.Parameters, parameters) {
		return c.updateUpstream(k, text)
	}
	for _, id := range sorted(before) {
		if after[id] == nil && !keeps(before[id]) {
			return nil, invalid("the sandbox deletes no resources of stacks, and %s would be", id)
		}
	}
	k.Resources = slices.DeleteFunc(k.Resources, func(r Resource) bool { return after[r.LogicalID] == nil })
	for _, id := range sorted(after) {
		if before[id] != nil {
			continue
		}
		c.n++
		k.Resources = append(k.Resources, Resource{id, after[id].String("Type"), k.Name + "-" + id, "CREATE_COMPLETE"})
		k.Created = append(k.Created, id)
	}
	k.Status, k.Reason, k.Body, k.template, k.Parameters = "UPDATE_COMPLETE", "", text, template, parameters
	return ids{StackId: k.ID}, nil
}

// needsConsent tells whether a template has what CAPABILITY_IAM is about.
func needsConsent(o *value.Object) bool {
	for _, r := range section(o, "Resources") {
		if strings.HasPrefix(r.String("Type"), "AWS::IAM::") {
			return true
		}
	}
	return false
}

func sameValues(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// samePlain tells whether an update changes nothing of resources but what
// CloudFormation alone looks at.
func samePlain(before, after map[string]*value.Object, p, q map[string]string) bool {
	if len(before) != len(after) || !sameValues(p, q) {
		return false
	}
	for id, old := range before {
		if after[id] == nil || !value.Equal(plain(old), plain(after[id])) {
			return false
		}
	}
	return true
}

func plain(r *value.Object) *value.Object {
	r = r.Clone()
	for _, attribute := range []string{"DeletionPolicy", "UpdateReplacePolicy", "Metadata"} {
		r.Delete(attribute)
	}
	return r
}

func keeps(r *value.Object) bool {
	return strings.HasPrefix(r.String("DeletionPolicy"), "Retain")
}

// delete deletes a stack. The resources that it would delete are the upstream's
// to delete.
func (c call) delete() (any, error) {
	k := c.find(c.region, c.form.Get("StackName"))
	if k == nil || k.Status == "DELETE_COMPLETE" {
		return nil, nil
	}
	return nil, c.remove(k)
}

func (c call) remove(k *Stack) error {
	if k.Protected {
		return invalid("Stack [%s] cannot be deleted while TerminationProtection is enabled", k.Name)
	}
	if strings.HasSuffix(k.Status, "_IN_PROGRESS") && k.Status != "REVIEW_IN_PROGRESS" {
		return invalid("Stack [%s] cannot be deleted while in status %s", k.Name, k.Status)
	}
	for _, o := range c.exportsOf(k) {
		if users := c.importersOf(o.Name); len(users) > 0 {
			k.Status, k.Reason = "DELETE_FAILED", "Cannot delete export "+o.Name+" as it is in use by "+strings.Join(users, ", ")+"."
			return nil
		}
	}
	resources := section(k.template, "Resources")
	var gone []string
	for _, r := range k.Resources {
		if keeps(resources[r.LogicalID]) {
			continue
		}
		if child := c.find(c.region, r.PhysicalID); r.Type == nestedType && child != nil {
			if err := c.remove(child); err != nil {
				return err
			}
			continue
		}
		gone = append(gone, r.LogicalID)
	}
	if gone != nil {
		if !k.upstream {
			return &Error{"NotImplemented", "the sandbox deletes no resources of stacks that began with an import: " + strings.Join(gone, ", ")}
		}
		c.o.Upstream(c.ctx, c.region, url.Values{"Action": {"DeleteStack"}, "StackName": {k.ID}, "Version": {version}})
	}
	for _, r := range k.Resources {
		if child := c.find(c.region, r.PhysicalID); r.Type == nestedType && child != nil {
			child.Parent = "" // of a stack that is gone
		}
	}
	k.Status = "DELETE_COMPLETE"
	return nil
}

const version = "2010-05-15"

// create has the upstream make a stack, and keeps what came of it.
func (c call) create() (any, error) {
	text, _, err := c.document()
	if err != nil {
		return nil, err
	}
	return c.upstream(c.form.Get("StackName"), text)
}

func (c call) updateUpstream(k *Stack, text string) (any, error) { return c.upstream(k.Name, text) }

// upstream hands a call on with the template in it, and learns of the stack.
func (c call) upstream(name, text string) (any, error) {
	form := url.Values{}
	for key, v := range c.form {
		form[key] = v
	}
	form.Del("TemplateURL")
	form.Set("TemplateBody", text)
	if body, ok := c.o.Upstream(c.ctx, c.region, form); !ok {
		return nil, invalid("%s", body)
	}
	k, err := c.learn(name)
	if err != nil {
		return nil, err
	}
	return ids{StackId: k.ID}, nil
}

// learn reads a stack from the upstream.
func (c call) learn(name string) (*Stack, error) {
	ask := func(action string, into any) error {
		body, ok := c.o.Upstream(c.ctx, c.region, url.Values{"Action": {action}, "StackName": {name}, "Version": {version}})
		if !ok {
			return invalid("%s", body)
		}
		return xml.Unmarshal(body, into)
	}
	var stacks struct {
		Stack struct {
			StackId, StackName, StackStatus string
			Parameters                      []parameterView `xml:"Parameters>member"`
		} `xml:"DescribeStacksResult>Stacks>member"`
	}
	var resources struct {
		All []resourceView `xml:"DescribeStackResourcesResult>StackResources>member"`
	}
	var template struct {
		TemplateBody string `xml:"GetTemplateResult>TemplateBody"`
	}
	for action, into := range map[string]any{"DescribeStacks": &stacks, "DescribeStackResources": &resources, "GetTemplate": &template} {
		if err := ask(action, into); err != nil {
			return nil, err
		}
	}
	k := c.find(c.region, name)
	if k == nil {
		k = &Stack{}
		c.stacks = append(c.stacks, k)
	}
	o, err := value.ParseObject([]byte(template.TemplateBody))
	if err != nil {
		return nil, invalid("%v", err)
	}
	given, err := c.parameters(o, k.Parameters)
	if err != nil {
		return nil, err
	}
	*k = Stack{ID: stacks.Stack.StackId, Name: stacks.Stack.StackName, Region: c.region, Status: stacks.Stack.StackStatus,
		Body: template.TemplateBody, template: o, Parameters: map[string]string{}, stored: map[string]string{}, upstream: true, Protected: k.Protected}
	for _, p := range stacks.Stack.Parameters {
		k.Parameters[p.ParameterKey] = p.ParameterValue
		if strings.HasPrefix(o.Object("Parameters").Object(p.ParameterKey).String("Type"), "AWS::SSM::Parameter::Value<") {
			// The upstream takes the one for the other.
			k.Parameters[p.ParameterKey], k.stored[p.ParameterKey] = given[p.ParameterKey], p.ParameterValue
		}
	}
	for _, r := range resources.All {
		if r.LogicalResourceId == "" {
			continue // of a type that the upstream does not make
		}
		k.Resources = append(k.Resources, Resource{r.LogicalResourceId, r.ResourceType, r.PhysicalResourceId, "CREATE_COMPLETE"})
	}
	return k, nil
}
