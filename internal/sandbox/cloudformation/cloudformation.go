// Package cloudformation is the part of CloudFormation by which stacks come from
// it and go to it: imports of resources that exist, updates that change no
// resource, and deletions that delete none.
//
// Stacks that make their resources are an upstream's, which is asked when a stack
// is created or changed and whose answer is then kept here. Without one that can
// make them, stacks begin with an import.
//
// An import is checked as CloudFormation checks it: every resource is named with
// the keys of its type's identifier, exists, belongs to no other stack and has a
// DeletionPolicy; nothing else of the stack changes, outputs included. What a
// later update adds is noted and given an id, and nothing is made: Created says
// what.
package cloudformation

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// Options say what the server needs of the world around it.
type Options struct {
	AccountID string
	Types     func(name string) (*schema.Type, bool)
	// Exists reports whether AWS has a resource.
	Exists func(ctx context.Context, region, typeName string, identifier map[string]string) bool
	// Object reads what a TemplateURL names.
	Object func(bucket, key string) ([]byte, bool)
	// Upstream, when set, answers a call as an emulator that makes resources
	// does: with XML, and false when it refuses.
	Upstream func(ctx context.Context, region string, form url.Values) ([]byte, bool)
}

// A Stack is one stack.
type Stack struct {
	ID, Name, Region string
	Status, Reason   string
	Body             string
	Parameters       map[string]string
	Resources        []Resource
	Protected        bool
	Parent           string // id of the stack that it is nested in
	Created          []string

	template *value.Object
	stored   map[string]string // values of parameters that name the parameter store's
	upstream bool              // it has the stack too
}

// A Resource is one of a Stack.
type Resource struct{ LogicalID, Type, PhysicalID, Status string }

// A Server is CloudFormation.
type Server struct {
	o Options

	mu     sync.Mutex // guards what follows
	n      int
	stacks []*Stack // deleted ones too
	sets   map[string]*changeSet
}

// New returns a CloudFormation that knows no stacks.
func New(o Options) *Server { return &Server{o: o, sets: map[string]*changeSet{}} }

// An Error is a refusal.
type Error struct{ Code, Message string }

func (e *Error) Error() string { return e.Code + ": " + e.Message }

func invalid(format string, args ...any) error {
	return &Error{"ValidationError", fmt.Sprintf(format, args...)}
}

// Stack returns a copy of a stack by name, deleted ones by id only.
func (s *Server) Stack(region, name string) (Stack, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.find(region, name)
	if k == nil {
		return Stack{}, false
	}
	out := *k
	out.Resources = slices.Clone(k.Resources)
	return out, true
}

// Protect switches the termination protection of a stack.
func (s *Server) Protect(region, name string, on bool) {
	s.change(region, name, func(k *Stack) { k.Protected = on })
}

// SetStatus makes a stack's status what a test wants it to be.
func (s *Server) SetStatus(region, name, status string) {
	s.change(region, name, func(k *Stack) { k.Status = status })
}

// Leave gives a stack a resource that its template does not have, as an update
// does that could not delete one.
func (s *Server) Leave(region, name string, r Resource) {
	s.change(region, name, func(k *Stack) { k.Resources = append(k.Resources, r) })
}

func (s *Server) change(region, name string, change func(*Stack)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.find(region, name); k != nil {
		change(k)
	}
}

func (s *Server) find(region, name string) *Stack {
	for _, k := range slices.Backward(s.stacks) {
		if k.Region == region && (k.ID == name || k.Name == name && k.Status != "DELETE_COMPLETE") {
			return k
		}
	}
	return nil
}

// knows tells whether a stack is, or was, one of the server's: the upstream may
// have it still.
func (s *Server) knows(region, name string) bool {
	return slices.ContainsFunc(s.stacks, func(k *Stack) bool { return k.Region == region && (k.ID == name || k.Name == name) })
}

func (s *Server) existing(region, name string) (*Stack, error) {
	if k := s.find(region, name); k != nil {
		return k, nil
	}
	return nil, invalid("Stack with id %s does not exist", name)
}

// Answer answers a call. known is false for one that is the upstream's.
func (s *Server) Answer(ctx context.Context, region string, form url.Values) (out any, known bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := call{s, ctx, region, form}
	name := form.Get("StackName")
	action := form.Get("Action")
	if answer := answers[action]; answer != nil && (name == "" || s.knows(region, name) || s.o.Upstream == nil || form.Get("ChangeSetType") == "IMPORT") {
		if form.Get("ChangeSetType") == "CREATE" || action == "GetTemplate" && form.Get("ChangeSetName") != "" {
			return nil, false, nil // the expansion of a macro
		}
		out, err = answer(call)
		return out, true, err
	}
	if action == "CreateStack" && s.o.Upstream != nil {
		out, err = call.create()
		return out, true, err
	}
	return nil, false, nil
}

var answers = map[string]func(call) (any, error){
	"DescribeStacks": call.describeStacks, "ListStacks": call.listStacks,
	"DescribeStackResources": call.describeResources, "ListStackResources": call.listResources,
	"GetTemplate": call.getTemplate, "GetTemplateSummary": call.summary,
	"ListExports": call.listExports, "ListImports": call.listImports,
	"CreateChangeSet": call.createChangeSet, "DescribeChangeSet": call.describeChangeSet,
	"ExecuteChangeSet": call.executeChangeSet, "DeleteChangeSet": call.deleteChangeSet,
	"UpdateStack": call.update, "DeleteStack": call.delete,
	"UpdateTerminationProtection": call.protect,
}

// A call is one call while it is being answered.
type call struct {
	*Server
	ctx    context.Context
	region string
	form   url.Values
}

func (c call) id(kind, name string) string {
	c.n++
	return fmt.Sprintf("arn:aws:cloudformation:%s:%s:%s/%s/%08x-0000-4000-8000-000000000000", c.region, c.o.AccountID, kind, name, c.n)
}

// members are the entries of a list in a form, each with its members.
func (c call) members(list string) (all []map[string]string) {
	for n := 1; ; n++ {
		prefix := list + ".member." + strconv.Itoa(n)
		entry := map[string]string{}
		for key, v := range c.form {
			if rest, ok := strings.CutPrefix(key, prefix); ok && (rest == "" || rest[0] == '.') {
				entry[strings.TrimPrefix(rest, ".")] = v[0]
			}
		}
		if len(entry) == 0 {
			return all
		}
		all = append(all, entry)
	}
}

// document is the template that a call brings.
func (c call) document() (text string, o *value.Object, err error) {
	text = c.form.Get("TemplateBody")
	if len(text) > 51200 {
		return "", nil, invalid("1 validation error detected: Value at 'templateBody' failed to satisfy constraint: Member must have length less than or equal to 51200")
	}
	if address := c.form.Get("TemplateURL"); address != "" {
		u, err := url.Parse(address)
		if err != nil {
			return "", nil, invalid("TemplateURL must be a supported URL.")
		}
		bucket, _, _ := strings.Cut(u.Host, ".s3.")
		body, ok := c.o.Object(bucket, strings.TrimPrefix(u.Path, "/"))
		if !ok {
			return "", nil, invalid("S3 error: Access Denied")
		}
		text = string(body)
	}
	if text == "" {
		return "", nil, invalid("Either Template URL or Template Body must be specified.")
	}
	if o, err = value.ParseObject([]byte(text)); err != nil {
		return "", nil, invalid("Template format error: JSON not well-formed.")
	}
	if o.Object("Resources").Len() == 0 {
		return "", nil, invalid("Template format error: At least one Resources member must be defined.")
	}
	return text, o, unresolved(o)
}

// unresolved refuses references to what a template does not have.
func unresolved(o *value.Object) error {
	var missing []string
	names(o.Value("Resources"), func(id string) {
		if !o.Object("Resources").Has(id) && !o.Object("Parameters").Has(id) && !strings.HasPrefix(id, "AWS::") && !slices.Contains(missing, id) {
			missing = append(missing, id)
		}
	})
	if missing != nil {
		return invalid("Template format error: Unresolved resource dependencies [%s] in the Resources block of the template", strings.Join(missing, ", "))
	}
	return nil
}

// names finds what is referred to by Ref and Fn::GetAtt.
func names(v any, found func(string)) {
	switch v := v.(type) {
	case []any:
		for _, m := range v {
			names(m, found)
		}
	case *value.Object:
		function, arg, _ := v.Sole()
		switch list, _ := arg.([]any); {
		case function == "Ref":
			if id, ok := arg.(string); ok {
				found(id)
			}
		case function == "Fn::GetAtt" && len(list) == 2:
			if id, ok := list[0].(string); ok {
				found(id)
			}
		default:
			for _, m := range v.All() {
				names(m, found)
			}
		}
	}
}

// parameters are the values of a template's parameters for a stack.
func (c call) parameters(o *value.Object, before map[string]string) (map[string]string, error) {
	all := map[string]string{}
	for _, p := range c.members("Parameters") {
		name := p["ParameterKey"]
		if !o.Object("Parameters").Has(name) {
			return nil, invalid("Parameters: [%s] do not exist in the template", name)
		}
		if p["UsePreviousValue"] == "true" {
			v, ok := before[name]
			if !ok {
				return nil, invalid("Invalid input for parameter key %s. Cannot specify usePreviousValue as true for a parameter key not in the previous template", name)
			}
			all[name] = v
		} else {
			all[name] = p["ParameterValue"]
		}
	}
	for name, d := range o.Object("Parameters").All() {
		if _, given := all[name]; given {
			continue
		}
		d, _ := d.(*value.Object)
		text, ok := value.Text(d.Value("Default"))
		if !ok {
			return nil, invalid("Parameters: [%s] must have values", name)
		}
		all[name] = text
	}
	return all, nil
}

// section lists what stands in one section of a template.
func section(o *value.Object, name string) map[string]*value.Object {
	all := map[string]*value.Object{}
	for key, v := range o.Object(name).All() {
		all[key], _ = v.(*value.Object)
	}
	return all
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
