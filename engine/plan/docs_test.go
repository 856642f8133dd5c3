package plan

import (
	"os"
	"strings"
	"testing"
)

// The guide lists the types that hold data, and the marks of the text.
func TestGuide(t *testing.T) {
	b, err := os.ReadFile("../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(b)
	for _, typ := range stateful {
		if !strings.Contains(guide, typ) {
			t.Errorf("docs/plan.md does not name %s", typ)
		}
	}
	for _, mark := range []string{
		"[requires replacement]", "[may require replacement]", "[replacement propagated]", "(known after deploy)",
		"[metadata only, no AWS API call]", "[outcome unknown, applied again]", "(NoEcho, cannot be compared)", "[returning to SDK provider]",
	} {
		if !strings.Contains(guide, mark) {
			t.Errorf("docs/plan.md does not explain %s", mark)
		}
		if text, err := os.ReadFile("text.go"); err != nil || !strings.Contains(string(text), mark) {
			t.Errorf("the text has no %s (%v)", mark, err)
		}
	}
	for typ := range rules {
		if rules[typ].when != nil && !strings.Contains(guide, typ) {
			t.Errorf("docs/plan.md does not name %s, which replaces under a condition", typ)
		}
	}
}
