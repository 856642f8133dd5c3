package reference_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/org/cdkd-action/engine/reference"
	"github.com/org/cdkd-action/internal/sandbox"
)

const hidden = "a-password-of-theirs"

func start(t *testing.T) (*sandbox.Sandbox, *reference.Resolver) {
	t.Helper()
	cloud, err := sandbox.Start(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cloud.Close() })
	parameters := ssm.NewFromConfig(cloud.Config())
	for name, p := range map[string]struct {
		kind types.ParameterType
		text string
	}{
		"/shop/name": {types.ParameterTypeString, "plain"},
		"/shop/list": {types.ParameterTypeStringList, "a,b"},
		"/shop/pass": {types.ParameterTypeSecureString, hidden},
	} {
		if _, err := parameters.PutParameter(t.Context(), &ssm.PutParameterInput{Name: &name, Type: p.kind, Value: &p.text}); err != nil {
			t.Fatal(err)
		}
	}
	secrets := secretsmanager.NewFromConfig(cloud.Config())
	for name, text := range map[string]string{
		"json": `{"user": "admin", "pass": "` + hidden + `", "port": 5432, "deep": {"k": [1]}}`,
		"text": hidden,
	} {
		if _, err := secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: &text}); err != nil {
			t.Fatal(err)
		}
	}
	cloud.ClearLog()
	return cloud, reference.New(cloud.Config())
}

// What a dynamic reference stands for, and whether it may be shown (S-154).
// A failure names the reference and never quotes the secret.
func TestDynamic(t *testing.T) {
	_, r := start(t)
	for name, tt := range map[string]struct {
		service, reference string
		want               string
		secret             bool
		err                string
	}{
		"plain parameter":             {"ssm", "/shop/name", "plain", false, ""},
		"list":                        {"ssm", "/shop/list", "a,b", false, ""},
		"SecureString, either way":    {"ssm", "/shop/pass", hidden, true, ""},
		"ssm-secure":                  {"ssm-secure", "/shop/pass", hidden, true, ""},
		"ssm-secure of a plain one":   {"ssm-secure", "/shop/name", "", false, "no SecureString"},
		"missing parameter":           {"ssm", "/shop/none", "", false, "{{resolve:ssm:/shop/none}}"},
		"whole secret":                {"secretsmanager", "text", hidden, true, ""},
		"SecretString":                {"secretsmanager", "text:SecretString", hidden, true, ""},
		"key":                         {"secretsmanager", "json:SecretString:pass", hidden, true, ""},
		"key of a number":             {"secretsmanager", "json:SecretString:port", "5432", true, ""},
		"key of an object":            {"secretsmanager", "json:SecretString:deep", `{"k":[1]}`, true, ""},
		"key with stage":              {"secretsmanager", "json:SecretString:user:AWSCURRENT", "admin", true, ""},
		"missing key":                 {"secretsmanager", "json:SecretString:none", "", false, "has no key none"},
		"key of what is not JSON":     {"secretsmanager", "text:SecretString:user", "", false, "not a JSON object"},
		"binary":                      {"secretsmanager", "text:SecretBinary", "", false, "only SecretString"},
		"more than a version (T-286)": {"secretsmanager", "json:SecretString:user:AWSCURRENT::x", "", false, "and nothing else"},
		"a longer word (T-286)":       {"secretsmanager", "json:SecretStringuser", "", false, "has to be SecretString"},
		"no secret":                   {"secretsmanager", ":SecretString:user", "", false, "names no secret"},
		"region that is a host":       {"secretsmanager", "arn:aws:secretsmanager:evil.example/:123456789012:secret:text-abcdef", "", false, "is not the ARN of a secret"},
		"missing secret":              {"secretsmanager", "none", "", false, "{{resolve:secretsmanager:none}}"},
		"service that does not exist": {"vault", "x", "", false, "no such service"},
	} {
		t.Run(name, func(t *testing.T) {
			text, secret, err := r.Dynamic(t.Context(), tt.service, tt.reference)
			if text != tt.want || secret != tt.secret || (err != nil) != (tt.err != "") {
				t.Errorf("%q, secret %t, %v; want %q, secret %t, %q", text, secret, err, tt.want, tt.secret, tt.err)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), hidden)) {
				t.Errorf("error %v, want one with %q and without the secret", err, tt.err)
			}
		})
	}
}

// A region becomes part of a host name, so it must be one.
func TestRegions(t *testing.T) {
	_, r := start(t)
	for _, region := range []string{"evil.example/", "us-east-1.evil", "", "US EAST"} {
		if _, _, err := r.DynamicIn(t.Context(), region, "ssm", "/shop/name"); err == nil {
			t.Errorf("%q is taken for a region", region)
		}
	}
}

// Parameters of a template (T-215) are read ten at a time, and a SecureString is none.
func TestSSMParameters(t *testing.T) {
	cloud, r := start(t)
	got, err := r.SSMParameters(t.Context(), []string{"/shop/name", "/shop/list", "/shop/name"})
	if err != nil || got["/shop/name"] != "plain" || got["/shop/list"] != "a,b" {
		t.Errorf("%v, %v", got, err)
	}
	if n := len(cloud.Log()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if _, err := r.SSMParameters(t.Context(), []string{"/shop/pass"}); err == nil || strings.Contains(err.Error(), hidden) {
		t.Errorf("a SecureString: %v", err)
	}
	if _, err := r.SSMParameters(t.Context(), []string{"/shop/none", "/shop/name"}); err == nil || !strings.Contains(err.Error(), "/shop/none") {
		t.Errorf("a missing one: %v", err)
	}
}

// Those who ask the same at the same time share an answer; a failure is asked
// again (T-292).
func TestAskedOnce(t *testing.T) {
	cloud, r := start(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, _, err := r.Dynamic(t.Context(), "ssm", "/shop/name"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(cloud.Log()); n != 1 {
		t.Errorf("%d requests for one answer", n)
	}
	for range 2 {
		if _, _, err := r.Dynamic(t.Context(), "ssm", "/shop/none"); err == nil {
			t.Error("a parameter that does not exist")
		}
	}
	if n := len(cloud.Log()); n != 3 {
		t.Errorf("%d requests, want one for each failure", n-1)
	}
}

// Exports and outputs of CloudFormation's own stacks; what is not there is told
// apart from what cannot be read.
func TestExports(t *testing.T) {
	cloud, r := start(t)
	cloud.AddFault(sandbox.Fault{Service: "cloudformation", Action: "ListExports", Status: 403, Code: "AccessDenied", Count: 1})
	if _, err := r.Export(t.Context(), "shop-url"); err == nil || errors.Is(err, reference.ErrNoExport) {
		t.Errorf("denied: %v", err)
	}
	if _, err := r.Export(t.Context(), "shop-url"); !errors.Is(err, reference.ErrNoExport) {
		t.Errorf("absent: %v", err)
	}
	if _, err := r.StackOutput(t.Context(), "none", "Url", ""); err == nil {
		t.Error("an output of a stack that does not exist")
	}
}
