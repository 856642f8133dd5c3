package assembly_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// made answers as after a deployment: every resource is there, and every
// secret can be read. Its texts have enough parts for what templates cut out.
type made struct{ unmade }

const plaintext = "pl41nt3xt"

// ending has what templates split at: URLs, roles, providers, generated names.
const ending = "-1:7:8/1/2/3/4/5/out/6//x:oidc-provider/y:role/z-1-2"

func (made) Ref(_ context.Context, id string) (any, error) {
	return "arn:aws:ref:us-east-1:123456789012:t/" + id + "/n:n-" + id + ending, nil
}
func (made) Attribute(_ context.Context, id, name string) (any, error) {
	switch name {
	case "NameServers", "Ipv6CidrBlocks", "DnsIpAddresses", "DnsEntries":
		return []any{"2001:db8::/56", "2001:db8:1::/56"}, nil
	case "CidrBlock":
		return "10.0.0.0/16", nil
	}
	return "arn:aws:att:us-east-1:123456789012:t/" + id + "/n:https://" + name + ending, nil
}
func (made) Import(_ context.Context, name string) (any, error) {
	return "arn:aws:export:us-east-1:123456789012:t/" + name + "/n:n" + ending, nil
}
func (made) Dynamic(_ context.Context, service, reference string) (string, bool, error) {
	if service == "ssm" {
		return "arn:aws:ssm:us-east-1:123456789012:" + reference, false, nil
	}
	return plaintext + " of " + reference, true, nil
}

// mismatch are the resources for which made has no answer of the right shape.
var mismatch = map[string]string{
	"MyConfigFromBucket064B5420": "Fn::Select[1]: want a list, got a string", // an attribute that is a list
}

func TestCorpusEvaluatesStrictly(t *testing.T) {
	secrets := 0
	for _, a := range index(t) {
		if a.Kind == "fixture" || macros[a.Name] != "" {
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			asm, err := assembly.Read(filepath.Join(corpus(t), a.Name))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range asm.Stacks {
				if unsound[s.Name] != "" {
					continue
				}
				secrets += evaluate(t, s.Template, template.Environment{
					AccountID: "123456789012", Region: "us-east-1", StackName: s.Name,
					StackID: template.StackID("123456789012", "us-east-1", "cdkd", s.Name),
				})
			}
		})
	}
	if secrets == 0 {
		t.Error("no template of the corpus held a secret")
	}
}

// evaluate resolves a whole stack and returns how many resources held secrets.
func evaluate(t *testing.T, tmpl *template.Template, env template.Environment) (secrets int) {
	t.Helper()
	params := map[string]string{}
	for _, p := range tmpl.Parameters {
		if p.Default == nil {
			params[p.Name] = placeholderFor(p)
		}
	}
	set := &secret.Set{}
	s, err := tmpl.Bind(t.Context(), env, params, made{}, template.Secrets(set))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Resources() {
		v, err := s.ResolvedProperties(t.Context(), r.LogicalID)
		if err != nil {
			if want := mismatch[r.LogicalID]; want == "" || !strings.Contains(err.Error(), want) {
				t.Errorf("stack %s: %v", env.StackName, err)
			}
			continue
		}
		clear, stored := value.JSON(v.Clear), value.JSON(v.Stored)
		if open(v.Clear) {
			t.Errorf("stack %s: %s still holds functions: %s", env.StackName, r.LogicalID, clear)
		}
		if strings.Contains(stored, plaintext) {
			t.Errorf("stack %s: %s would be stored with a secret: %s", env.StackName, r.LogicalID, stored)
		}
		if !strings.Contains(clear, plaintext) {
			continue
		}
		secrets++
		for name, source := range map[string]any{"its stored form": v.Stored, "the template": r.Properties, "nothing": nil} {
			if redacted, _ := set.Redact(v.Clear, source); strings.Contains(value.JSON(redacted), plaintext) {
				t.Errorf("stack %s: %s redacted by %s holds a secret: %s", env.StackName, r.LogicalID, name, value.JSON(redacted))
			}
		}
		if masked := set.Mask(clear); strings.Contains(masked, plaintext) {
			t.Errorf("stack %s: %s would be logged with a secret: %s", env.StackName, r.LogicalID, masked)
		}
	}
	for _, o := range s.Outputs() {
		v, _, _, err := s.Output(t.Context(), o.Name)
		if err != nil && mismatch[o.Name] == "" {
			t.Errorf("stack %s: %v", env.StackName, err)
		}
		if strings.Contains(value.JSON(v), plaintext) {
			t.Errorf("stack %s: output %s holds a secret", env.StackName, o.Name)
		}
	}
	return secrets
}
