package corpus

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/internal/sandbox"
	"github.com/org/cdkd-action/internal/stateshape"
	"github.com/org/cdkd-action/signals"
)

const bucket = "corpus-state"

// Every assembly of the corpus is read and planned as a first deploy, but for
// those on the closed lists. No other error is accepted, nor a warning but of
// properties that do not exist.
func TestPlan(t *testing.T) {
	accounts := accounts{t: t, running: map[string]*sandbox.Sandbox{}}
	var tally tally
	t.Run("assemblies", func(t *testing.T) {
		for _, e := range entries(t) {
			t.Run(e.Name, func(t *testing.T) {
				t.Parallel()
				tally.add(judge(t, e, planAll(t, &accounts, e)))
			})
		}
	})
	tally.print(t)
}

// The lists name nothing that the whole corpus does not have.
func TestListsAreClosed(t *testing.T) {
	if _, whole := corpusDir(); !whole {
		t.Skip("set CDKD_CORPUS to the whole corpus")
	}
	known := map[string]bool{}
	for _, e := range entries(t) {
		known[e.Name] = true
	}
	for name := range listed() {
		if !known[name] {
			t.Errorf("%s is on a list and not in the corpus", name)
		}
	}
	if len(lookups) > 11 || len(macros) > 6 {
		t.Errorf("%d assemblies with missing lookups, %d with macros: there are only 11 and 6", len(lookups), len(macros))
	}
}

func listed() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, names := range []iter.Seq[string]{slices.Values(lookups), maps.Keys(macros), maps.Keys(unsupported), maps.Keys(undeployed), maps.Keys(invalid), maps.Keys(mistaken)} {
			for name := range names {
				if !yield(name) {
					return
				}
			}
		}
	}
}

// judge compares what became of an assembly with what was expected of it, and
// says which.
func judge(t *testing.T, e entry, err error) string {
	says := ""
	if err != nil {
		says = err.Error()
	}
	want, isInvalid := invalid[e.Name]
	macro, hasMacro := macros[e.Name]
	mistake, isMistaken := mistaken[e.Name]
	types, hasTypes := unsupported[e.Name]
	switch {
	case isInvalid:
		if !strings.Contains(says, want) {
			t.Errorf("got error %q, want one that says %q", says, want)
		}
		return "invalid fixtures refused"
	case slices.Contains(lookups, e.Name):
		if missing := (*assembly.MissingError)(nil); !errors.As(err, &missing) {
			t.Errorf("got error %v, want a *assembly.MissingError", err)
		}
		return "refused: missing lookups"
	case hasMacro:
		// The types that the macro brings in may be what is noticed first.
		if want := "uses " + macro + ", which only CloudFormation can expand"; !strings.Contains(says, want) && unsupportedTypes(says) == nil {
			t.Errorf("got error %q, want one that says %q", says, want)
		}
		return "refused: macros"
	case isMistaken:
		if !strings.Contains(says, mistake) {
			t.Errorf("got error %q, want one that says %q", says, mistake)
		}
		return "refused: properties that do not exist"
	case hasTypes:
		got := unsupportedTypes(says)
		for _, typ := range got {
			if !slices.Contains(types, typ) {
				t.Errorf("%s cannot be provisioned, and is not listed", typ)
			}
		}
		switch {
		case err == nil:
			t.Error("it can be planned: take it from the list")
			return "planned, although listed"
		case got == nil:
			t.Error(err)
		}
		return "refused: types that cannot be provisioned"
	case err != nil:
		t.Error(err)
		return "FAILED"
	case e.fixture():
		return "fixtures planned"
	}
	return "planned"
}

// expected warns of what no version of a type's schema has, and is in templates
// all the same; and of what only CloudFormation does, and templates ask for.
var expected = regexp.MustCompile(`has no property \S+; it is not sent|^(EC2Instance|OSCluster)\S+ \(AWS::EC2::Instance\): ResourceSignal of its CreationPolicy`)

var notSupported = regexp.MustCompile(`type (\S+) is not supported: `)

// unsupportedTypes are those that an error names.
func unsupportedTypes(message string) (types []string) {
	for _, m := range notSupported.FindAllStringSubmatch(message, -1) {
		types = append(types, m[1])
	}
	slices.Sort(types)
	return slices.Compact(types)
}

// planAll reads an assembly and plans all of its stacks, each in its account.
func planAll(t *testing.T, accounts *accounts, e entry) error {
	a, err := assembly.Read(e.dir)
	if err != nil {
		return err
	}
	byAccount := map[string][]*assembly.Stack{}
	for _, s := range a.Stacks {
		byAccount[s.AccountID] = append(byAccount[s.AccountID], s)
	}
	for _, id := range slices.Sorted(maps.Keys(byAccount)) {
		stacks := byAccount[id]
		if id == "" && len(byAccount) == 2 {
			continue // with the others
		}
		for _, s := range byAccount[""] {
			if id != "" && len(byAccount) == 2 {
				stacks = append(stacks, s)
			}
		}
		sandbox := accounts.get(id)
		values := given(stacks)
		putParameters(t, sandbox, stacks, values, false)
		var names []string
		for _, s := range stacks {
			names = append(names, s.Name)
		}
		run, err := newEngine(t, sandbox, nil).Diff(t.Context(), engine.DiffOptions{
			Selection:        engine.Selection{Assembly: e.dir, Selection: assembly.Selection{Patterns: names, Exclusively: true}},
			Parameters:       values,
			StackConcurrency: 4,
			NoMacros:         true, // nobody here can expand them
		})
		if err != nil {
			return err
		}
		for _, s := range run.Stacks {
			if s.Message != "" {
				return &stackError{s.Name, s.Message, s.Remedy}
			}
			for _, w := range s.Warnings {
				if expected.MatchString(w) || broken[e.Name] != "" {
					continue
				}
				t.Errorf("stack %s: warning: %s", s.Name, w)
			}
			if s.Plan == nil {
				t.Errorf("stack %s has no plan and no message", s.Name)
			}
		}
	}
	return nil
}

type stackError struct{ stack, message, remedy string }

func (e *stackError) Error() string { return e.stack + ": " + e.message + " → " + e.remedy }

// accounts has a sandbox for each account that assemblies are made for.
type accounts struct {
	t       *testing.T
	mu      sync.Mutex
	running map[string]*sandbox.Sandbox
}

func (a *accounts) get(id string) *sandbox.Sandbox {
	if id == "" {
		id = account
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.running[id]; s != nil {
		return s
	}
	s := start(a.t, sandbox.Options{AccountID: id})
	a.running[id] = s
	return s
}

func start(t *testing.T, o sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	o.Stored = stateshape.Watch(t, t.Name(), bucket)
	s, err := sandbox.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	_, err = s3.NewFromConfig(s.Config(), pathStyle).CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pathStyle(o *s3.Options) { o.UsePathStyle = true }

func newEngine(t *testing.T, s *sandbox.Sandbox, observe func(engine.Event)) *engine.Engine {
	window := signals.Open(signals.Options{Signals: make(chan os.Signal)})
	t.Cleanup(window.Close)
	return engine.New(engine.Config{
		AWS: s.Config(), Bucket: state.Wanted{Input: bucket}, Prefix: state.DefaultPrefix,
		Owner: "corpus@test-" + t.Name(), Version: "test", Window: window, Observe: observe,
	})
}

// resolveSSM finds dynamic references to parameters.
var resolveSSM = regexp.MustCompile(`\{\{resolve:ssm(-secure)?:([^:}"]+)`)

// putParameters makes the parameters that stacks refer to and that others have
// made in a real account; those that the stacks make themselves only when they
// are not deployed.
func putParameters(t *testing.T, s *sandbox.Sandbox, stacks []*assembly.Stack, values map[string]string, deploying bool) (put []string) {
	t.Helper()
	for _, stack := range stacks {
		config := s.Config()
		if stack.Region != "" {
			config.Region = stack.Region
		}
		names, kind := ssmNames(stack, values), map[string]ssmtypes.ParameterType{}
		text, err := os.ReadFile(stack.TemplateFile)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range resolveSSM.FindAllSubmatch(text, -1) {
			names = append(names, string(m[2]))
			if len(m[1]) > 0 {
				kind[string(m[2])] = ssmtypes.ParameterTypeSecureString
			}
		}
		if deploying {
			names = slices.DeleteFunc(names, func(name string) bool { return makes(stacks, name) })
		}
		for _, name := range names {
			_, err := ssm.NewFromConfig(config).PutParameter(context.Background(), &ssm.PutParameterInput{
				Name: &name, Value: aws.String("corpus-value"), Type: cmp.Or(kind[name], ssmtypes.ParameterTypeString), Overwrite: aws.Bool(true),
			})
			if err != nil && strings.HasPrefix(name, "/aws/") {
				continue // nobody may write AWS's own, which are there
			}
			if err != nil {
				t.Fatalf("put parameter %s: %v", name, err)
			}
			put = append(put, name)
		}
	}
	return put
}

// makes tells whether one of the stacks has a parameter of that name.
func makes(stacks []*assembly.Stack, name string) bool {
	for _, s := range stacks {
		for _, r := range s.Template.Resources {
			if r.Type == "AWS::SSM::Parameter" && r.Properties.String("Name") == name {
				return true
			}
		}
	}
	return false
}

// A tally counts how assemblies fared.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[what]++
}

func (c *tally) print(t *testing.T) {
	for _, what := range slices.Sorted(maps.Keys(c.n)) {
		t.Logf("%4d %s", c.n[what], what)
	}
}
