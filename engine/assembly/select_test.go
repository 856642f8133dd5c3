package assembly_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/assembly"
)

func names(stacks []*assembly.Stack) []string {
	var all []string
	for _, s := range stacks {
		all = append(all, s.Name)
	}
	return all
}

// app has stacks in a row: Web imports from Net, Job depends on Web, Log reads
// an output of Job, and Prod-Db is in a stage.
func app(t *testing.T) *assembly.Assembly {
	return read(t, map[string]string{
		"manifest.json": manifest(strings.Join([]string{
			stack("Log", ""), stack("Job", `, "dependencies": ["Web"]`), stack("Web", ""), stack("Net", ""), stack("Net.v2", ""),
			`"ProdDb": {"type": "aws:cloudformation:stack", "displayName": "Prod/Db", "properties": {"templateFile": "Net.v2.json", "stackName": "Prod-Db"}}`,
		}, ",")),
		"Net.json":    `{"Outputs": {"V": {"Value": 1, "Export": {"Name": "vpc"}}}}`,
		"Net.v2.json": empty,
		"Web.json":    `{"Resources": {"R": {"Type": "T::T::T", "Properties": {"V": [{"Fn::ImportValue": "vpc"}], "W": {"Fn::ImportValue": {"Fn::Sub": "x"}}}}}}`,
		"Job.json":    empty,
		"Log.json":    `{"Resources": {"R": {"Type": "T::T::T", "Properties": {"V": {"Fn::GetStackOutput": {"StackName": "Job", "OutputName": "O"}}}}}}`,
	})
}

// A name may be there once in each region and account: then the app's own names tell
// such stacks apart, and order them (T-62, T-71, T-74).
func TestStacksOfOneName(t *testing.T) {
	in := func(id, env, more string) string {
		return `"` + id + `": {"type": "aws:cloudformation:stack", "environment": "aws://` + env + `", "displayName": "` + id + `"` + more + `, "properties": {"templateFile": "` + id + `.json", "stackName": "Shop"}}`
	}
	reads := func(region string) string {
		return `{"Resources": {"R": {"Type": "T::T::T", "Properties": {"V": {"Fn::GetStackOutput": {"StackName": "Shop", "OutputName": "O"` + region + `}}}}}}`
	}
	exports := `{"Resources": {}, "Outputs": {"O": {"Value": "v", "Export": {"Name": "X"}}}}`
	a := read(t, map[string]string{
		"manifest.json": manifest(strings.Join([]string{
			in("ShopEu", "1/eu-west-1", `, "dependencies": ["ShopUs"]`), in("ShopUs", "1/us-east-1", ""), in("ShopTwo", "2/us-east-1", ""),
			`"Log": {"type": "aws:cloudformation:stack", "environment": "aws://1/us-east-1", "properties": {"templateFile": "Log.json"}}`,
			`"Same": {"type": "aws:cloudformation:stack", "environment": "aws://2/us-east-1", "properties": {"templateFile": "Same.json"}}`,
			`"Far": {"type": "aws:cloudformation:stack", "environment": "aws://1/us-east-1", "properties": {"templateFile": "Far.json"}}`,
		}, ",")),
		"ShopEu.json": exports, "ShopUs.json": exports, "ShopTwo.json": exports,
		"Same.json": `{"Resources": {"R": {"Type": "T::T::T", "Properties": {"V": {"Fn::ImportValue": "X"}}}}}`,
		"Log.json":  reads(""), "Far.json": reads(`, "Region": "eu-west-1"`),
	})
	ids := func(patterns ...string) (all []string) {
		t.Helper()
		stacks, err := a.Select(assembly.Selection{Patterns: patterns})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range stacks {
			all = append(all, s.ID)
		}
		return all
	}
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"Shop", []string{"ShopEu", "ShopUs", "ShopTwo"}},
		{"ShopTwo", []string{"ShopTwo"}},
		{"ShopEu", []string{"ShopEu", "ShopUs"}}, // which it depends on
	} {
		if diff := cmp.Diff(c.want, ids(c.pattern)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.pattern, diff)
		}
	}
	after, err := a.Order(a.Stacks)
	if diff := cmp.Diff(map[string][]string{"ShopEu": {"ShopUs"}, "Log": {"ShopUs"}, "Same": {"ShopTwo"}, "Far": {"ShopEu"}}, after); err != nil || diff != "" {
		t.Errorf("%v, order (-want +got):\n%s", err, diff)
	}
	if s := a.Stack("Shop", "us-east-1", "2"); s == nil || s.ID != "ShopTwo" {
		t.Errorf("the stack of a place is %v", s)
	}
	if s := a.Stack("Shop", "ap-south-1", "1"); s != nil {
		t.Errorf("where there is none, the stack is %v", s)
	}
	if _, err := a.Select(assembly.Selection{}); err == nil || !strings.Contains(err.Error(), "there are: Shop (ShopEu), Shop (ShopUs), Shop (ShopTwo), Log, Same, Far") {
		t.Errorf("got %v", err)
	}
}

func TestSelect(t *testing.T) {
	a := app(t)
	for _, c := range []struct {
		name string
		sel  assembly.Selection
		want []string // or one "error: …"
	}{
		{"by name", assembly.Selection{Patterns: []string{"Net"}}, []string{"Net"}},
		{"all", assembly.Selection{All: true}, []string{"Log", "Job", "Web", "Net", "Net.v2", "Prod-Db"}},
		{"several patterns, in the assembly's order, once (T-71)", assembly.Selection{Patterns: []string{"Net", "Net*"}}, []string{"Net", "Net.v2"}},
		{"only * is special (T-72)", assembly.Selection{Patterns: []string{"Net.v?"}}, []string{"error: no stack matches Net.v?; there are: Log, Job, Web, Net, Net.v2, Prod-Db (Prod/Db)"}},
		{"a dot is a dot (T-72)", assembly.Selection{Patterns: []string{"Net.*"}}, []string{"Net.v2"}},
		{"anchored (T-71)", assembly.Selection{Patterns: []string{"et"}}, []string{"error: no stack matches et"}},
		{"display name with a slash (T-71)", assembly.Selection{Patterns: []string{"Prod/*"}}, []string{"Prod-Db"}},
		{"* takes in a slash (T-71)", assembly.Selection{Patterns: []string{"*/*"}}, []string{"Prod-Db"}},
		{"dependencies, manifest and import (T-73)", assembly.Selection{Patterns: []string{"Job"}}, []string{"Job", "Web", "Net"}},
		{"reading an output adds nothing (T-73)", assembly.Selection{Patterns: []string{"Log"}}, []string{"Log"}},
		{"exclusively (T-73)", assembly.Selection{Patterns: []string{"Job"}, Exclusively: true}, []string{"Job"}},
		{"nothing said and several stacks (T-70)", assembly.Selection{}, []string{"error: name the stacks, or ask for all"}},
		{"nothing said to a command that takes one", assembly.Selection{One: true}, []string{"error: name the stack"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := a.Select(c.sel)
			if want, ok := strings.CutPrefix(c.want[0], "error: "); ok {
				var refused *assembly.SelectionError
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
					t.Errorf("want an error with %q, got %v", want, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, names(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	one := read(t, map[string]string{"manifest.json": manifest(stack("Only", "")), "Only.json": empty})
	if got, err := one.Select(assembly.Selection{}); err != nil || !cmp.Equal(names(got), []string{"Only"}) {
		t.Errorf("the only stack needs no name (T-70): %v, %v", names(got), err)
	}
}

func TestOrder(t *testing.T) { // T-74, T-75
	a := app(t)
	after, err := a.Order(a.Stacks)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"Job": {"Web"}, "Web": {"Net"}, "Log": {"Job"}}, after); diff != "" {
		t.Error(diff)
	}
	sorted, err := a.Sorted(a.Stacks)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Net", "Web", "Job", "Log", "Net.v2", "Prod-Db"}, names(sorted)); diff != "" {
		t.Error(diff)
	}
	some, err := a.Select(assembly.Selection{Patterns: []string{"Log", "Net"}})
	if err != nil {
		t.Fatal(err)
	}
	if after, err := a.Order(some); err != nil || len(after) != 0 {
		t.Errorf("stacks that are not selected make no order: %v, %v", after, err)
	}

	regions := read(t, map[string]string{
		"manifest.json": manifest(stack("Us", `, "environment": "aws://1/us-east-1"`) + "," + stack("Eu", `, "environment": "aws://1/eu-west-1"`) + "," +
			stack("Reader", `, "environment": "aws://1/eu-west-1"`) + "," + stack("Any", `, "environment": "aws://1/unknown-region"`)),
		"Us.json":     `{"Outputs": {"V": {"Value": 1, "Export": {"Name": "both"}}}}`,
		"Eu.json":     `{"Outputs": {"V": {"Value": 1, "Export": {"Name": "both"}}}}`,
		"Reader.json": `{"Outputs": {"V": {"Value": {"Fn::ImportValue": "both"}}}}`,
		"Any.json":    `{"Outputs": {"V": {"Value": {"Fn::ImportValue": "both"}}}}`,
	})
	if after, err := regions.Order(regions.Stacks); err != nil || !cmp.Equal(after, map[string][]string{"Reader": {"Eu"}, "Any": {"Us"}}) {
		t.Errorf("an import waits for the export of its own region (T-278), else for the first (T-74): %v, %v", after, err)
	}

	circle := read(t, map[string]string{
		"manifest.json": manifest(stack("A", `, "dependencies": ["B"]`) + "," + stack("B", "")),
		"A.json":        `{"Outputs": {"V": {"Value": 1, "Export": {"Name": "a"}}}}`,
		"B.json":        `{"Outputs": {"V": {"Value": {"Fn::ImportValue": "a"}}}}`,
	})
	var cycle *assembly.CycleError
	if _, err := circle.Sorted(circle.Stacks); !errors.As(err, &cycle) || !strings.Contains(err.Error(), "A -> B -> A") {
		t.Errorf("want a *CycleError, got %v", err)
	}
}
