// Package cloudformation talks to CloudFormation about a stack that is taken over
// from it, or handed to it.
//
// Everything here can be asked again after a run that died: a stack is looked at
// before it is changed, and an operation that somebody began is waited for. What
// CloudFormation answers is believed only when it is read back: of an update that
// nothing came of, it says no more than that there was nothing to do.
package cloudformation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/value"
)

// What CloudFormation takes of a template, in bytes: in the request, and from a
// bucket.
const (
	inline = 51200
	atMost = 1048576
)

const (
	first, most = 2 * time.Second, 10 * time.Second // between two looks
	patience    = time.Hour
)

// A Client is CloudFormation in one region.
type Client struct {
	API *sdk.Client
	// Lend puts a template that is too long for a request where CloudFormation
	// can read it, and returns its address and what removes it again.
	Lend func(ctx context.Context, stack string, body []byte) (url string, remove func(), err error)
	// Wait lets time pass.
	Wait func(context.Context, time.Duration) error
	// Observe is told what is waited for.
	Observe func(text string)
}

// A Stack is what CloudFormation knows of one.
type Stack struct {
	ID, Name       string
	Status, Reason string
	ParentID       string // "": it is nested in none
	Protected      bool   // against deletion
	Parameters     map[string]string
	Stored         map[string]string // of parameters that name the parameter store's, what was there at the last deploy
	Exports        []string
	Capabilities   []types.Capability
	Resources      []Resource
}

// A Resource is one of a Stack.
type Resource struct{ LogicalID, Type, PhysicalID, Status string }

// Resource returns the one of a logical id, nil when there is none.
func (s *Stack) Resource(logicalID string) *Resource {
	for i := range s.Resources {
		if s.Resources[i].LogicalID == logicalID {
			return &s.Resources[i]
		}
	}
	return nil
}

// Busy tells whether an operation on the stack is under way. A stack that has
// nothing but a change set waits for nobody.
func (s *Stack) Busy() bool {
	return strings.HasSuffix(s.Status, "_IN_PROGRESS") && s.Status != string(types.StackStatusReviewInProgress)
}

// A Failed says what CloudFormation made of an operation.
type Failed struct{ Stack, What, Status, Reason string }

func (e *Failed) Error() string {
	text := fmt.Sprintf("%s CloudFormation stack %s: it is %s", e.What, e.Stack, e.Status)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// Remedy says what to do about it.
func (e *Failed) Remedy() string {
	return "look at the events of the stack in CloudFormation, correct what they name, and run the same command again: it goes on from here"
}

// absent tells whether an answer says that there is no such stack.
func absent(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && api.ErrorCode() == "ValidationError" && strings.Contains(api.ErrorMessage(), "does not exist")
}

// Status is that of a stack by name, "" when there is none, or only the shell of
// one: it was never made, or nothing of it was left.
func (c *Client) Status(ctx context.Context, name string) (string, error) {
	out, err := c.API.DescribeStacks(ctx, &sdk.DescribeStacksInput{StackName: &name})
	if absent(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look up CloudFormation stack %s: %w", name, err)
	}
	if len(out.Stacks) == 0 {
		return "", nil
	}
	switch status := out.Stacks[0].StackStatus; status {
	case types.StackStatusDeleteComplete, types.StackStatusReviewInProgress, types.StackStatusRollbackComplete:
		return "", nil
	default:
		return string(status), nil
	}
}

// Stack reads a stack by name or id. One that is not there, or deleted, is nil.
func (c *Client) Stack(ctx context.Context, name string) (*Stack, error) {
	out, err := c.API.DescribeStacks(ctx, &sdk.DescribeStacksInput{StackName: &name})
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read CloudFormation stack %s: %w", name, err)
	}
	if len(out.Stacks) == 0 || out.Stacks[0].StackStatus == types.StackStatusDeleteComplete {
		return nil, nil
	}
	d := out.Stacks[0]
	s := &Stack{
		ID: aws.ToString(d.StackId), Name: aws.ToString(d.StackName), Status: string(d.StackStatus), Reason: aws.ToString(d.StackStatusReason),
		ParentID: aws.ToString(d.ParentId), Protected: aws.ToBool(d.EnableTerminationProtection), Capabilities: d.Capabilities, Parameters: map[string]string{}, Stored: map[string]string{},
	}
	for _, p := range d.Parameters {
		s.Parameters[aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
		if p.ResolvedValue != nil {
			s.Stored[aws.ToString(p.ParameterKey)] = *p.ResolvedValue
		}
	}
	for _, o := range d.Outputs {
		if o.ExportName != nil {
			s.Exports = append(s.Exports, *o.ExportName)
		}
	}
	pages := sdk.NewListStackResourcesPaginator(c.API, &sdk.ListStackResourcesInput{StackName: &s.ID})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the resources of CloudFormation stack %s: %w", name, err)
		}
		for _, r := range page.StackResourceSummaries {
			if gone(r.ResourceStatus) {
				continue
			}
			s.Resources = append(s.Resources, Resource{aws.ToString(r.LogicalResourceId), aws.ToString(r.ResourceType), aws.ToString(r.PhysicalResourceId), string(r.ResourceStatus)})
		}
	}
	return s, nil
}

// An Owner is a stack that has a resource.
type Owner struct {
	Root      string // the name of the stack, or of the one that it is nested in
	Stack     string // its own
	LogicalID string // what the resource is there, "" where that is not told
}

// OwnerOf is the stack that has a resource, nil for none. What a stack let go, or
// had when it was deleted, is nobody's.
func (c *Client) OwnerOf(ctx context.Context, typ, physicalID string) (*Owner, error) {
	all, err := c.resources(ctx, &sdk.DescribeStackResourcesInput{PhysicalResourceId: &physicalID})
	if err != nil {
		return nil, fmt.Errorf("look up which CloudFormation stack has %s: %w", physicalID, err)
	}
	if len(all) == 0 {
		return nil, nil
	}
	owner := all[0] // of a long stack not all are shown: it may be none of these
	for _, r := range all {
		if aws.ToString(r.PhysicalResourceId) != physicalID {
			continue
		}
		if aws.ToString(r.ResourceType) != typ || gone(r.ResourceStatus) {
			return nil, nil
		}
		return c.owner(ctx, r, aws.ToString(r.LogicalResourceId))
	}
	return c.owner(ctx, owner, "")
}

// Holds is stack as an Owner, where it has a resource of a type as logicalID; else
// nil.
func (c *Client) Holds(ctx context.Context, stack, logicalID, typ string) (*Owner, error) {
	all, err := c.resources(ctx, &sdk.DescribeStackResourcesInput{StackName: &stack, LogicalResourceId: &logicalID})
	if err != nil {
		return nil, fmt.Errorf("look up whether CloudFormation stack %s has %s: %w", stack, logicalID, err)
	}
	for _, r := range all {
		if aws.ToString(r.LogicalResourceId) == logicalID && aws.ToString(r.ResourceType) == typ && !gone(r.ResourceStatus) {
			return c.owner(ctx, r, logicalID)
		}
	}
	return nil, nil
}

func (c *Client) resources(ctx context.Context, in *sdk.DescribeStackResourcesInput) ([]types.StackResource, error) {
	out, err := c.API.DescribeStackResources(ctx, in)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return out.StackResources, nil
}

// gone tells whether a resource is its stack's no more.
func gone(s types.ResourceStatus) bool {
	return s == types.ResourceStatusDeleteComplete || s == types.ResourceStatusDeleteSkipped
}

func (c *Client) owner(ctx context.Context, r types.StackResource, logicalID string) (*Owner, error) {
	root, err := c.root(ctx, cmp.Or(aws.ToString(r.StackId), aws.ToString(r.StackName)))
	if err != nil || root == "" {
		return nil, err
	}
	return &Owner{Root: root, Stack: aws.ToString(r.StackName), LogicalID: logicalID}, nil
}

// root is the name of a stack, or of the one that it is nested in; "" when that is
// deleted.
func (c *Client) root(ctx context.Context, name string) (string, error) {
	out, err := c.API.DescribeStacks(ctx, &sdk.DescribeStacksInput{StackName: &name})
	if absent(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look up CloudFormation stack %s: %w", name, err)
	}
	if len(out.Stacks) == 0 || out.Stacks[0].StackStatus == types.StackStatusDeleteComplete {
		return "", nil
	}
	if root := aws.ToString(out.Stacks[0].RootId); root != "" && root != name {
		return c.root(ctx, root)
	}
	return aws.ToString(out.Stacks[0].StackName), nil
}

// Settled is Stack once no operation on it is under way.
func (c *Client) Settled(ctx context.Context, name string) (*Stack, error) {
	pause, waited := first, time.Duration(0)
	for {
		s, err := c.Stack(ctx, name)
		if err != nil || s == nil || !s.Busy() {
			return s, err
		}
		if waited >= patience {
			return nil, fmt.Errorf("CloudFormation stack %s is still %s after %s", name, s.Status, patience)
		}
		if waited == 0 && c.Observe != nil {
			c.Observe(fmt.Sprintf("waiting for CloudFormation stack %s, which is %s", s.Name, s.Status))
		}
		if err := c.Wait(ctx, pause); err != nil {
			return nil, err
		}
		waited += pause
		pause = min(pause+time.Second, most)
	}
}

// Exports are the exports of the region's stacks, by name, with the ids of the
// stacks that export them.
func (c *Client) Exports(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	pages := sdk.NewListExportsPaginator(c.API, &sdk.ListExportsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the exports of CloudFormation: %w", err)
		}
		for _, e := range page.Exports {
			all[aws.ToString(e.Name)] = aws.ToString(e.ExportingStackId)
		}
	}
	return all, nil
}

// Importers are the stacks that import an export.
func (c *Client) Importers(ctx context.Context, export string) (stacks []string, err error) {
	pages := sdk.NewListImportsPaginator(c.API, &sdk.ListImportsInput{ExportName: &export})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if api, ok := errors.AsType[smithy.APIError](err); ok && strings.Contains(api.ErrorMessage(), "is not imported by any stack") {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("find what imports %s from CloudFormation: %w", export, err)
		}
		stacks = append(stacks, page.Imports...)
	}
	return stacks, nil
}

// Identifiers are the keys by which CloudFormation imports resources of types. A
// type that it cannot import is not among them.
func (c *Client) Identifiers(ctx context.Context, typs []string) (map[string][]string, error) {
	all := map[string][]string{}
	for some := range slices.Chunk(typs, 400) { // of the 500 resources of a template
		// Only the types count: nothing else of the template is told.
		resources := value.NewObject()
		for i, typ := range some {
			resources.Set(fmt.Sprintf("R%d", i), value.NewObject("Type", typ))
		}
		out, err := c.API.GetTemplateSummary(ctx, &sdk.GetTemplateSummaryInput{TemplateBody: aws.String(value.JSON(value.NewObject("Resources", resources)))})
		if err != nil {
			return nil, fmt.Errorf("ask CloudFormation what it can import: %w", err)
		}
		for _, s := range out.ResourceIdentifierSummaries {
			all[aws.ToString(s.ResourceType)] = s.ResourceIdentifiers
		}
	}
	return all, nil
}
