package engine

import (
	"cmp"
	"maps"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/asset"
	"github.com/org/cdkd-action/engine/partition"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/template"
)

// A target is a stack to work on: one of the assembly, or nested in one.
type target struct {
	Name, Region string
	DisplayName  string
	id           string // tells the targets of a run apart; "": by their names
	Template     *template.Template
	Nested       map[string]*assembly.Nested
	Parameters   map[string]string
	unknown      []string                // parameters whose values are not there yet
	Hidden       []string                // parameters whose values are NoEcho ones of the parent
	Assets       *assembly.AssetManifest // nil for a nested stack: the top-level one's covers it
	Protected    bool                    // against destroy
	tags         map[string]string       // of the stack, which CloudFormation would hand on
	account      string                  // "": any
	source       func(path string) assembly.Source
	redirection  *asset.Redirection // nil: assets go where the app puts them
	storage      *placement         // where they go instead

	parent          *deployment         // of a nested stack
	renewed         []string            // of its parameters: those with a value that may not be the one before
	withheld        map[string][]string // of its parameters: what NoEcho ones, not given, they come from
	parentLogicalID string
}

// targetOf makes a target of an assembly's stack.
func (e *Engine) targetOf(s *assembly.Stack, parameters map[string]string) target {
	region := s.Region
	if region == "" {
		region = e.defaultRegion()
	}
	return target{
		Name: s.Name, Region: region, DisplayName: s.DisplayName, id: s.ID,
		Template: s.Template, Nested: s.Nested, Assets: s.Assets,
		Parameters: parametersOf(s, parameters), Protected: s.TerminationProtection, tags: s.Tags, source: s.Source,
	}
}

// key tells the targets of a run apart.
func (t target) key() string { return cmp.Or(t.id, t.Name) }

// elsewhere tells whether the stack is made for another account than the given one.
func (t target) elsewhere(account string) bool { return t.account != "" && t.account != account }

// defaultRegion is that of stacks that name none.
func (e *Engine) defaultRegion() string {
	if r := e.config.AWS.Region; r != "" {
		return strings.ToLower(r)
	}
	return "us-east-1"
}

// child makes a target of a nested stack of t.
func (t target) child(d *deployment, logicalID string, n *assembly.Nested, parameters map[string]string, hidden []string) target {
	return target{
		Name: t.Name + "~" + logicalID, Region: t.Region, DisplayName: t.DisplayName + "~" + logicalID,
		Template: n.Template, Nested: n.Nested, Parameters: parameters, Hidden: hidden,
		redirection: t.redirection, storage: t.storage,
		parent: d, parentLogicalID: logicalID,
	}
}

// parametersOf picks what is meant for a stack: Name=value goes to every stack
// that declares the parameter, Stack:Name=value to those of a name, or to the one
// that the app calls so.
func parametersOf(s *assembly.Stack, given map[string]string) map[string]string {
	out := map[string]string{}
	for _, p := range s.Template.Parameters {
		for _, key := range []string{p.Name, s.Name + ":" + p.Name, s.ID + ":" + p.Name} {
			if v, ok := given[key]; ok {
				out[p.Name] = v
			}
		}
	}
	return out
}

// unusedParameters names what was given and no selected stack declares.
func unusedParameters(stacks []*assembly.Stack, given map[string]string) []string {
	unused := maps.Clone(given)
	for _, s := range stacks {
		for _, p := range s.Template.Parameters {
			delete(unused, p.Name)
			delete(unused, s.Name+":"+p.Name)
			delete(unused, s.ID+":"+p.Name)
		}
	}
	return sortedKeys(unused)
}

// place is where the target's resources belong.
func (t target) place(account, stackID string) provider.Stack {
	return provider.Stack{Name: t.Name, ID: stackID, Region: t.Region, AccountID: account, Partition: partition.Of(t.Region)}
}
