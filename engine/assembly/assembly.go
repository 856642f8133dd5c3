// Package assembly reads what the CDK app made: a folder with a manifest, a
// template for each stack, and what is to be published beside them.
//
// Read takes in the whole folder, nested assemblies and the templates of nested
// stacks included, and reports everything that is wrong with it together. It
// drops nothing in silence: a stack that cannot be read is an error, also when
// it is not the one that was asked for. Only what is known to be of no use to
// a deployment is passed over: the construct tree and reports.
//
// No path in an assembly may lead out of it.
package assembly

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// SchemaVersion is the newest major version of the manifest that is known.
const SchemaVersion = 55

// An Assembly is a cloud assembly, with its nested ones taken in.
type Assembly struct {
	Dir     string
	Version string
	Stacks  []*Stack // in the order of the manifests
	Missing []Missing
}

// A Stack is one stack of an assembly.
type Stack struct {
	// ID tells the stacks of an assembly apart: the name, or what the app calls the
	// stack where stacks of several regions or accounts have the same name.
	ID          string
	ArtifactID  string
	Name        string
	DisplayName string // Stage/Stack in a stage, else as Name

	Template     *template.Template
	TemplateFile string // with its folder
	Dir          string // of the assembly that the stack is in

	AccountID string // "" when the stack can go to any
	Region    string // "" when the stack can go to any

	TerminationProtection bool
	Tags                  map[string]string
	DependsOn             []string // stacks by their IDs, in the manifest's order

	Assets   *AssetManifest // nil: none
	Messages []Message
	Nested   map[string]*Nested // by logical id

	parameterAssets []parameterAsset
	sources         map[string]Source // by the paths of constructs
}

// A parameterAsset is a file that CDK 1 has published before a deployment and
// handed in by parameters.
type parameterAsset struct{ path, parameter string }

// Nested is the template of a nested stack, which is read from the assembly.
type Nested struct {
	File     string // with its folder
	Template *template.Template
	Nested   map[string]*Nested
}

// Missing is a lookup that the app asked for and whose answer it did not have.
type Missing struct {
	Key, Provider string
	Props         *value.Object
}

// A MissingError says that templates hold dummies in place of looked up values.
type MissingError struct {
	Dir     string
	Missing []Missing
}

func (e *MissingError) Error() string {
	var keys []string
	for _, m := range e.Missing {
		keys = append(keys, m.Key)
	}
	return fmt.Sprintf("assembly %s was made without the answers to %s, so its templates hold dummies: %s; run the app where it can look them up, and commit cdk.context.json",
		e.Dir, amount.Of(len(keys), "lookup"), strings.Join(keys, ", "))
}

// CheckContext returns a *MissingError when lookups are open. It is asked only
// before stacks are deployed or compared: to list them, dummies will do.
func (a *Assembly) CheckContext() error {
	if len(a.Missing) == 0 {
		return nil
	}
	return &MissingError{Dir: a.Dir, Missing: a.Missing}
}

// Stack returns the stack that has a name in a place, or may go there; nil when there
// is none.
func (a *Assembly) Stack(name, region, accountID string) *Stack {
	var named []*Stack
	for _, s := range a.Stacks {
		if s.Name == name {
			named = append(named, s)
		}
	}
	return at(named, region, accountID)
}

// at picks, of stacks, the one that goes to a place, or the first that may; nil for none.
func at(stacks []*Stack, region, accountID string) *Stack {
	var best *Stack
	most := -1
	for _, s := range stacks {
		said := 0
		if s.Region == region {
			said++
		}
		if s.AccountID == accountID {
			said++
		}
		if may(s.Region, region) && may(s.AccountID, accountID) && said > most {
			best, most = s, said
		}
	}
	return best
}

// may tells whether two regions, or two accounts, can turn out to be one: "" is any.
func may(a, b string) bool { return a == b || a == "" || b == "" }

// String names the stack for messages: its name, and what the app calls it
// where that differs.
func (s *Stack) String() string {
	called := s.DisplayName
	if called == s.Name {
		called = cmp.Or(s.ID, s.Name)
	}
	if called == s.Name {
		return s.Name
	}
	return s.Name + " (" + called + ")"
}

// A Fault is one thing that is wrong with an assembly.
type Fault struct {
	File string // of the assembly, "" for the whole
	Text string
	Err  error // what is behind it, if anything
}

// Faults are all that is wrong with an assembly.
type Faults struct {
	Dir  string
	List []Fault
}

func (f *Faults) Error() string {
	var b strings.Builder
	if len(f.List) == 1 {
		fmt.Fprintf(&b, "read assembly %s: ", f.Dir)
	} else {
		fmt.Fprintf(&b, "read assembly %s: %s:", f.Dir, amount.Of(len(f.List), "fault"))
	}
	for _, fault := range f.List {
		if len(f.List) > 1 {
			b.WriteString("\n  ")
		}
		if fault.File != "" {
			b.WriteString(fault.File + ": ")
		}
		b.WriteString(strings.ReplaceAll(fault.Text, "\n", "\n  "))
	}
	return b.String()
}

// Unwrap gives the errors behind the faults.
func (f *Faults) Unwrap() []error {
	var errs []error
	for _, fault := range f.List {
		if fault.Err != nil {
			errs = append(errs, fault.Err)
		}
	}
	return errs
}
