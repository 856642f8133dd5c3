package assembly_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/template"
)

// folder writes files, a name and its content each, and returns where.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, files map[string]string) *assembly.Assembly {
	t.Helper()
	a, err := assembly.Read(folder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// manifest wraps artifacts.
func manifest(artifacts string) string {
	return `{"version": "36.0.0", "artifacts": {` + artifacts + `}}`
}

// stack is an artifact whose template is <id>.json.
func stack(id, more string) string {
	return fmt.Sprintf(`%q: {"type": "aws:cloudformation:stack", "environment": "aws://123456789012/eu-west-1", "properties": {"templateFile": "%s.json"}%s}`, id, id, more)
}

const empty = `{"Resources": {}}`

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"not an assembly", map[string]string{"x": ""}, []string{"manifest.json: there is no such file; this is not a cloud assembly: give the folder that cdk synth writes"}},
		{"truncated manifest", map[string]string{"manifest.json": `{"version": "36.0.0", "artifacts": {`}, []string{"manifest.json: not JSON: line 1: the JSON text ends too early"}},
		{"manifest of something else", map[string]string{"manifest.json": `{"name": "app"}`}, []string{"manifest.json: there is no version"}},
		{"manifest of another shape", map[string]string{"manifest.json": `{"version": "36.0.0", "artifacts": []}`}, []string{"manifest.json: artifacts: want a JSON object, got a list"}},
		{"newer version (T-14)", map[string]string{"manifest.json": `{"version": "56.0.0"}`}, []string{"version 56.0.0 of the cloud assembly, and only versions up to 55 are known; update the action"}},
		{"version that is none", map[string]string{"manifest.json": `{"version": "new"}`}, []string{`version "new" is not of the form 1.2.3`}},
		{"missing template (T-53)", map[string]string{"manifest.json": manifest(stack("A", ""))}, []string{"A.json: template of stack A: there is no such file"}},
		{"no templateFile (T-53)", map[string]string{"manifest.json": manifest(`"A": {"type": "aws:cloudformation:stack"}`)}, []string{"manifest.json: stack A names no templateFile"}},
		{"template out of the assembly (T-59)", map[string]string{"manifest.json": manifest(`"A": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "../A.json"}}`)}, []string{`stack A: templateFile: "../A.json" leads out of the assembly`}},
		{"absolute template (T-58)", map[string]string{"manifest.json": manifest(`"A": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "C:\\A.json"}}`)}, []string{"is not a relative path"}},
		{"faults of several stacks together (T-62)",
			map[string]string{"manifest.json": manifest(stack("A", "") + "," + stack("B", "")), "A.json": `{"Resources": {"X": {}}}`, "B.json": `[]`},
			[]string{"2 faults:", "A.json: stack A: template A.json: Resources.X: a resource needs a Type", "B.json: stack B: template B.json: want a JSON object, got a list"}},
		{"duplicate stack names (T-62)",
			map[string]string{"manifest.json": manifest(`"A": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "t.json", "stackName": "S"}}, "B": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "t.json", "stackName": "S"}}`), "t.json": empty},
			[]string{"two stacks are named S: artifacts A and B", "in one region of an account there is one of a name: give one another stackName, or another env"}},
		{"duplicate stack names, of which one may go to the region of the other (T-62)",
			map[string]string{"manifest.json": manifest(`"A": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "t.json", "stackName": "S"}}, "B": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/eu-west-1", "properties": {"templateFile": "t.json", "stackName": "S"}}`), "t.json": empty},
			[]string{"two stacks are named S: artifacts A and B", "may go to any place, and so to that of the other: give both an env, or another stackName"}},
		{"a stack that the app calls as another is named, where names do not tell",
			map[string]string{"manifest.json": manifest(`"A": {"type": "aws:cloudformation:stack", "environment": "aws://1/us-east-1", "properties": {"templateFile": "t.json", "stackName": "S"}}, "B": {"type": "aws:cloudformation:stack", "environment": "aws://1/eu-west-1", "properties": {"templateFile": "t.json", "stackName": "S"}}, "C": {"type": "aws:cloudformation:stack", "properties": {"templateFile": "t.json", "stackName": "A"}}`), "t.json": empty},
			[]string{"stack S (A) and stack A cannot be told apart by A"}},
		{"nested assembly that is not there (T-51, T-52)", map[string]string{"manifest.json": manifest(`"N": {"type": "cdk:cloud-assembly", "properties": {"directoryName": "n"}}`)}, []string{"n/manifest.json: there is no such file"}},
		{"nested assembly out of the assembly (T-59)", map[string]string{"manifest.json": manifest(`"N": {"type": "cdk:cloud-assembly", "properties": {"directoryName": ".."}}`)}, []string{"leads out of the assembly"}},
		{"nested assembly that is the assembly", map[string]string{"manifest.json": manifest(`"N": {"type": "cdk:cloud-assembly", "properties": {"directoryName": "."}}`)}, []string{"is in the assembly already"}},
		{"dependency on nothing", map[string]string{"manifest.json": manifest(stack("A", `, "dependencies": ["B"]`)), "A.json": empty}, []string{"artifact A depends on B: there is no such artifact"}},
		{"environment", map[string]string{"manifest.json": manifest(`"A": {"type": "aws:cloudformation:stack", "environment": "aws:x", "properties": {"templateFile": "A.json"}}`), "A.json": empty}, []string{`environment "aws:x" is not of the form aws://account/region`}},
		{"truncated assets", map[string]string{
			"manifest.json": manifest(stack("A", `, "dependencies": ["A.assets"]`) + `, "A.assets": {"type": "cdk:asset-manifest", "properties": {"file": "A.assets.json"}}`),
			"A.json":        empty, "A.assets.json": `{"files":`}, []string{"A.assets.json: assets of stack A: not JSON"}},
		{"asset without a destination's key", map[string]string{
			"manifest.json": manifest(stack("A", `, "dependencies": ["A.assets"]`) + `, "A.assets": {"type": "cdk:asset-manifest", "properties": {"file": "A.assets.json"}}`),
			"A.json":        empty, "A.assets.json": `{"files": {"h": {"source": {"path": "x"}, "destinations": {"d": {"bucketName": "b"}}}}}`}, []string{"files.h: destinations.d needs bucketName and objectKey"}},
		{"nested template that is not there", map[string]string{"manifest.json": manifest(stack("A", "")), "A.json": `{"Resources": {"N": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "n.json"}}}}`}, []string{"n.json: template of stack A/N: there is no such file"}},
		{"nested template out of the assembly (T-59)", map[string]string{"manifest.json": manifest(stack("A", "")), "A.json": `{"Resources": {"N": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "../n.json"}}}}`}, []string{"nested stack N of stack A: aws:asset:path:", "leads out of the assembly"}},
		{"nested template by URL alone (T-702)", map[string]string{"manifest.json": manifest(stack("A", "")), "A.json": `{"Resources": {"N": {"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": "https://x/y.json"}}}}`}, []string{"a URL alone is never fetched"}},
		{"nested template in itself", map[string]string{"manifest.json": manifest(stack("A", "")), "A.json": `{"Resources": {"N": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "A.json"}}}}`}, []string{"its template contains itself"}},
		{"macro in a nested template (T-89, T-90)", map[string]string{"manifest.json": manifest(stack("A", "")), "n.json": `{"Transform": "M"}`, "A.json": `{"Resources": {"N": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "n.json"}}}}`}, []string{"stack A/N uses M, and macros of a nested stack cannot be expanded"}},
		{"metadata file of another shape (T-65)", map[string]string{"manifest.json": manifest(stack("A", `, "additionalMetadataFile": "m.json"`)), "A.json": empty, "m.json": `{"/A": {}}`}, []string{"m.json: metadata of stack A: metadata of /A: want a list, got an object"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folder(t, c.files)
			a, err := assembly.Read(dir)
			var faults *assembly.Faults
			if !errors.As(err, &faults) || a != nil {
				t.Fatalf("want *Faults, got %v", err)
			}
			if !strings.HasPrefix(err.Error(), "read assembly "+dir) {
				t.Errorf("the folder is not named: %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in: %v", want, err)
				}
			}
		})
	}
	if _, err := assembly.Read(filepath.Join(t.TempDir(), "gone")); err == nil || !strings.Contains(err.Error(), "there is no such folder") {
		t.Errorf("got %v", err)
	}
	var version *assembly.VersionError
	if _, err := assembly.Read(folder(t, map[string]string{"manifest.json": `{"version": "99.0.0"}`})); !errors.As(err, &version) || version.Version != "99.0.0" {
		t.Errorf("want a *VersionError, got %v", err)
	}
	var faults *template.Faults
	if _, err := assembly.Read(folder(t, map[string]string{"manifest.json": manifest(stack("A", "")), "A.json": `{"Resources": {"X": {}}}`})); !errors.As(err, &faults) {
		t.Errorf("the template's faults cannot be found in %v", err)
	}
}

func TestLinksDoNotLeadOut(t *testing.T) { // T-59
	outside := folder(t, map[string]string{"A.json": empty})
	dir := folder(t, map[string]string{"manifest.json": manifest(stack("A", ""))})
	if err := os.Symlink(filepath.Join(outside, "A.json"), filepath.Join(dir, "A.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := assembly.Read(dir); err == nil || !strings.Contains(err.Error(), "is a link that leads out of the assembly") {
		t.Errorf("got %v", err)
	}
}

func TestRead(t *testing.T) {
	a := read(t, map[string]string{
		"manifest.json": `{"version": "36.0.0", "artifacts": {
			"First": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/unknown-region", "displayName": "First",
				"properties": {"templateFile": "t.json", "terminationProtection": true},
				"additionalMetadataFile": "m.json",
				"metadata": {"/First": [{"type": "aws:cdk:warning", "data": "careful"}, {"type": "aws:cdk:logicalId", "data": "X"}]},
				"dependencies": ["First.assets"]},
			"First.assets": {"type": "cdk:asset-manifest", "properties": {"file": "First.assets.json"}},
			"assembly-Prod": {"type": "cdk:cloud-assembly", "properties": {"directoryName": "assembly-Prod"}},
			"Last": {"type": "aws:cloudformation:stack", "environment": "aws://123456789012/eu-west-1", "properties": {"templateFile": "t.json"}, "dependencies": ["assembly-Prod"]},
			"Tree": {"type": "cdk:tree", "properties": {"file": "tree.json"}}},
			"missing": [{"key": "vpc:1", "provider": "vpc-provider", "props": {"a": 1}}]}`,
		"t.json":            empty,
		"m.json":            `{"/First/X": [{"type": "aws:cdk:error", "data": {"a": 1}}, {"type": "aws:cdk:info"}]}`,
		"First.assets.json": `{"version": "36.0.0", "files": {"h": {"displayName": "Code", "source": {"path": "../outside", "packaging": "zip"}, "destinations": {"d": {"bucketName": "b", "objectKey": "h.zip"}}}}, "dockerImages": {"i": {"source": {"directory": "d"}, "destinations": {"d": {"repositoryName": "r", "imageTag": "t"}}}}}`,
		"assembly-Prod/manifest.json": `{"version": "36.0.0", "artifacts": {
			"ProdDb": {"type": "aws:cloudformation:stack", "displayName": "Prod/Db", "environment": "aws://123456789012/eu-west-1", "properties": {"templateFile": "t.json", "stackName": "Prod-Db"}, "dependencies": ["First"]},
			"ProdWeb": {"type": "aws:cloudformation:stack", "displayName": "Prod/Web", "environment": "aws://123456789012/eu-west-1", "properties": {"templateFile": "t.json", "stackName": "Prod-Web"}, "dependencies": ["ProdDb", "ProdWeb"]}}}`,
		"assembly-Prod/t.json": empty,
	})
	type row struct {
		Name, Display, Account, Region string
		DependsOn                      []string
	}
	var got []row
	for _, s := range a.Stacks {
		got = append(got, row{s.Name, s.DisplayName, s.AccountID, s.Region, s.DependsOn})
	}
	want := []row{ // T-50, T-53, T-54, T-57, T-63, T-64
		{"First", "First", "", "", nil},
		{"Prod-Db", "Prod/Db", "123456789012", "eu-west-1", []string{"First"}},
		{"Prod-Web", "Prod/Web", "123456789012", "eu-west-1", []string{"Prod-Db"}},
		{"Last", "Last", "123456789012", "eu-west-1", []string{"Prod-Db", "Prod-Web"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	first := a.Stack("First", "", "")
	if !first.TerminationProtection { // T-60
		t.Error("termination protection is lost")
	}
	if first.Assets == nil || len(first.Assets.Files) != 1 || len(first.Assets.Images) != 1 { // T-56, T-100
		t.Errorf("assets: %+v", first.Assets)
	}
	if _, err := first.Assets.Source("../outside"); err == nil { // T-107
		t.Error("a source outside of the assembly is taken")
	}
	wantMessages := []assembly.Message{ // T-65
		{Level: assembly.Warning, Path: "/First", Text: "careful"},
		{Level: assembly.Error, Path: "/First/X", Text: `{"a":1}`},
		{Level: assembly.Info, Path: "/First/X"},
	}
	if diff := cmp.Diff(wantMessages, first.Messages); diff != "" {
		t.Error(diff)
	}
	if got := first.Worst(assembly.Warning); len(got) != 2 || got[0].String() != `[Error at /First/X] {"a":1}` { // T-66
		t.Errorf("got %v", got)
	}
	var missing *assembly.MissingError
	if err := a.CheckContext(); !errors.As(err, &missing) || !strings.Contains(err.Error(), "vpc:1") { // T-3
		t.Errorf("got %v", err)
	}
}

func TestNestedTemplates(t *testing.T) { // T-58, T-702
	nested := func(properties, metadata string) string {
		return `{"Resources": {"N": {"Type": "AWS::CloudFormation::Stack", "Properties": {` + properties + `}, "Metadata": {` + metadata + `}}}}`
	}
	a := read(t, map[string]string{
		"manifest.json": manifest(
			stack("Path", "") + "," +
				stack("Asset", `, "dependencies": ["Asset.assets"]`) + `, "Asset.assets": {"type": "cdk:asset-manifest", "properties": {"file": "a.json"}},` +
				stack("Parameter", `, "metadata": {"/P": [{"type": "aws:cdk:asset", "data": {"path": "n/child.json", "s3BucketParameter": "AssetParam1"}}]}`)),
		"Path.json":         nested("", `"aws:asset:path": "n/child.json"`),
		"Asset.json":        nested(`"TemplateURL": {"Fn::Join": ["", ["https://", {"Ref": "AWS::Region"}, "/bucket/hash.json"]]}`, ""),
		"Parameter.json":    nested(`"TemplateURL": {"Fn::Join": ["", [{"Ref": "AssetParam1"}, "/x"]]}`, ""),
		"a.json":            `{"files": {"hash": {"source": {"path": "n/child.json"}, "destinations": {"d": {"bucketName": "bucket", "objectKey": "hash.json"}}}}}`,
		"n/child.json":      nested("", `"aws:asset:path": "grandchild.json"`),
		"n/grandchild.json": empty,
	})
	for _, s := range a.Stacks {
		n := s.Nested["N"]
		if n == nil || filepath.Base(n.File) != "child.json" || n.Nested["N"] == nil || filepath.Base(n.Nested["N"].File) != "grandchild.json" {
			t.Errorf("stack %s: %+v", s, n)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(manifest(stack("A", `, "dependencies": ["A", "N"], "metadata": {"/A": [{"type": "aws:cdk:info", "data": 1}]}`)+`, "N": {"type": "cdk:cloud-assembly", "properties": {"directoryName": "n"}}`)), []byte(`{"Outputs": {"O": {"Value": 1, "Export": {"Name": "e"}}}}`), []byte(`{"files": {"a": {"source": {"path": "A.json"}, "destinations": {}}}}`))
	f.Fuzz(func(t *testing.T, manifest, template, assets []byte) {
		dir := t.TempDir()
		for name, body := range map[string][]byte{"manifest.json": manifest, "A.json": template, "A.assets.json": assets} {
			if err := os.WriteFile(filepath.Join(dir, name), body, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		a, err := assembly.Read(dir)
		if err != nil {
			if !json.Valid(manifest) && !strings.Contains(err.Error(), "manifest.json") {
				t.Errorf("the file is not named: %v", err)
			}
			return
		}
		if stacks, err := a.Select(assembly.Selection{All: true}); err == nil {
			a.Sorted(stacks)
		}
	})
}
