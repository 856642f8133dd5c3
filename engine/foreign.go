package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/org/cdkd-action/engine/reference"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// A foreign account is read through a role of it, and nothing is locked or
// written there: what its stacks put out is taken as it is recorded now.
type foreign struct {
	account string
	config  aws.Config // its credentials are the role's
	open    func(context.Context) (*state.Store, error)
}

// foreign returns the account that a role belongs to. The role is assumed once,
// when it is first needed.
func (e *Engine) foreign(roleARN string) (*foreign, error) {
	role, err := arn.Parse(roleARN)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if f := e.foreigners[roleARN]; f != nil {
		return f, nil
	}
	asking := e.config.AWS.Copy()
	if asking.Region == "" {
		asking.Region = "us-east-1" // any region answers
	}
	f := &foreign{account: role.AccountID, config: e.config.AWS.Copy()}
	f.config.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(asking), roleARN,
		func(o *stscreds.AssumeRoleOptions) { o.RoleSessionName = "cdkd-action" }),
		func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = 5 * time.Minute }) // as that of role-arn
	f.open = once(func(ctx context.Context) (*state.Store, error) {
		return state.Open(ctx, f.config, state.Options{
			Bucket: "cdkd-state-" + f.account, Prefix: e.config.Prefix, Draining: e.config.Window.Draining(),
			Account: func(context.Context) (string, error) { return f.account, nil },
			Warn:    func(text string) { e.observe(Event{Kind: Warning, Text: text}) },
		})
	})
	e.foreigners[roleARN] = f
	return f, nil
}

// foreignOutput reads an output of a stack in another account, from its record
// or else from CloudFormation. It is not noted as read: no record of this account
// could be looked at for it.
func (w *world) foreignOutput(ctx context.Context, ref template.StackOutput, region string) (any, error) {
	fail := func(err error) (any, error) {
		return nil, fmt.Errorf("read output %s of stack %s in %s through role %s: %w", ref.OutputName, ref.StackName, region, ref.RoleARN, err)
	}
	f, err := w.foreign(ref.RoleARN)
	if err != nil {
		return fail(err)
	}
	store, err := f.open(ctx)
	if err != nil {
		return fail(err)
	}
	record, _, err := store.Stack(ref.StackName, region).Read(ctx)
	if err != nil {
		return fail(err)
	}
	if record == nil {
		text, err := reference.New(f.config).StackOutput(ctx, ref.StackName, ref.OutputName, region)
		if err != nil {
			return fail(fmt.Errorf("bucket %s has no record of it, and CloudFormation does not tell: %w", store.Bucket(), err))
		}
		return text, nil
	}
	v, err := outputOf(record, ref.OutputName)
	switch {
	case err != nil:
		return fail(err)
	case masked(v), strings.Contains(value.JSON(v), "{{resolve:"):
		return fail(&MaskedError{fmt.Sprintf("its value is a secret of account %s, which is not read from here", f.account)})
	}
	return v, nil
}

// outputOf is an output of a recorded stack.
func outputOf(record *state.Record, name string) (any, error) {
	v, ok := record.Outputs.Get(name)
	if !ok {
		names := record.Outputs.Keys()
		return nil, fmt.Errorf("stack %s in %s has no output %s; it has %s", record.StackName, record.Region, name, strings.Join(names[:min(10, len(names))], ", "))
	}
	return v, nil
}
