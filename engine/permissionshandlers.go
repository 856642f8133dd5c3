package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/org/cdkd-action/engine/permission"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/schema"
)

// handlers adds what Cloud Control and the handlers of types need, which act
// with the caller's permissions.
func (n *needs) handlers(ctx context.Context, region string, types map[string]bool) {
	if len(types) == 0 || n.opt.For == permission.Plan || n.opt.For == permission.Export {
		return
	}
	api := []string{"cloudformation:DeleteResource", "cloudformation:GetResource", "cloudformation:GetResourceRequestStatus", "cloudformation:CancelResourceRequest"}
	operations := []string{"read", "delete"}
	if n.opt.For == permission.Import || n.opt.For == permission.Drift {
		api, operations = []string{"cloudformation:GetResource"}, []string{"read"}
	}
	if n.opt.For == permission.Deploy {
		api = append(api, "cloudformation:CreateResource", "cloudformation:UpdateResource")
		operations = append(operations, "create", "update")
		if unanswered := slices.ContainsFunc(sortedKeys(types), takesTags); unanswered { // what a create left is found by its tag
			api, operations = append(api, "cloudformation:ListResources"), append(operations, "list")
		}
	}
	untold := func(typ string, err error) {
		n.unknown = add(n.unknown, fmt.Sprintf("what the handlers of %s need: %v", typ, err))
	}
	if n.opt.For == permission.Destroy { // remove-protection updates what has one
		protected := maps.Clone(types)
		maps.DeleteFunc(protected, func(typ string, _ bool) bool { return !cloudcontrol.Protects(typ) })
		if len(protected) > 0 {
			api = append(api, "cloudformation:UpdateResource")
			n.asked(ctx, region, protected, []string{"update"}, untold)
		}
	}
	n.policy.Allow("", api, permission.Anything)
	n.asked(ctx, region, types, operations, untold)
}

// takesTags tells whether resources of a type take tags.
func takesTags(typ string) bool {
	t, ok := schema.Lookup(typ)
	return ok && t.TagProperty != ""
}

// readers adds what Cloud Control needs to read types that are made without it and
// have no reader of their own. Only what drift is told by hangs on it.
func (n *needs) readers(ctx context.Context, region string, types map[string]bool) {
	if len(types) == 0 || n.opt.For != permission.Deploy && n.opt.For != permission.Import && n.opt.For != permission.Drift {
		return
	}
	n.policy.Allow("", []string{"cloudformation:GetResource"}, permission.Anything)
	n.asked(ctx, region, types, []string{"read"}, func(typ string, err error) {
		n.note("what reading %s back for drift needs is not in the policy: %v", typ, err)
	})
}

// asked adds what the handlers of types are said to need for operations.
func (n *needs) asked(ctx context.Context, region string, types map[string]bool, operations []string, untold func(typ string, err error)) {
	var wg routine.Group
	names := sortedKeys(types)
	actions, errs := make([][]string, len(names)), make([]error, len(names))
	for i, name := range names {
		wg.Go(func() { actions[i], errs[i] = n.e.handlerActions(ctx, region, name, operations) })
	}
	wg.Wait()
	for i, name := range names {
		if errs[i] != nil {
			untold(name, errs[i])
			continue
		}
		// Which roles may be passed the template tells better.
		n.policy.Allow("", slices.DeleteFunc(actions[i], func(a string) bool { return a == "iam:PassRole" }), permission.Anything)
	}
}

// handlerActions are what a type's schema says that operations of its handlers
// need.
func (e *Engine) handlerActions(ctx context.Context, region, typ string, operations []string) (actions []string, err error) {
	client := provider.Client(e.session(region).provider, cloudformation.NewFromConfig)
	out, err := client.DescribeType(ctx, &cloudformation.DescribeTypeInput{Type: cfntypes.RegistryTypeResource, TypeName: &typ})
	if err != nil {
		return nil, fmt.Errorf("ask for its schema (cloudformation:DescribeType): %w", err)
	}
	var schema struct {
		Handlers map[string]struct {
			Permissions []string `json:"permissions"`
		} `json:"handlers"`
	}
	if err := json.Unmarshal([]byte(aws.ToString(out.Schema)), &schema); err != nil {
		return nil, fmt.Errorf("read its schema: %w", err)
	}
	for _, operation := range operations {
		actions = append(actions, schema.Handlers[operation].Permissions...)
	}
	if len(actions) == 0 {
		return nil, errors.New("its schema names no permissions")
	}
	return actions, nil
}
