package cloudformation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/org/cdkd-action/engine/value"
)

// nestedType is the type of nested stacks.
const nestedType = "AWS::CloudFormation::Stack"

// A Live stack is one that is to be taken over, with what it was deployed from
// and those nested in it.
type Live struct {
	*Stack
	Template *value.Object    // as CloudFormation expanded it
	Nested   map[string]*Live // by logical id; nil for one that is gone
}

// Live reads a stack with everything below it; one that is not there is nil.
func (c *Client) Live(ctx context.Context, name string) (*Live, error) {
	s, err := c.Stack(ctx, name)
	if err != nil || s == nil {
		return nil, err
	}
	l := &Live{Stack: s, Nested: map[string]*Live{}}
	if s.Status == string(types.StackStatusReviewInProgress) {
		return l, nil // it has no template yet
	}
	if l.Template, err = c.template(ctx, s); err != nil {
		return nil, err
	}
	for _, r := range s.Resources {
		if r.Type != nestedType {
			continue
		}
		if l.Nested[r.LogicalID], err = c.Live(ctx, r.PhysicalID); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// template is the one that a stack has now.
func (c *Client) template(ctx context.Context, s *Stack) (*value.Object, error) {
	out, err := c.API.GetTemplate(ctx, &sdk.GetTemplateInput{StackName: &s.ID, TemplateStage: types.TemplateStageProcessed})
	if err != nil {
		return nil, fmt.Errorf("read the template of CloudFormation stack %s: %w", s.Name, err)
	}
	o, err := parse(aws.ToString(out.TemplateBody))
	if err != nil {
		return nil, fmt.Errorf("read the template of CloudFormation stack %s: %w", s.Name, err)
	}
	return o, nil
}

// A NotRetirableError says that a stack cannot be taken over as it is. Nothing
// was done.
type NotRetirableError struct{ Stack, Reason, Next string }

func (e *NotRetirableError) Error() string {
	return fmt.Sprintf("CloudFormation stack %s cannot be taken over: %s", e.Stack, e.Reason)
}

// Remedy says what to do about it.
func (e *NotRetirableError) Remedy() string { return e.Next }

// settled are the states in which a stack can be updated and deleted.
var settled = []types.StackStatus{
	types.StackStatusCreateComplete, types.StackStatusUpdateComplete, types.StackStatusUpdateRollbackComplete,
	types.StackStatusImportComplete, types.StackStatusImportRollbackComplete,
}

// Retirable refuses a stack that could not be retired, before anything is done
// about it.
func (c *Client) Retirable(ctx context.Context, l *Live) error {
	if l.ParentID != "" {
		return &NotRetirableError{l.Name, "it is nested in " + l.ParentID, "take over the stack that it is nested in"}
	}
	return c.retirable(ctx, l)
}

func (c *Client) retirable(ctx context.Context, l *Live) error {
	switch {
	case l.Busy():
		return &NotRetirableError{l.Name, "it is " + l.Status, "wait until that has ended"}
	case l.Status == string(types.StackStatusDeleteFailed) && CheckRetained(l.Template) == nil: // of an earlier run
	case !slices.Contains(settled, types.StackStatus(l.Status)):
		return &NotRetirableError{l.Name, "it is " + l.Status, "deploy or repair it with CloudFormation first, so that it is what its template says"}
	}
	if l.Protected {
		return &NotRetirableError{l.Name, "it has termination protection", "switch that off: aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name " + l.Name}
	}
	for _, name := range l.Exports {
		users, err := c.Importers(ctx, name)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return &NotRetirableError{l.Name, fmt.Sprintf("its export %s is imported by %s", name, strings.Join(users, ", ")), "take over those stacks first"}
		}
	}
	for _, r := range l.Resources {
		if !strings.HasSuffix(r.Status, "_COMPLETE") {
			return &NotRetirableError{l.Name, r.LogicalID + " is " + r.Status, "repair it with CloudFormation first"}
		}
		if !l.Template.Object("Resources").Has(r.LogicalID) { // the next update deletes it
			return &NotRetirableError{l.Name, fmt.Sprintf("it has %s (%s) still, which its template has no more", r.LogicalID, r.Type), "deploy it with CloudFormation first, so that it is what its template says"}
		}
	}
	for _, id := range sorted(l.Nested) {
		if child := l.Nested[id]; child != nil {
			if err := c.retirable(ctx, child); err != nil {
				return err
			}
		}
	}
	return nil
}

// Retire removes a stack, with those nested in it, and leaves all their resources
// as they are. It begins with what an earlier try did not get to. begin is called
// when everything would be kept, before the first stack is removed.
func (c *Client) Retire(ctx context.Context, l *Live, begin func(context.Context) error) error {
	if err := c.retain(ctx, l); err != nil {
		return err
	}
	if err := begin(ctx); err != nil {
		return err
	}
	return c.delete(ctx, l)
}

// Discard removes a stack that has no resources.
func (c *Client) Discard(ctx context.Context, s *Stack) error {
	if len(s.Resources) > 0 {
		return fmt.Errorf("CloudFormation stack %s has resources", s.Name)
	}
	if _, err := c.API.DeleteStack(ctx, &sdk.DeleteStackInput{StackName: &s.ID}); err != nil {
		return fmt.Errorf("delete CloudFormation stack %s: %w", s.Name, err)
	}
	left, err := c.Settled(ctx, s.ID)
	if err != nil || left == nil {
		return err
	}
	return &Failed{s.Name, "delete", left.Status, left.Reason}
}

// Deleted tells whether there was a stack of the name, which is gone, as far back as
// CloudFormation remembers.
func (c *Client) Deleted(ctx context.Context, name string) (bool, error) {
	pages := sdk.NewListStacksPaginator(c.API, &sdk.ListStacksInput{StackStatusFilter: []types.StackStatus{types.StackStatusDeleteComplete}})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return false, fmt.Errorf("look whether CloudFormation had a stack %s: %w", name, err)
		}
		for _, s := range page.StackSummaries {
			if aws.ToString(s.StackName) == name || aws.ToString(s.StackId) == name {
				return true, nil
			}
		}
	}
	return false, nil
}

// retain sees to it that a stack's resources outlive it: its own first, since
// an update of it brings those nested in it back to their templates.
func (c *Client) retain(ctx context.Context, l *Live) error {
	s, err := c.Settled(ctx, l.ID)
	if err != nil || s == nil {
		return err
	}
	if l.Template, err = c.template(ctx, s); err != nil {
		return err
	}
	if CheckRetained(l.Template) != nil {
		if err := c.Update(ctx, s, Retained(l.Template), nil); err != nil {
			return err
		}
		if l.Template, err = c.template(ctx, s); err != nil {
			return err
		}
		if err := CheckRetained(l.Template); err != nil {
			return fmt.Errorf("CloudFormation stack %s would take resources with it: %w", l.Name, err)
		}
	}
	for _, id := range sorted(l.Nested) {
		if child := l.Nested[id]; child != nil {
			if err := c.retain(ctx, child); err != nil {
				return err
			}
		}
	}
	return nil
}

// delete removes the stacks, those nested in others first.
func (c *Client) delete(ctx context.Context, l *Live) error {
	for _, id := range sorted(l.Nested) {
		if child := l.Nested[id]; child != nil {
			if err := c.delete(ctx, child); err != nil {
				return err
			}
		}
	}
	s, err := c.Settled(ctx, l.ID)
	if err != nil || s == nil {
		return err
	}
	// What is believed of its template is looked at once more: after this there is
	// no way back.
	template, err := c.template(ctx, s)
	if err != nil {
		return err
	}
	if err := CheckRetained(template); err != nil {
		return fmt.Errorf("CloudFormation stack %s would take resources with it: %w", l.Name, err)
	}
	if _, err := c.API.DeleteStack(ctx, &sdk.DeleteStackInput{StackName: &l.ID}); err != nil {
		return fmt.Errorf("delete CloudFormation stack %s: %w", l.Name, err)
	}
	if s, err = c.Settled(ctx, l.ID); err != nil || s == nil {
		return err
	}
	return &Failed{l.Name, "delete", s.Status, s.Reason}
}
