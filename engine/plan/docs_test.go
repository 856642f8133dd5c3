package plan

import (
	"os"
	"strings"
	"testing"
)

// The guide lists the types that hold data, and those with rules of their own.
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
	for typ := range rules {
		if rules[typ].when != nil && !strings.Contains(guide, typ) {
			t.Errorf("docs/plan.md does not name %s, which replaces under a condition", typ)
		}
	}
}
