package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/provider/customresource"
	"github.com/org/cdkd-action/engine/state"
)

// Entries are void once the stack's record was removed or handed over: by a
// destroy, an orphan or an export, ours or another engine's. They prove nothing
// then. Nothing is taken, deleted, sent or waited for because of them; what they
// came to is looked up, so that a person is told of it, and one that came to
// nothing stands in nobody's way.

// settleVoid looks up what a void create made.
func (s *settler) settleVoid(ctx context.Context, op state.OpenOperation, row *state.Resource) (verdict, error) {
	req, err := s.requestOf(ctx, op)
	if err != nil {
		return s.unresolvedBy(op, err.Error()), nil
	}
	lookOnce(req)
	made, err := s.lookUpCreate(ctx, op, req)
	switch {
	case err != nil:
		return s.unresolvedBy(op, err.Error()), nil
	case made == "":
		return verdict{text: "its create made nothing", sent: sentOf(op)}, nil
	case row != nil && row.ResourceType == op.ResourceType && state.SameResource(op.ResourceType, row.PhysicalID, made):
		return verdict{text: "it is recorded", sent: sentOf(op)}, nil
	}
	v := s.unresolvedBy(op, fmt.Sprintf("there is %s, which nothing proves to be this stack's", made))
	v.open.Found = made
	return v, nil
}

// lookUpCreate tells what there is of a create, "" for nothing. An error says why
// that cannot be told.
func (s *settler) lookUpCreate(ctx context.Context, op state.OpenOperation, req *provider.Request) (physicalID string, err error) {
	driver := s.router.Driver(op.ResourceType)
	why, again := resendable[op.ResourceType]
	switch {
	case again && why != byKnownToken && op.ProvisionedBy != state.ByCloudControl:
		return "", nil // another makes no second one
	case isCustom(op.ResourceType) && op.ResponseKey == "":
		return "", errors.New("what its handler made, if it was asked, cannot be told")
	case isCustom(op.ResourceType):
		made, err := s.custom.Settle(ctx, req, "Create", *sentOf(op))
		if failed, ok := errors.AsType[*customresource.FailedError](err); ok {
			return failed.PhysicalID, nil
		}
		return made.PhysicalID, err
	case op.RequestToken != "":
		made, err := s.cloudControl.Outcome(ctx, req, op.RequestToken, types.OperationCreate, time.UnixMilli(op.StartedAt))
		if failed, ok := errors.AsType[*cloudcontrol.FailedError](err); ok {
			return failed.Identifier, nil
		}
		if is[*cloudcontrol.CancelledError](err) {
			return "", nil
		}
		return made.PhysicalID, err
	case op.ProvisionedBy == state.ByCloudControl:
		req.OwnerTag = state.OwnerTagOf(op.ClientToken)
		physicalID, err = s.cloudControl.FindOwned(ctx, req)
	case driver == nil:
		return "", errors.New("this version cannot provision its type")
	case driver.Resource().Lookup != nil && op.Name != "":
		var held *provider.Holder
		if held, err = driver.Lookup(ctx, req); held != nil {
			physicalID = held.PhysicalID
		}
	case driver.Resource().Find != nil:
		req.Token, req.OwnerTag = op.ClientToken, state.OwnerTagOf(op.ClientToken)
		physicalID, err = driver.Find(ctx, req)
	default:
		return "", errors.New(notFindable(op.ResourceType))
	}
	if err != nil {
		return "", fmt.Errorf("it could not be looked up: %w", err)
	}
	if left := lateArrival - now().Sub(s.ended(s.ledger(ctx))); physicalID == "" && left > 0 {
		return "", fmt.Errorf("nothing is there yet; it may still show in the next %s", left.Round(time.Second))
	}
	return physicalID, nil
}

// goneLeftovers are the void leftovers that somebody has deleted by now.
func (s *settler) goneLeftovers(ctx context.Context) (gone []state.Leftover) {
	for _, l := range s.found.Leftovers {
		if !l.Void || l.Malformed != "" || isCustom(l.ResourceType) {
			continue
		}
		if err := s.read(ctx, leftoverRow(l), s.request(l.LogicalID, l.ResourceType)); errors.Is(err, provider.ErrNotFound) {
			gone = append(gone, l)
		}
	}
	return gone
}

// read reads what a row names. The error is provider.ErrNotFound when it is gone.
func (s *settler) read(ctx context.Context, row *state.Resource, req *provider.Request) error {
	req.PhysicalID, req.Properties, req.Attributes = row.PhysicalID, row.Properties, row.Attributes
	var p provider.Provider = s.cloudControl
	if driver := s.router.Driver(row.ResourceType); driver != nil && row.ProvisionedBy != state.ByCloudControl {
		p = driver
	}
	_, err := p.Read(ctx, req)
	return err
}
