package awssdk

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A property that is not covered sends its resource to Cloud Control, so the
// golden file is what the README's routing promises rest on.
func TestCoverage(t *testing.T) {
	var b strings.Builder
	all := Resources()
	slices.SortFunc(all, func(a, b provider.Resource) int { return strings.Compare(a.Type, b.Type) })
	for _, r := range all {
		typ, ok := schema.Lookup(r.Type)
		if !ok {
			t.Fatalf("no schema of %s", r.Type)
		}
		c := r.Coverage(typ)
		fmt.Fprintf(&b, "%s\n", r.Type)
		fmt.Fprintf(&b, "  covers %s\n", strings.Join(c.Handled, " "))
		if len(c.Unhandled) > 0 {
			fmt.Fprintf(&b, "  leaves %s\n", strings.Join(c.Unhandled, " "))
		}
	}
	const golden = "testdata/coverage.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("coverage changed (-want +got), rewrite with -update if that is meant:\n%s", diff)
	}
}

func TestTypesAreDescribedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Resources() {
		if seen[r.Type] {
			t.Errorf("%s is described twice", r.Type)
		}
		seen[r.Type] = true
		if len(r.Gone) == 0 {
			t.Errorf("%s does not say how its service tells that a resource is gone", r.Type)
		}
	}
}
