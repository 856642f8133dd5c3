package corpus

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

const account = "123456789012"

// An entry is one assembly, as the corpus's index has it.
type entry struct {
	Name          string
	Kind          string // snapshot, synthesized, fixture
	ResourceTypes map[string]int

	dir string
}

func (e entry) fixture() bool { return e.Kind == "fixture" }

// committed is the part of the corpus that is in the repository.
var committed = filepath.Join("..", "..", "testdata", "corpus")

func corpusDir() (dir string, whole bool) {
	if dir := os.Getenv("CDKD_CORPUS"); dir != "" {
		return dir, true
	}
	return committed, false
}

func entries(t *testing.T) []entry {
	t.Helper()
	dir, _ := corpusDir()
	return index(t, dir)
}

// index reads the index of a folder of assemblies.
func index(t *testing.T, dir string) []entry {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index struct{ Assemblies []entry }
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	for i := range index.Assemblies {
		index.Assemblies[i].dir = filepath.Join(dir, index.Assemblies[i].Name)
	}
	if len(index.Assemblies) == 0 {
		t.Fatalf("%s names no assembly", filepath.Join(dir, "index.json"))
	}
	return index.Assemblies
}

// assetBucket is where the assets are that CDK 1 hands to templates as
// parameters.
const assetBucket = "corpus-assets"

// given returns a value for every parameter that has no default, or whose default
// a rule of the template refuses. CloudFormation would ask for them as well.
func given(stacks []*assembly.Stack) map[string]string {
	values := map[string]string{}
	for _, s := range stacks {
		for _, p := range s.Template.Parameters {
			if _, ruled := particular[p.Name]; p.Default == nil || ruled && p.Default == "" {
				values[s.Name+":"+p.Name] = valueFor(p)
			}
		}
	}
	return values
}

// particular are the values of parameters that take no odd ones.
var particular = map[string]string{
	"AdminUserEmail":     "somebody@example.com",
	"InstanceURI":        "https://corpus.service-now.com",
	"SecretArn":          "arn:aws:secretsmanager:us-east-1:123456789012:secret:corpus",
	"SecHubAdminAccount": account,
}

func valueFor(p *template.Parameter) string {
	if v, ok := particular[p.Name]; ok {
		return v
	}
	if allowed, ok := p.Declaration.Value("AllowedValues").([]any); ok && len(allowed) > 0 {
		text, _ := value.Text(allowed[0])
		return text
	}
	switch {
	case strings.Contains(p.Name, "S3Bucket"): // of an asset, by CDK 1
		return assetBucket
	case strings.Contains(p.Name, "S3VersionKey"):
		return "corpus/||asset.zip"
	case strings.HasPrefix(p.Type, "AWS::SSM::Parameter::"):
		return "/corpus/" + p.Name
	case p.Type == "Number":
		return "7"
	case strings.Contains(p.Name, "Arn"):
		return "arn:aws:elasticloadbalancing:us-east-1:" + account + ":targetgroup/net/corpus/0123456789abcdef"
	case strings.Contains(strings.ToLower(p.Name), "email"):
		return "somebody@example.com"
	case strings.Contains(strings.ToLower(p.Name), "url"):
		return "https://example.com/"
	}
	return strings.ToLower(p.Name)
}

// ssmNames are the parameters of the store that a stack's parameters name.
func ssmNames(s *assembly.Stack, values map[string]string) (names []string) {
	for _, p := range s.Template.Parameters {
		if !strings.HasPrefix(p.Type, "AWS::SSM::Parameter::Value") || p.Name == "BootstrapVersion" {
			continue
		}
		name, ok := values[s.Name+":"+p.Name]
		if !ok {
			name, ok = p.Default.(string)
		}
		if ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
