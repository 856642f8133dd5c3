package engine_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/permission"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/examples"
	"github.com/org/cdkd-action/internal/sandbox"
)

// allowed are the actions of policies, each with the resources.
func allowed(p *engine.Permissions) map[string][]string {
	all := map[string][]string{}
	for _, d := range p.Documents {
		for _, s := range d.List("Statement") {
			s := s.(*value.Object)
			for _, a := range s.List("Action") {
				for _, r := range s.List("Resource") {
					all[a.(string)] = append(all[a.(string)], r.(string))
				}
			}
		}
	}
	return all
}

// allows tells whether anything was asked of services since the log was cleared,
// and fails for what a policy does not allow.
func allows(t *testing.T, aws *sandbox.Sandbox, policy map[string][]string, purpose permission.Purpose) (any bool) {
	t.Helper()
	prefix := map[string]string{"monitoring": "cloudwatch", "cloudcontrolapi": "cloudformation", "tagging": "tag"}
	for _, r := range aws.Log() {
		if r.Service == "s3" || r.Service == "sts" || r.Service == "" || strings.Contains(r.Action, " /") {
			continue // by other names, or REST calls, by their paths
		}
		name := cmp.Or(prefix[r.Service], r.Service) + ":" + r.Action
		if name == "lambda:Invoke" {
			name = "lambda:InvokeFunction"
		}
		any = true
		if policy[name] == nil {
			t.Errorf("%s asks for %s, which its policy does not allow", purpose, name)
		}
	}
	return any
}

// What a deploy, a look for drift and a destroy of the shop ask for is in their policies; the roles
// that are passed are the template's (S-202, S-261).
func TestPoliciesAllowWhatIsDone(t *testing.T) {
	e, aws := newEngine(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, examples.Shop); err != nil {
		t.Fatal(err)
	}
	aws.S3.AddBucket("cdk-hnb659fds-assets-123456789012-us-east-1", "us-east-1", "")
	sel := engine.Selection{Assembly: filepath.Join(dir, "shop", "cdk.out"), Selection: assembly.Selection{All: true}}
	done := func(run *result.Run, err error) {
		t.Helper()
		if err != nil || run.Outcome != result.Success {
			t.Fatalf("%s: %v", run.Outcome, err)
		}
	}
	policy := func(purpose permission.Purpose) map[string][]string {
		t.Helper()
		p, err := e.Permissions(t.Context(), engine.PermissionsOptions{Selection: sel, For: purpose})
		if err != nil || len(p.Unknown) > 0 {
			t.Fatalf("permissions: %v, unknown: %v", err, p.Unknown)
		}
		return allowed(p)
	}
	asked := func(policy map[string][]string, purpose permission.Purpose) {
		t.Helper()
		if !allows(t, aws, policy, purpose) {
			t.Errorf("%s asked for nothing", purpose)
		}
		aws.ClearLog()
	}

	deploy := policy(permission.Deploy)
	roles := deploy["iam:PassRole"]
	if len(roles) == 0 || slices.ContainsFunc(roles, func(r string) bool { return !strings.HasPrefix(r, "arn:aws:iam::123456789012:role/ShopOrders-") }) {
		t.Errorf("roles that may be passed: %v", roles)
	}
	objects := []string{"arn:aws:s3:::cdk-hnb659fds-assets-123456789012-us-east-1/*", "arn:aws:s3:::state/_cdkd-registry/*", "arn:aws:s3:::state/cdkd/*"}
	if got := slices.Sorted(slices.Values(deploy["s3:PutObject"])); !slices.Equal(got, objects) {
		t.Errorf("objects that may be written: %v", got)
	}
	destroy, drift := policy(permission.Destroy), policy(permission.Drift)
	for _, action := range []string{"s3:GetObject", "s3:PutObject", "s3:DeleteObject"} {
		for purpose, policy := range map[permission.Purpose]map[string][]string{permission.Deploy: deploy, permission.Destroy: destroy} {
			if !slices.ContainsFunc(policy[action], func(on string) bool { return on == objects[1] || on == "*" }) {
				t.Errorf("%s may not %s of the names' registrations: %v", purpose, action, policy[action])
			}
		}
	}
	aws.ClearLog()
	done(e.Deploy(t.Context(), engine.DeployOptions{Selection: sel, ResourceTimeout: time.Minute, Baselines: true}))
	e.CaptureBaselines(t.Context())
	asked(deploy, permission.Deploy)
	e.Drift(t.Context(), engine.DriftOptions{Recorded: engine.RecordSelection{All: true}})
	asked(drift, permission.Drift)
	done(e.Destroy(t.Context(), engine.DestroyOptions{Selection: sel, ResourceTimeout: time.Minute}))
	asked(destroy, permission.Destroy)
	for _, never := range []string{"sqs:CreateQueue", "iam:PassRole", "s3:CreateBucket"} {
		if destroy[never] != nil {
			t.Errorf("a destroy may %s", never)
		}
	}
	for purpose, policy := range map[permission.Purpose]map[string][]string{permission.Plan: policy(permission.Plan), permission.Drift: drift} {
		for action := range policy {
			_, verb, _ := strings.Cut(action, ":")
			if !slices.ContainsFunc([]string{"Get", "List", "Describe", "Read"}, func(v string) bool { return strings.HasPrefix(verb, v) }) { // Read is the sandbox's
				t.Errorf("%s may %s", purpose, action)
			}
		}
	}
}

// A first deploy asks whether CloudFormation has the stack, where names are declared
// (S-200, S-263).
func TestPolicyOfAFirstDeploy(t *testing.T) {
	for properties, want := range map[string][]string{
		`{}`:                      nil,
		`{"QueueName": "orders"}`: {"arn:aws:cloudformation:us-east-1:123456789012:stack/Formed/*"},
	} {
		f := assembled(t, `{"Resources": {"Queue": {"Type": "AWS::SQS::Queue", "Properties": `+properties+`}}}`)
		p, err := f.e.Permissions(t.Context(), engine.PermissionsOptions{Selection: f.selection(), For: permission.Deploy})
		if err != nil {
			t.Fatal(err)
		}
		if got := allowed(p)["cloudformation:DescribeStacks"]; !slices.Equal(got, want) {
			t.Errorf("with %s: %v, want %v", properties, got, want)
		}
	}
}

// What an export and the way back ask for is in their policies, and nothing that
// makes or deletes a resource is (S-315, S-316).
func TestPoliciesOfAHandoverAllowWhatIsDone(t *testing.T) {
	f := form(t, formed)
	for purpose, work := range map[permission.Purpose]func() error{
		permission.Export: func() error { _, err := f.export(); return err },
		permission.Import: func() error { _, err := f.takeOver(); return err },
	} {
		p, err := f.e.Permissions(t.Context(), engine.PermissionsOptions{Selection: f.selection(), For: purpose})
		if err != nil {
			t.Fatal(err)
		}
		policy := allowed(p)
		if purpose == permission.Import {
			if _, err := f.export(); err != nil {
				t.Fatal(err)
			}
		}
		f.aws.ClearLog()
		if err := work(); err != nil {
			t.Fatalf("%s: %v", purpose, err)
		}
		if !allows(t, f.aws, policy, purpose) {
			t.Errorf("%s asked for nothing", purpose)
		}
		for action := range policy {
			if strings.HasPrefix(action, "sqs:") && !strings.HasPrefix(action, "sqs:Get") && !strings.HasPrefix(action, "sqs:List") {
				t.Errorf("%s may %s", purpose, action)
			}
		}
		if purpose == permission.Export {
			if _, err := f.takeOver(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What the caller lacks is named with the resource; that IAM may not be asked is
// no answer.
func TestPermissionsAreChecked(t *testing.T) {
	e, aws := newEngine(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, examples.Shop); err != nil {
		t.Fatal(err)
	}
	opt := engine.PermissionsOptions{Selection: engine.Selection{Assembly: filepath.Join(dir, "shop", "cdk.out")}, For: permission.Deploy, Check: true}
	aws.Deny("sqs:CreateQueue")
	p, err := e.Permissions(t.Context(), opt)
	if err != nil || !slices.Equal(p.Missing, []string{"sqs:CreateQueue on *"}) {
		t.Errorf("missing %v, %v", p.Missing, err)
	}
	aws.AddFault(sandbox.Fault{Service: "iam", Action: "SimulatePrincipalPolicy", Status: 403, Code: "AccessDenied"})
	p, err = e.Permissions(t.Context(), opt)
	if p == nil || len(p.Documents) == 0 || err == nil || engine.Remedy(err) == "" {
		t.Errorf("a refused simulation: %v, want the policy and what to do", err)
	}
}
