// Package synth runs a CDK app and answers what it asks, until it has written
// a cloud assembly that holds no dummies.
//
// The app is foreign code. It gets its own process group, no input, and an
// environment without the tokens of the workflow; what it prints is passed on
// and not kept. It is over when [Synthesize] returns.
//
// Context, the values that an app is given, comes from several places. Later
// ones win: built-in defaults, ~/.cdk.json, cdk.json, cdk.context.json, what
// was looked up in this run, and what the caller overrides. What is looked up
// is added to cdk.context.json, to be committed; a file there that cannot be
// read as JSON is left as it is.
//
// [Project] is what an app's files say, and decides nothing else than which
// command or which ready assembly is meant.
package synth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/lookup"
	"github.com/org/cdkd-action/engine/value"
)

// Options say which app is run, and with what.
type Options struct {
	Command string // for sh
	Dir     string // where it is run, the folder of cdk.json and cdk.context.json
	Output  string // where the assembly is wanted; absolute, made when it is not there

	// Context is what the files beside the app say, as in [Project.Context].
	// Overrides win over all other context.
	Context, Overrides *value.Object

	// Region is the one of stacks and lookups that name none, "" for none.
	Region string
	// Account tells who is calling. An app that is not told, because this fails
	// or is nil, makes stacks for any account.
	Account func(context.Context) (string, error)
	// Config gives the AWS configuration of an account and region, for lookups.
	// The account may be "" for the caller's, or one without credentials of its own.
	Config func(account, region string) aws.Config

	// Environ is what the app's environment is made from, usually os.Environ().
	Environ     []string
	Environment EnvironmentOptions
	// Validate lets the app validate its own templates; it takes a while, and
	// they are checked again before they are deployed.
	Validate bool

	// Stdout and Stderr take what the app prints, whole lines, never two at
	// once, and not more than 16 MiB together. nil drops them.
	Stdout, Stderr io.Writer
	// Inform is told what is done, Warn what a person should look at. nil drops
	// it.
	Inform, Warn func(text string)

	// Timeout bounds each run of the app; 0 is no bound.
	Timeout time.Duration
	// Grace is how long the app has to end when the context does; 0 is
	// child.DefaultGrace.
	Grace time.Duration
}

// A Result is what came of a synthesis.
type Result struct {
	Dir string // the cloud assembly
	// ContextFile is the cdk.context.json to which the values of Saved, by
	// their keys, were added. With no Saved it was not touched.
	ContextFile string
	Saved       []string
}

// Synthesize runs the app, and again with the answers as long as it asks for
// more. A context that ends interrupts the app.
func Synthesize(ctx context.Context, opt Options) (*Result, error) {
	s, err := prepare(ctx, opt)
	if err != nil {
		return nil, err
	}
	var last []lookup.Answer
	for {
		missing, err := s.run(ctx)
		if err != nil {
			return nil, err
		}
		if len(missing) == 0 {
			return &Result{Dir: opt.Output, ContextFile: s.file.path, Saved: s.saved}, nil
		}
		if sameKeys(last, missing) {
			return nil, &LookupError{Dir: opt.Dir, Answers: last}
		}
		s.inform(fmt.Sprintf("the app asks for %s of the account: %s", amount.Of(len(missing), "value"), kinds(missing)))
		last = (&lookup.Source{Config: opt.Config, Region: opt.Region}).Answers(ctx, missing)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("look up what the app asks for: %w", context.Cause(ctx))
		}
		found := value.NewObject()
		for _, a := range last {
			if a.Err != nil {
				s.warn(fmt.Sprintf("lookup %s: %v", a.Key, a.Err))
				continue
			}
			found.Set(a.Key, a.Value)
		}
		if found.Len() == 0 { // so the app would ask the same again
			return nil, &LookupError{Dir: opt.Dir, Answers: last}
		}
		s.keep(found)
	}
}

// A synthesis is one call of Synthesize.
type synthesis struct {
	Options
	account string
	file    contextFile
	found   *value.Object // everything that was looked up
	saved   []string
	unsaved bool // and said so
}

func prepare(ctx context.Context, opt Options) (*synthesis, error) {
	s := &synthesis{Options: opt, file: contextFile{filepath.Join(opt.Dir, "cdk.context.json")}, found: value.NewObject()}
	if opt.Command == "" || !filepath.IsAbs(opt.Output) {
		return nil, fmt.Errorf("run the app: want a command and an absolute folder for its assembly, got %q and %q", opt.Command, opt.Output)
	}
	// Making the folder for the assembly would make this one, too.
	if info, err := os.Stat(opt.Dir); err != nil {
		return nil, &NoAppError{Dir: opt.Dir, Err: err}
	} else if !info.IsDir() {
		return nil, &NoAppError{Dir: opt.Dir, Err: errors.New("it is no folder")}
	}
	if err := os.MkdirAll(opt.Output, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for the assembly: %w", err)
	}
	if opt.Account != nil {
		account, err := opt.Account(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, fmt.Errorf("run the app: %w", context.Cause(ctx))
		}
		s.account = account
	}
	if _, err := s.file.read(); err != nil {
		s.warn(fmt.Sprintf("%v; it is not used, and not changed", err))
	}
	return s, nil
}

func (s *synthesis) inform(text string) {
	if s.Inform != nil {
		s.Inform(text)
	}
}

func (s *synthesis) warn(text string) {
	if s.Warn != nil {
		s.Warn(text)
	}
}

// context is all that the app is to know.
func (s *synthesis) context() *value.Object {
	committed, err := s.file.read()
	if err != nil {
		committed = nil // said already
	}
	return merge(defaults(), s.Context, committed, s.found, s.Overrides)
}

// keep remembers what was looked up, here and in cdk.context.json. That it
// cannot be written there costs the lookups of the next run, not this one.
func (s *synthesis) keep(found *value.Object) {
	s.found = merge(s.found, found)
	err := s.file.add(found)
	if err == nil {
		s.saved = append(s.saved, found.Keys()...)
		return
	}
	if _, broken := errors.AsType[*value.SyntaxError](err); !broken && !s.unsaved {
		s.warn(fmt.Sprintf("what was looked up is not kept: %v", err))
	}
	s.unsaved = true
}

func sameKeys(last []lookup.Answer, missing []assembly.Missing) bool {
	var before, now []string
	for _, a := range last {
		before = append(before, a.Key)
	}
	for _, m := range missing {
		now = append(now, m.Key)
	}
	slices.Sort(before)
	slices.Sort(now)
	return slices.Equal(before, now)
}

// kinds lists each provider once, in the order of the questions.
func kinds(missing []assembly.Missing) string {
	text, seen := "", map[string]bool{}
	for _, m := range missing {
		if seen[m.Provider] {
			continue
		}
		if seen[m.Provider] = true; text != "" {
			text += ", "
		}
		text += m.Provider
	}
	return text
}
