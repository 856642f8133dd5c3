package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// examineCloudFormation asks CloudFormation what a deploy of the app would ask it,
// and whoever finishes a handover.
func (e *Engine) examineCloudFormation(ctx context.Context, app *assembly.Assembly, account string) (found []result.Finding) {
	store, err := e.open(ctx)
	if err != nil {
		return nil // it is said of the state bucket
	}
	refs, traces, err := store.ListAll(ctx)
	if err != nil {
		return nil // and of the registry
	}
	regions, importing := map[string]bool{}, map[string]*deployment{}
	ask := func(t target, name, remedy string) {
		regions[t.Region] = true
		status, err := e.cloudFormation(e.targeted(store, t)).Status(ctx, name)
		switch {
		case err != nil:
			found = append(found, doubtful("CloudFormation", err.Error(), remedy))
		case status != "" && name == t.Name && t.Template != nil:
			found = append(found, failing("stack "+t.Name, &FormedError{Stack: t.Name, Region: t.Region, Status: status}))
		}
	}
	if app != nil {
		for _, s := range app.Stacks {
			if s.AccountID != "" && s.AccountID != account {
				continue
			}
			t := e.targetOf(s, nil)
			d := e.targeted(store, t)
			if !slices.Contains(refs, state.Ref{Stack: t.Name, Region: t.Region}) && declaresNames(d.router, t) {
				ask(t, t.Name, "allow cloudformation:DescribeStacks: otherwise a first deploy cannot tell that CloudFormation has the stack, and may be answered with its resources")
			}
			if imports(t) {
				importing[t.Region] = d
			}
		}
	}
	for _, trace := range traces {
		if !trace.Handover {
			continue
		}
		if h, err := store.Stack(trace.Stack, trace.Region).ReadHandover(ctx); err == nil && h != nil {
			ask(target{Name: trace.Stack, Region: trace.Region}, h.Ident(), "allow what the handover needs: permissions prints it, with for: import or export")
		}
	}
	for _, region := range slices.Sorted(maps.Keys(importing)) {
		regions[region] = true
		if _, err := e.cloudFormation(importing[region]).Exports(ctx); err != nil {
			found = append(found, doubtful("CloudFormation", fmt.Sprintf("%v (in %s)", err, region),
				"allow cloudformation:ListExports, or set cfn-fallback to false where the app imports nothing from stacks that CloudFormation deployed"))
		}
	}
	if found == nil && len(regions) > 0 {
		found = append(found, fine("CloudFormation", "answers in %s", strings.Join(slices.Sorted(maps.Keys(regions)), ", ")))
	}
	return found
}

// targeted is a deployment that knows its target and nothing of what is recorded.
func (e *Engine) targeted(store *state.Store, t target) *deployment {
	d := e.recordedDeployment(store, state.Ref{Stack: t.Name, Region: t.Region})
	d.t = t
	return d
}

// imports tells whether a stack, or one nested in it, imports what another exports.
func imports(t target) (found bool) {
	eachTemplate(t, func(t target) error {
		found = found || t.Template != nil && strings.Contains(value.JSON(t.Template.Body), `"Fn::ImportValue"`)
		return nil
	})
	return found
}
