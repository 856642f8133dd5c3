package ci

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

func TestAnnotate(t *testing.T) {
	r := &result.Run{Command: "deploy"}
	r.Add(&result.Stack{Name: "Data", Region: "eu-west-1", Outcome: result.Partial, Warnings: []string{"old record"},
		Unaddressed: []result.Unaddressed{{LogicalID: "B", Type: "AWS::S3::Bucket", PhysicalID: "b", Reason: "not empty", Remedy: "empty it"}}})
	r.Add(&result.Stack{Name: "Net", Region: "eu-west-1", Outcome: result.Partial,
		Unaddressed: []result.Unaddressed{{Reason: "stack Net has termination protection", Remedy: "use remove-protection"}}})
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Failed, Message: "1 resource failed",
		Failures: []result.Failure{{LogicalID: "Q", Type: "AWS::SQS::Queue", Action: plan.Create, Message: "denied for AKIAIOSFODNN7EXAMPLE\n::set-output name=x::y", Remedy: "allow sqs:CreateQueue"}}})
	s := newStep(t)
	s.Annotate(r)
	want := `::error title=Shop in eu-west-1::1 resource failed
::error title=Shop%3A create of Q failed::AWS::SQS::Queue: denied for (hidden)%0A::set-output name=x::y%0AWhat to do: allow sqs:CreateQueue
::warning title=Data%3A B is left::AWS::S3::Bucket b: not empty%0AWhat to do: empty it
::warning title=Data::old record
::warning title=Net in eu-west-1 is left::stack Net has termination protection%0AWhat to do: use remove-protection
`
	if diff := cmp.Diff(want, s.out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnnotateLine(t *testing.T) {
	workspace := t.TempDir()
	for _, file := range []string{"lib/shop.ts", "app.py"} {
		path := filepath.Join(workspace, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		workspace + "/lib/shop.ts":              "::error file=lib/shop.ts,line=7::m\n",
		"/github/workspace/lib/shop.ts":         "::error file=lib/shop.ts,line=7::m\n",
		"/home/runner/work/shop/shop/app.py":    "::error file=app.py,line=7::m\n",
		"/home/runner/work/other/other/app.py":  "::error::m\n",
		"/github/workspace/lib":                 "::error::m\n", // a folder
		"/github/workspace/lib/gone.ts":         "::error::m\n",
		"/github/workspace/../lib/shop.ts":      "::error::m\n",
		"/github/workspace/lib/shop.ts\n::x::y": "::error::m\n",
		"":                                      "::error::m\n",
	} {
		s := newStep(t)
		s.environ = append(s.environ, "GITHUB_WORKSPACE="+workspace, "GITHUB_REPOSITORY=me/shop")
		s.Error(Annotation{Message: "m", File: file, Line: 7})
		if got := s.out.String(); got != want {
			t.Errorf("%q: got %q, want %q", file, got, want)
		}
	}
}

// Where more is said about a failure is the end of an annotation, also of one that
// had to be cut.
func TestAnnotationEndsWithItsPage(t *testing.T) {
	const page = "https://github.com/org/cdkd-action/blob/main/docs/errors/lock-held.md"
	for _, message := range []string{"held", strings.Repeat("é", maxAnnotationUnits+100)} {
		s := newStep(t)
		s.Error(Annotation{Message: message, Page: page})
		text := strings.TrimPrefix(strings.TrimSuffix(s.out.String(), "\n"), "::error::")
		if whole := strings.ReplaceAll(text, "%0A", "\n"); !strings.HasSuffix(whole, "\nsee "+page) || units(whole) > maxAnnotationUnits {
			t.Errorf("%d units, ending with %q", units(whole), whole[max(0, len(whole)-120):])
		}
	}
	r := &result.Run{Command: "deploy"}
	r.Add(&result.Stack{Name: "Shop", Region: "eu-west-1", Outcome: result.Partial, Page: page,
		Unaddressed: []result.Unaddressed{{LogicalID: "B", Reason: "not empty"}}})
	s := newStep(t)
	s.Annotate(r)
	if !strings.Contains(s.out.String(), "not empty%0Asee "+page+"\n") {
		t.Errorf("of what was left: %s", s.out)
	}
}
