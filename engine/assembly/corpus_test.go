package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// corpus returns the folder of assemblies: the one in the repository, or the
// larger one that CDKD_CORPUS names.
func corpus(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("CDKD_CORPUS"); dir != "" {
		return dir
	}
	return filepath.Join("..", "..", "testdata", "corpus")
}

type indexed struct {
	Name     string         `json:"name"`
	Kind     string         `json:"kind"`
	Features map[string]int `json:"features"`
	Stacks   []string       `json:"stacks"`
}

func index(t *testing.T) []indexed {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(corpus(t), "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Assemblies []indexed `json:"assemblies"`
	}
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Assemblies) < 40 {
		t.Fatalf("the corpus in %s has only %d assemblies", corpus(t), len(all.Assemblies))
	}
	return all.Assemblies
}

// unmade answers as before a first deployment: no resource is there yet.
type unmade struct{}

func (unmade) Ref(context.Context, string) (any, error) { return nil, template.ErrUnknown }
func (unmade) Attribute(context.Context, string, string) (any, error) {
	return nil, template.ErrUnknown
}
func (unmade) Import(context.Context, string) (any, error) { return nil, template.ErrUnknown }
func (unmade) StackOutput(context.Context, template.StackOutput) (any, error) {
	return nil, template.ErrUnknown
}
func (unmade) AvailabilityZones(_ context.Context, region string) ([]string, error) {
	return []string{region + "a", region + "b", region + "c"}, nil
}
func (unmade) SSMParameters(_ context.Context, names []string) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range names {
		values[name] = "ami-00000000"
	}
	return values, nil
}
func (unmade) Dynamic(_ context.Context, service, reference string) (string, bool, error) {
	if service != "ssm" {
		return "", false, fmt.Errorf("a preview asked for %s:%s", service, reference)
	}
	return "", false, template.ErrUnknown
}

// macros are the templates that only CloudFormation can expand.
var macros = map[string]string{
	"cdk-aws-docdb-cluster-rotation.lit":     "AWS::Serverless-2016-10-31",
	"cdk-aws-rds-cluster-snapshot":           "AWS::Serverless-2016-10-31",
	"cdk-aws-secretsmanager-hosted-rotation": "AWS::SecretsManager-2020-07-23",
	"cp-the-lambda-power-tuner-typescript":   "AWS::Serverless-2016-10-31",
	"ex-rds-oracle":                          "AWS::Serverless-2016-10-31",
}

func TestCorpusPreviews(t *testing.T) {
	const mostMissing = 11
	missing := 0
	for _, a := range index(t) {
		if a.Kind == "fixture" {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			asm, err := assembly.Read(filepath.Join(corpus(t), a.Name))
			if err != nil {
				t.Fatal(err)
			}
			if _, has := a.Features["missingContext"]; has {
				missing++
				if asm.CheckContext() == nil {
					t.Error("open lookups were not noticed (T-3)")
				}
			} else if err := asm.CheckContext(); err != nil {
				t.Error(err)
			}
			if _, err := asm.Sorted(asm.Stacks); err != nil {
				t.Error(err)
			}
			expanded := false
			for _, s := range asm.Stacks {
				if len(s.Template.Macros()) > 0 {
					expanded = true
					if slices.Contains(s.Template.Macros(), macros[a.Name]) {
						continue
					}
					t.Errorf("stack %s: macros %q are not on the list", s, s.Template.Macros())
				}
				region := s.Region
				if region == "" {
					region = "us-east-1"
				}
				env := template.Environment{AccountID: "123456789012", Region: region, StackName: s.Name, StackID: template.StackID("123456789012", region, "cdkd", s.Name)}
				preview(t, s.String(), s.Template, env)
				previewNested(t, s.String(), s.Nested, env)
			}
			if _, listed := macros[a.Name]; listed && !expanded {
				t.Error("is on the list of those with macros, and has none")
			}
		})
	}
	if missing > mostMissing {
		t.Errorf("%d assemblies have open lookups, %d are known", missing, mostMissing)
	}
}

func previewNested(t *testing.T, stack string, nested map[string]*assembly.Nested, env template.Environment) {
	for id, n := range nested {
		env.StackName += "~" + id
		preview(t, stack+"/"+id, n.Template, env)
		previewNested(t, stack+"/"+id, n.Nested, env)
	}
}

// unsound are stacks that no CloudFormation would take: they name resources
// that are not there. A diff shows them; a deployment refuses.
var unsound = map[string]string{
	"CdkdLocalStartApiFixture": `there is no resource "ImportedAuthFn"`,
}

func preview(t *testing.T, stack string, tmpl *template.Template, env template.Environment) {
	t.Helper()
	ctx := context.Background()
	params := map[string]string{}
	var options []template.Option
	for _, p := range tmpl.Parameters {
		switch {
		case strings.Contains(env.StackName, "~"): // the parent's resources decide
			options = append(options, template.Unknown(p.Name), template.Tolerant(func(err error) {
				if !errors.Is(err, template.ErrUnknown) {
					t.Errorf("stack %s: %v", stack, err)
				}
			}))
		case p.Default == nil:
			params[p.Name] = placeholderFor(p)
		}
	}
	before := value.JSON(tmpl.Body)
	s, err := tmpl.Bind(ctx, env, params, unmade{}, options...)
	if want, ok := unsound[env.StackName]; ok {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("stack %s: want an error with %q, got %v", stack, want, err)
		}
		warned := 0
		s, err = tmpl.Bind(ctx, env, params, unmade{}, template.Tolerant(func(error) { warned++ }))
		if warned == 0 {
			t.Errorf("stack %s: a diff does not warn", stack)
		}
	}
	if err != nil {
		t.Fatalf("stack %s: %v", stack, err)
	}
	for _, r := range s.Resources() {
		props, unresolved, err := s.Preview(ctx, r.LogicalID)
		if err != nil {
			t.Errorf("stack %s: %v", stack, err)
			continue
		}
		for _, name := range props.Keys() {
			holds := open(props.Value(name))
			if holds != slices.Contains(unresolved, name) {
				t.Errorf("stack %s: %s.%s: unresolved %v, is open %v: %s", stack, r.LogicalID, name, unresolved, holds, value.JSON(props.Value(name)))
			}
		}
		again, _, _ := s.Preview(ctx, r.LogicalID)
		if !value.Equal(props, again) {
			t.Errorf("stack %s: %s: a second preview differs", stack, r.LogicalID)
		}
	}
	for _, o := range s.Outputs() {
		if _, _, _, err := s.PreviewOutput(ctx, o.Name); err != nil {
			t.Errorf("stack %s: %v", stack, err)
		}
	}
	if value.JSON(tmpl.Body) != before {
		t.Errorf("stack %s: evaluation changed the template", stack)
	}
}

// placeholderFor gives a parameter without Default a value that it accepts.
func placeholderFor(p *template.Parameter) string {
	if allowed := p.Declaration.List("AllowedValues"); len(allowed) > 0 {
		text, _ := value.Text(allowed[0])
		return text
	}
	pattern := p.Declaration.String("AllowedPattern")
	switch {
	case p.Type == "Number":
		return "1"
	case strings.Contains(pattern, "service-now"):
		return "https://example.service-now.com"
	case strings.Contains(pattern, "secretsmanager"):
		return "arn:aws:secretsmanager:us-east-1:123456789012:secret:token"
	case strings.Contains(pattern, "12"):
		return "123456789012"
	case pattern != "":
		return "example"
	}
	// CDK 1 hands in bucket, key and hash of assets; the key is prefix||file.
	return "a1b2c3||file.zip"
}

func open(v any) bool {
	switch v := v.(type) {
	case *value.Object:
		if name, _, ok := v.Sole(); ok && (name == "Ref" || strings.HasPrefix(name, "Fn::")) {
			return true
		}
		for _, member := range v.All() {
			if open(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, open)
	case string:
		return strings.Contains(v, "{{resolve:ssm:")
	}
	return false
}

func TestCorpusFixtures(t *testing.T) {
	refused := map[string]string{
		"fixture-invalid-depends":            "artifact StackC depends on StackX: there is no such artifact",
		"fixture-invalid-env-format":         `environment "awsx://37736633/us-region-1" is not of the form aws://account/region`,
		"fixture-invalid-manifest-type-tree": "more than one construct tree",
		"fixture-stack-without-params":       "stack MyStackName names no templateFile",
		"fixture-nested-assemblies":          "topLevelStack.template.json: not JSON: line 1: the JSON text ends too early",
	}
	read := map[string][]string{
		"fixture-assets":              {"MyStackName"},
		"fixture-empty":               nil,
		"fixture-explicit-stack-name": {"TheStackName"},
	}
	for _, a := range index(t) {
		if a.Kind != "fixture" {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			asm, err := assembly.Read(filepath.Join(corpus(t), a.Name))
			if want, ok := refused[a.Name]; ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("want an error with %q, got %v", want, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range asm.Stacks {
				names = append(names, s.Name)
			}
			if !slices.Equal(names, read[a.Name]) {
				t.Errorf("want stacks %q, got %q", read[a.Name], names)
			}
		})
	}
}
