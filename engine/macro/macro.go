// Package macro has CloudFormation expand what only it can: the transforms of a
// template, such as SAM's, and macros of the account's own.
//
// CloudFormation expands a template only for a change set, so one is made on a
// stack that exists for nothing else and is deleted afterwards, whatever came of
// it. The change set is never executed: no resource is made by it. What comes
// back is a template like any other.
package macro

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/template"
)

// What CloudFormation takes of a template, in bytes: in the request, and from a
// bucket.
const (
	inline = 51200
	atMost = 1048576
)

const (
	first, most = 2 * time.Second, 5 * time.Second // between two looks
	patience    = 10 * time.Minute
	attempts    = 3 // where CloudFormation's early validation fails, which it may do once
)

// An Expander expands templates in one region.
type Expander struct {
	Client *cloudformation.Client
	// Upload puts a template that is too long for a request where CloudFormation
	// can read it, and returns its address and what removes it again.
	Upload func(ctx context.Context, stack string, body []byte) (url string, remove func(), err error)
	// Wait lets time pass.
	Wait func(context.Context, time.Duration) error
	// Cleanup is the context in which the stack is deleted.
	Cleanup func(time.Duration) (context.Context, context.CancelFunc)
	// Warn takes what a person has to do by hand.
	Warn func(text string)
}

// An Error says that a template could not be expanded.
type Error struct {
	Template string
	Macros   []string
	Err      error
}

func (e *Error) Error() string {
	return fmt.Sprintf("have CloudFormation expand template %s (%s): %v", e.Template, strings.Join(e.Macros, ", "), e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *Error) Remedy() string {
	if api, ok := errors.AsType[smithy.APIError](e.Err); ok && strings.HasPrefix(api.ErrorCode(), "AccessDenied") {
		return "allow cloudformation:CreateChangeSet, DescribeChangeSet, GetTemplate and DeleteStack on stacks that are named cdkd-macro-expand-*"
	}
	return "correct what CloudFormation complains about, or write the resources out instead of using a macro"
}

// Expand returns the template as CloudFormation expands it. given are values of
// its parameters; those that have none get their default, or one that has their
// type.
func (x *Expander) Expand(ctx context.Context, t *template.Template, body []byte, given map[string]string) (*template.Template, error) {
	expanded, err := x.expand(ctx, t, body, given)
	if err != nil {
		return nil, &Error{Template: t.Name, Macros: t.Macros(), Err: err}
	}
	return expanded, nil
}

func (x *Expander) expand(ctx context.Context, t *template.Template, body []byte, given map[string]string) (*template.Template, error) {
	if len(body) > atMost {
		return nil, fmt.Errorf("it has %d bytes; CloudFormation takes %d", len(body), atMost)
	}
	var text string
	for attempt := 1; ; attempt++ {
		var err error
		text, err = x.roundTrip(ctx, body, values(t, given, x.Warn))
		if err == nil {
			break
		}
		if attempt == attempts || !strings.Contains(err.Error(), "AWS::EarlyValidation::") {
			return nil, err
		}
		if err := x.Wait(ctx, first<<(attempt-1)); err != nil {
			return nil, err
		}
	}
	expanded, err := template.Parse(t.Name, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("what came back: %w", err)
	}
	if left := expanded.Macros(); len(left) > 0 {
		return nil, fmt.Errorf("what came back still uses %s", strings.Join(left, ", "))
	}
	return expanded, nil
}

// roundTrip makes a change set and returns the template that it has.
func (x *Expander) roundTrip(ctx context.Context, body []byte, parameters []types.Parameter) (text string, err error) {
	id := make([]byte, 8)
	rand.Read(id) // never fails
	stack := "cdkd-macro-expand-" + hex.EncodeToString(id)
	set := stack + "-changeset"
	in := &cloudformation.CreateChangeSetInput{
		StackName: &stack, ChangeSetName: &set, ChangeSetType: types.ChangeSetTypeCreate, Parameters: parameters,
		Capabilities: []types.Capability{types.CapabilityCapabilityAutoExpand, types.CapabilityCapabilityNamedIam, types.CapabilityCapabilityIam},
	}
	if len(body) <= inline {
		in.TemplateBody = new(string(body))
	} else {
		url, remove, err := x.Upload(ctx, stack, body)
		if err != nil {
			return "", err
		}
		defer remove()
		in.TemplateURL = &url
	}
	defer x.discard(stack)
	if _, err := x.Client.CreateChangeSet(ctx, in); err != nil {
		return "", err
	}
	if err := x.await(ctx, stack, set); err != nil {
		return "", err
	}
	out, err := x.Client.GetTemplate(ctx, &cloudformation.GetTemplateInput{StackName: &stack, ChangeSetName: &set, TemplateStage: types.TemplateStageProcessed})
	if err != nil {
		return "", err
	}
	if out.TemplateBody == nil {
		return "", errors.New("CloudFormation gave no template back")
	}
	return *out.TemplateBody, nil
}

// await returns when the change set is made. How many changes it has is of no
// interest.
func (x *Expander) await(ctx context.Context, stack, set string) error {
	pause, waited := first, time.Duration(0)
	for {
		out, err := x.Client.DescribeChangeSet(ctx, &cloudformation.DescribeChangeSetInput{StackName: &stack, ChangeSetName: &set})
		switch {
		case err != nil:
			return err
		case out.Status == types.ChangeSetStatusCreateComplete:
			return nil
		case out.Status == types.ChangeSetStatusFailed:
			reason := "it gave no reason"
			if out.StatusReason != nil {
				reason = *out.StatusReason
			}
			return fmt.Errorf("the change set failed: %s", reason)
		case waited >= patience:
			return fmt.Errorf("the change set is not made after %s, and is %s", patience, out.Status)
		}
		if err := x.Wait(ctx, pause); err != nil {
			return err
		}
		waited += pause
		pause = min(pause+time.Second, most)
	}
}

// discard deletes the stack, on time that a cancelled run still has.
func (x *Expander) discard(stack string) {
	ctx, cancel := x.Cleanup(10 * time.Second)
	defer cancel()
	_, err := x.Client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &stack})
	if err != nil {
		x.Warn(fmt.Sprintf("stack %s, which was made to expand a macro and is empty, could not be deleted: %v; delete it with: aws cloudformation delete-stack --stack-name %s", stack, err, stack))
	}
}
