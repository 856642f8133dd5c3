package cloudformation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/value"
)

// capabilities are what a template of the CDK may need somebody to agree to.
var capabilities = []types.Capability{types.CapabilityCapabilityIam, types.CapabilityCapabilityNamedIam, types.CapabilityCapabilityAutoExpand}

// An Import is one resource that a stack is to take in.
type Import struct {
	LogicalID, Type string
	Identifier      map[string]string
}

// importSet is the change set of an import.
const importSet = "cdkd-import"

// Import has a stack, new or not, take in resources that exist. template is all
// that the stack has afterwards. begin is called when CloudFormation agreed, before
// it has any of them.
func (c *Client) Import(ctx context.Context, stack string, template *value.Object, parameters map[string]string, resources []Import, begin func(context.Context) error) error {
	in := &sdk.CreateChangeSetInput{
		StackName: &stack, ChangeSetName: new(importSet), ChangeSetType: types.ChangeSetTypeImport, Capabilities: capabilities,
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		in.Parameters = append(in.Parameters, types.Parameter{ParameterKey: &name, ParameterValue: new(parameters[name])})
	}
	for _, r := range resources {
		in.ResourcesToImport = append(in.ResourcesToImport, types.ResourceToImport{LogicalResourceId: &r.LogicalID, ResourceType: &r.Type, ResourceIdentifier: r.Identifier})
	}
	done, err := c.lend(ctx, stack, template, &in.TemplateBody, &in.TemplateURL)
	if err != nil {
		return err
	}
	defer done()
	// One may be left of a run that died before it was carried out.
	if _, err := c.API.DeleteChangeSet(ctx, &sdk.DeleteChangeSetInput{StackName: &stack, ChangeSetName: new(importSet)}); err != nil && !absent(err) && !noSet(err) {
		return fmt.Errorf("remove an earlier change set of CloudFormation stack %s: %w", stack, err)
	}
	out, err := c.API.CreateChangeSet(ctx, in)
	if err != nil {
		return fmt.Errorf("have CloudFormation import into stack %s: %w", stack, err)
	}
	if err := c.made(ctx, stack, *out.Id); err != nil {
		return err
	}
	if err := begin(ctx); err != nil {
		return err
	}
	if _, err := c.API.ExecuteChangeSet(ctx, &sdk.ExecuteChangeSetInput{ChangeSetName: out.Id}); err != nil {
		return fmt.Errorf("carry out the import into CloudFormation stack %s: %w", stack, err)
	}
	return c.ended(ctx, stack, "import into", types.StackStatusImportComplete)
}

// noSet tells whether an answer says that there is no such change set.
func noSet(err error) bool {
	_, ok := errors.AsType[*types.ChangeSetNotFoundException](err)
	return ok
}

// made returns when a change set can be carried out.
func (c *Client) made(ctx context.Context, stack, set string) error {
	pause, waited := first, time.Duration(0)
	for {
		out, err := c.API.DescribeChangeSet(ctx, &sdk.DescribeChangeSetInput{ChangeSetName: &set})
		switch {
		case err != nil:
			return fmt.Errorf("read the change set of CloudFormation stack %s: %w", stack, err)
		case out.Status == types.ChangeSetStatusCreateComplete:
			return nil
		case out.Status == types.ChangeSetStatusFailed:
			reason := ""
			if out.StatusReason != nil {
				reason = *out.StatusReason
			}
			return &Failed{stack, "plan the import into", string(out.Status), reason}
		case waited >= patience:
			return fmt.Errorf("the change set of CloudFormation stack %s is still %s after %s", stack, out.Status, patience)
		}
		if err := c.Wait(ctx, pause); err != nil {
			return err
		}
		waited += pause
		pause = min(pause+time.Second, most)
	}
}

// ended waits until an operation has ended, and tells whether it did well.
func (c *Client) ended(ctx context.Context, stack, what string, well types.StackStatus) error {
	s, err := c.Settled(ctx, stack)
	// What was carried out a moment ago may not show yet.
	for looks := 0; err == nil && s != nil && s.Status == string(types.StackStatusReviewInProgress) && looks < 10; looks++ {
		if err = c.Wait(ctx, first); err == nil {
			s, err = c.Settled(ctx, stack)
		}
	}
	if err != nil {
		return err
	}
	if s == nil {
		return &Failed{stack, what, "gone", ""}
	}
	if s.Status != string(well) {
		return &Failed{s.Name, what, s.Status, s.Reason}
	}
	return nil
}

// Update brings a stack to a template. Parameters that are not given keep their
// values. That there is nothing to do is no error.
func (c *Client) Update(ctx context.Context, stack *Stack, template *value.Object, parameters map[string]string) error {
	in := &sdk.UpdateStackInput{StackName: &stack.ID, Capabilities: capabilities}
	declared := template.Object("Parameters")
	for _, name := range declared.Keys() {
		p := types.Parameter{ParameterKey: &name}
		if v, ok := parameters[name]; ok {
			p.ParameterValue = &v
		} else if _, ok := stack.Parameters[name]; ok {
			p.UsePreviousValue = new(true)
		} else {
			continue // its default
		}
		in.Parameters = append(in.Parameters, p)
	}
	done, err := c.lend(ctx, stack.Name, template, &in.TemplateBody, &in.TemplateURL)
	if err != nil {
		return err
	}
	defer done()
	_, err = c.API.UpdateStack(ctx, in)
	if api, ok := errors.AsType[smithy.APIError](err); ok && strings.Contains(api.ErrorMessage(), "No updates are to be performed") {
		return nil
	}
	if err != nil {
		return fmt.Errorf("update CloudFormation stack %s: %w", stack.Name, err)
	}
	return c.ended(ctx, stack.ID, "update", types.StackStatusUpdateComplete)
}

// lend puts a template into a request, or where the request can name it.
func (c *Client) lend(ctx context.Context, stack string, template *value.Object, body, url **string) (done func(), err error) {
	text, err := value.Marshal(template)
	if err != nil {
		return nil, err
	}
	switch {
	case len(text) > atMost:
		return nil, fmt.Errorf("the template of stack %s has %d bytes; CloudFormation takes %d", stack, len(text), atMost)
	case len(text) <= inline:
		*body = new(string(text))
		return func() {}, nil
	}
	address, remove, err := c.Lend(ctx, stack, text)
	if err != nil {
		return nil, err
	}
	*url = &address
	return remove, nil
}
