package main

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/guide/guidetest"
)

// unexplained are the failures that have no page, and why.
var unexplained = map[string]string{
	"asset-storage: diff --all --app shop/cdk.out --fail --use-cdk-bootstrap-assets": byFail,
	"deploy: diff --all --app shop/cdk.out.changed --fail":                           byFail,
	"drift: diff --app app --fail":                                                   byFail,
	"nested-plan: diff --app app --fail":                                             byFail,
	"secrets: diff --app app --fail --parameters Key=topsecretkey":                   byFail,
}

const byFail = "what differs is the failure, which is what fail asks for, and it is shown"

// unseen are the pages that no script leads to: what they are about takes what the
// sandbox has not, a wait, or a fault of the program. TestPages of package engine has
// each by its type, and the tests beside the type provoke it.
var unseen = []guide.Page{
	guide.CloudFormationFailed, guide.CloudFormationStack, guide.CustomResource, guide.CustomResourceTimeout, guide.ExportRefused,
	guide.FailedEarlier, guide.FinalSnapshot, guide.HandoverUnfinished, guide.ImportWithdrawn, guide.Internal, guide.LockLost, guide.NameTaken, guide.Network, guide.NoContainerBuilder,
	guide.NoProgram, guide.NotStable, guide.OperationOpen, guide.OperationUnresolved,
	guide.ResourceFailed, guide.ResourceGone, guide.StateBucketFailed, guide.UpdateNotSupported, guide.WrongRegion,
}

// shown are the pages whose example is what a script prints. Those of the others are
// held by TestPages of package engine, where an error has all that there is to say.
var shown = []guide.Page{
	guide.AppDiffers, guide.Consent, guide.Drifted, guide.GitHub, guide.Inputs, guide.LeftOver, guide.NoApp, guide.NotReadable,
	guide.NothingToRollBack, guide.RecordedAlready, guide.RollbackIncomplete, guide.SameName, guide.SecretsRecorded,
	guide.UnknownParameter, guide.UnknownResource, guide.UnknownStack, guide.WrongAccount,
}

// told is what failing commands of the scripts printed: which lead to a page, and
// which do not.
type told struct {
	mu      sync.Mutex
	scripts map[string]bool
	skipped bool              // a script, for want of what it needs
	without map[string]string // by script and command: what was printed
	pages   map[guide.Page]bool
	lines   map[string]bool // of all logs, without what is around a message
}

func newTold() *told {
	return &told{scripts: map[string]bool{}, without: map[string]string{}, pages: map[guide.Page]bool{}, lines: map[string]bool{}}
}

var pageLink = regexp.MustCompile(`https://github\.com/org/cdkd-action/blob/main/docs/errors/([a-z-]+)\.md`)

var annotation = regexp.MustCompile(`(?m)^::(?:error|warning|notice) [^\n]*?::`)

// hear takes the log of a script.
func (l *told) hear(script, log string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scripts[script] = true
	for line := range strings.Lines(strings.ReplaceAll(annotation.ReplaceAllString(log, ""), "%0A", "\n")) {
		l.lines[strings.TrimSpace(line)] = true
	}
	for _, part := range strings.Split(log, "\n> ") {
		command, printed, _ := strings.Cut(part, "\n")
		links := pageLink.FindAllStringSubmatch(printed, -1)
		for _, m := range links {
			l.pages[guide.Page(m[1])] = true
		}
		if fails, ok := strings.CutPrefix(command, "! exec cdkd-action "); ok && links == nil && !strings.HasSuffix(command, "&") {
			l.without[script+": "+fails] = printed
		}
	}
}

// check wants a page for every failure, but for those that are listed.
func (l *told) check(t *testing.T) {
	for _, failure := range slices.Sorted(maps.Keys(l.without)) {
		if unexplained[failure] == "" {
			t.Errorf("%s: no page of docs/errors is named:\n%s", failure, l.without[failure])
		}
	}
	all, err := filepath.Glob("testdata/script/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if chosen := flag.Lookup("test.run").Value.String(); l.skipped || strings.Contains(chosen, "/") {
		return // what the others print is not known
	}
	if len(l.scripts) != len(all) {
		t.Errorf("%d of %d scripts were heard", len(l.scripts), len(all))
	}
	for failure := range unexplained {
		if _, ok := l.without[failure]; !ok {
			t.Errorf("%s: it is said to have no page, and has one or does not fail", failure)
		}
	}
	groups, err := guidetest.Groups()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		for _, page := range g.Pages {
			if l.pages[page] == slices.Contains(unseen, page) {
				t.Errorf("%s: that a script leads to the page is %t", page, l.pages[page])
			}
		}
	}
	for _, page := range shown {
		example, err := guidetest.Example(page)
		if err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(example) {
			if !l.lines[strings.TrimSpace(line)] {
				t.Errorf("docs/errors/%s.md: no script prints %q", page, line)
			}
		}
	}
}

// scripted plays scripts and hears what they print, which testscript drops of those
// that succeed.
type scripted struct {
	*testing.T
	told *told
}

func (s scripted) Run(name string, play func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { play(scripted{t, s.told}) })
}

func (scripted) Verbose() bool { return true }

func (s scripted) Skip(why ...any) {
	s.told.mu.Lock()
	s.told.skipped = true
	s.told.mu.Unlock()
	s.T.Skip(why...)
}

func (s scripted) Log(args ...any) {
	log := fmt.Sprint(args...)
	s.told.hear(filepath.Base(s.Name()), log)
	if s.Failed() || testing.Verbose() {
		s.T.Log(log)
	}
}
