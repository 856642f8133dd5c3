package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/permission"
	"github.com/org/cdkd-action/internal/sandbox"
)

// twoAccounts is an app with a stack of the sandbox's account and one of another.
func twoAccounts(t *testing.T) (dir string) {
	t.Helper()
	return appOf(t,
		madeFor{id: "Here", name: "Here", resources: `"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"TopicName": "here"}}`},
		madeFor{id: "There", name: "There", account: "999999999999", resources: queueNamed("there")},
	)
}

// Stacks of an account that there are no credentials for are refused with the whole
// run before anything is written (T-55).
func TestStacksOfAnotherAccountAreRefused(t *testing.T) {
	dir := twoAccounts(t)
	sel := engine.Selection{Assembly: dir, Selection: assembly.Selection{All: true}}
	for name, command := range map[string]func(e *engine.Engine, sel engine.Selection) (message, remedy string){
		"deploy": func(e *engine.Engine, sel engine.Selection) (string, string) {
			run, _ := e.Deploy(t.Context(), engine.DeployOptions{Selection: sel})
			return run.Message, run.Remedy
		},
		"diff": func(e *engine.Engine, sel engine.Selection) (string, string) {
			run, _ := e.Diff(t.Context(), engine.DiffOptions{Selection: sel})
			return run.Message, run.Remedy
		},
		"destroy": func(e *engine.Engine, sel engine.Selection) (string, string) {
			run, _ := e.Destroy(t.Context(), engine.DestroyOptions{Selection: sel})
			return run.Message, run.Remedy
		},
		"drift": func(e *engine.Engine, sel engine.Selection) (string, string) {
			run := e.Drift(t.Context(), engine.DriftOptions{App: &sel})
			return run.Message, run.Remedy
		},
		"publish-assets": func(e *engine.Engine, sel engine.Selection) (string, string) {
			_, err := e.PublishAssets(t.Context(), sel)
			return fmt.Sprint(err), engine.Remedy(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, aws := newEngineOn(t, sandbox.Options{Upstream: sandbox.None})
			message, remedy := command(e, sel)
			if message != "the credentials are of account 123456789012, but There is for account 999999999999" ||
				remedy != "name a role of each account in role-arn, one a line; or use credentials of that account, or select other stacks" {
				t.Errorf("refused with %q, %q", message, remedy)
			}
			for _, r := range aws.Log() {
				if strings.HasPrefix(r.Action, "Put") || strings.HasPrefix(r.Action, "Create") || strings.HasPrefix(r.Action, "Delete") {
					t.Errorf("%s %s, although all is refused", r.Action, r.Resource)
				}
			}
		})
	}
}

// A policy is one account's: stacks of another are not in it, which is said, and
// are refused where there are no others (T-55).
func TestPolicyIsOfOneAccount(t *testing.T) {
	e, _ := newEngine(t)
	opt := engine.PermissionsOptions{Selection: engine.Selection{Assembly: twoAccounts(t)}, For: permission.Deploy}
	p, err := e.Permissions(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	policy, notes := allowed(p), strings.Join(p.Notes, "\n")
	if policy["sns:CreateTopic"] == nil || policy["sqs:CreateQueue"] != nil {
		t.Errorf("allowed: %v", policy)
	}
	if said := "stack There is for account 999999999999 and not counted: ask again with credentials of that account"; !strings.Contains(notes, said) {
		t.Errorf("said: %s", notes)
	}
	opt.Patterns = []string{"There"}
	if _, err := e.Permissions(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "There is for account 999999999999") {
		t.Errorf("the other account's alone: %v", err)
	}
}
