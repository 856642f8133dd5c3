package corpus

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/corpus.md from the lists, and what was counted of the way from CloudFormation and back")

// assemblies is how many the whole corpus has.
const assemblies = 578

// The page that counts what cannot be planned or deployed, and why, says what the
// lists say.
func TestDocs(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "corpus.md")
	want := page(t)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/corpus.md differs from the lists; write it with go test ./internal/corpus -run TestDocs -update (-want +got):\n%s", diff)
	}
	if _, whole := corpusDir(); whole {
		if n := len(entries(t)); n != assemblies {
			t.Errorf("the corpus has %d assemblies, want %d", n, assemblies)
		}
	}
}

func page(t *testing.T) string {
	var b strings.Builder
	refused := len(lookups) + len(macros) + len(unsupported) + len(mistaken) + len(invalid)
	fmt.Fprintf(&b, `<!-- Written by "go test ./internal/corpus -run TestDocs -update" from the lists there. Do not edit. -->

# Other people's apps

%d cloud assemblies of other projects, with 12,372 resources of 503 types, are read and planned by a test. Those that a
sandbox can carry are deployed, deployed again, which must change nothing, and destroyed, which must leave nothing.

| assemblies | |
| ---:| --- |
| %d | are planned without an error |
| %d | are planned and not deployed to the sandbox: see below |
| %d | were synthesized without the answers to lookups, so that their templates hold dummies. They must be refused |
| %d | use a macro, which only CloudFormation expands: not in a sandbox |
| %d | are made to be invalid, and are refused |
| %d | have a property that the schema of its type does not have |
| %d | have types that neither a provider of our own nor Cloud Control can make |

## Types that nothing makes

`, assemblies, assemblies-refused, len(undeployed), len(lookups), len(macros), len(invalid), len(mistaken), len(unsupported))
	types := map[string]int{}
	for _, all := range unsupported {
		for _, typ := range all {
			types[typ]++
		}
	}
	counted(&b, "type", types)
	b.WriteString("\nAn assembly may have several of them. One that is planned by now fails the test until it is taken from the list.\n\n## Planned, and not deployed to the sandbox\n\n")
	reasons := map[string]int{}
	for _, why := range undeployed {
		reasons[why]++
	}
	counted(&b, "why", reasons)
	trips, err := os.ReadFile(roundTripped)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, `
## From CloudFormation and back

Apps of which the sandbox's CloudFormation makes every resource are deployed with it, and taken over with
"import --migrate-from-cloudformation", without a request that changes a resource. A deploy has nothing to do then. Of every resource
of the common types a property is changed: "drift" reports these and no others, and "--revert" puts them back. Then "export" hands
the stacks to CloudFormation again, which checks an import as AWS does, and makes anew what cannot be imported: inline policies.

%s`, trips)
	return b.String()
}

// counted writes a table, the largest number first.
func counted(b *strings.Builder, what string, n map[string]int) {
	fmt.Fprintf(b, "| assemblies | %s |\n| ---:| --- |\n", what)
	for _, k := range slices.SortedFunc(maps.Keys(n), func(x, y string) int { return cmp.Or(cmp.Compare(n[y], n[x]), cmp.Compare(x, y)) }) {
		fmt.Fprintf(b, "| %d | %s |\n", n[k], k)
	}
}
