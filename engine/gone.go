package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/state"
)

// A GoneError says that a resource was not changed because it does not exist
// any more.
type GoneError struct {
	Stack, LogicalID, Type, PhysicalID string
	Err                                error // what AWS said to the change
}

func (e *GoneError) Error() string {
	return fmt.Sprintf("%s (%s) %s is gone in AWS: it was deleted outside of this tool (%v)", e.LogicalID, e.Type, e.PhysicalID, e.Err)
}

func (e *GoneError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *GoneError) Remedy() string {
	return fmt.Sprintf("have it forgotten, then deploy, which makes it again: cdkd-action state orphan %s --resource %s --yes", e.Stack, e.LogicalID)
}

// surviving is a provider that tells at once of a resource that is gone. What AWS
// says then sounds like what it says of a resource that was made just now, which is
// tried again for long; so that it is gone has to be read, too.
type surviving struct {
	provider.Provider
	stack  string
	absent func(error) bool // whether a refusal may mean that the resource is gone
	there  bool             // it was read
}

func (s *surviving) Update(ctx context.Context, r *provider.Request) (provider.Updated, error) {
	out, err := s.Provider.Update(ctx, r)
	if err == nil || s.there || !s.absent(err) {
		return out, err
	}
	if _, readErr := s.Read(ctx, r); !errors.Is(readErr, provider.ErrNotFound) {
		s.there = readErr == nil
		return out, err
	}
	return out, retry.Terminal(&GoneError{Stack: s.stack, LogicalID: r.LogicalID, Type: r.Type, PhysicalID: r.PhysicalID, Err: err})
}

// lasting is the provider of a decision for changes of a row. One that this run
// made may not show yet.
func (d *deployment) lasting(decision provider.Decision, logicalID string, row *state.Resource) provider.Decision {
	before := d.asRead.Row(logicalID)
	if decision.Direct || before == nil || before.PhysicalID != row.PhysicalID {
		return decision
	}
	codes := []string{"NotFound", "ResourceNotFoundException"}
	if driver := d.router.Driver(row.ResourceType); driver != nil && row.ProvisionedBy != state.ByCloudControl {
		codes = driver.Resource().Gone
	}
	decision.Provider = &surviving{Provider: decision.Provider, stack: d.t.Name, absent: func(err error) bool {
		return errors.Is(err, provider.ErrNotFound) || provider.HasCode(err, codes...)
	}}
	return decision
}
