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
	"github.com/org/cdkd-action/engine/value"
)

// settleUpdate finds out what an update did. Where that cannot be told, what it
// changed is applied again.
func (s *settler) settleUpdate(ctx context.Context, op state.OpenOperation, row *state.Resource) (verdict, error) {
	unknown := verdict{text: "what its update did is not known; it is applied again", later: state.StageSent}
	if !op.PropertiesOmitted && value.Equal(row.Properties, op.Properties) {
		return verdict{text: "it is recorded", sent: sentOf(op)}, nil
	}
	req, err := s.requestOf(ctx, op)
	if err != nil || op.PropertiesOmitted {
		return unknown, nil
	}
	req.PhysicalID, req.Attributes, req.Previous = row.PhysicalID, row.Attributes, row.Properties
	var made provider.Created
	switch {
	case op.ResponseKey != "":
		made, err = s.custom.Settle(ctx, req, "Update", *sentOf(op))
	case op.RequestToken != "":
		made, err = s.cloudControl.Settle(ctx, req, op.RequestToken, types.OperationUpdate, time.UnixMilli(op.StartedAt))
	default:
		return unknown, nil
	}
	switch {
	case is[*customresource.OpenError](err), is[*cloudcontrol.OpenError](err):
		return verdict{}, err
	case err != nil:
		unknown.text = fmt.Sprintf("its update did not succeed, and is applied again: %v", err)
		unknown.sent, unknown.failed = sentOf(op), true
		return unknown, nil
	}
	next := row.Next()
	next.PhysicalID, next.Properties = made.PhysicalID, op.Properties
	if made.Attributes != nil {
		next.Attributes = s.redact(made.Attributes)
	}
	next.NoEchoLeaves = maskedLeaves(next.Properties, nil)
	hide(next, made.NoEcho)
	v := verdict{
		text: "its update succeeded", sent: sentOf(op),
		edit: func(r *state.Record) { r.Set(op.LogicalID, next) },
		made: &state.Operation{LogicalID: op.LogicalID, ResourceType: op.ResourceType, ChangeType: state.OpUpdate,
			PhysicalID: next.PhysicalID, Previous: row, Properties: op.Properties, ProvisionedBy: op.ProvisionedBy},
	}
	if next.PhysicalID != row.PhysicalID { // its handler replaced it
		v.text = fmt.Sprintf("its update succeeded, and made %s in its place", next.PhysicalID)
		v.made.OldRetained, v.made.WasReplaced = true, new(false)
		if op.UpdateReplacePolicy != "Retain" {
			v.leftover = oldCopy(op.LogicalID, row, op.UpdateReplacePolicy)
		}
	}
	return v, nil
}

// settleDelete finds out whether what the record names is gone.
func (s *settler) settleDelete(ctx context.Context, op state.OpenOperation, row *state.Resource) (verdict, error) {
	gone, text, err := s.deleted(ctx, op, row)
	if is[*unreadError](err) {
		return verdict{text: err.Error(), later: op.Stage, warn: true}, nil // until it is deleted, or read
	}
	if err != nil {
		return verdict{}, err
	}
	v := verdict{text: text, sent: sentOf(op), warn: !gone && op.ResponseKey != ""}
	if gone {
		v.edit = func(r *state.Record) { r.Remove(op.LogicalID) }
		v.made = &state.Operation{LogicalID: op.LogicalID, ResourceType: op.ResourceType, ChangeType: state.OpDelete,
			PhysicalID: row.PhysicalID, Previous: row, ProvisionedBy: row.ProvisionedBy}
	}
	return v, nil
}

// settleOldDelete does so for an old copy that no row names.
func (s *settler) settleOldDelete(ctx context.Context, op state.OpenOperation) (verdict, error) {
	for _, l := range s.found.Leftovers {
		if l.Malformed != "" || l.ResourceType != op.ResourceType || l.PhysicalID != op.PhysicalID {
			continue
		}
		gone, text, err := s.deleted(ctx, op, leftoverRow(l))
		if is[*unreadError](err) {
			text, err = err.Error(), nil // it stays a leftover
		}
		v := verdict{text: "old copy: " + text, sent: sentOf(op)}
		if gone {
			v.gone = &l
		}
		return v, err
	}
	return verdict{text: "the record does not name it any more", sent: sentOf(op)}, nil
}

// An unreadError says that nobody could tell whether a delete had its effect.
type unreadError struct{ error }

func (e *unreadError) Unwrap() error { return e.error }

// deleted tells whether a delete that was let go has had its effect. An error
// leaves that open.
func (s *settler) deleted(ctx context.Context, op state.OpenOperation, row *state.Resource) (gone bool, text string, err error) {
	req := s.request(op.LogicalID, op.ResourceType)
	req.PhysicalID, req.Properties, req.Attributes = row.PhysicalID, row.Properties, row.Attributes
	switch {
	case op.ResponseKey != "":
		_, err = s.custom.Settle(ctx, req, "Delete", *sentOf(op))
		if is[*customresource.OpenError](err) {
			return false, "", err
		}
	case isCustom(op.ResourceType):
		return false, "its delete is sent again", nil
	case op.RequestToken != "":
		_, err = s.cloudControl.Settle(ctx, req, op.RequestToken, types.OperationDelete, time.UnixMilli(op.StartedAt))
		if is[*cloudcontrol.OpenError](err) {
			return false, "", err
		}
	default:
		return s.lookDeleted(ctx, op, row, req)
	}
	switch {
	case err == nil, errors.Is(err, provider.ErrNotFound):
		return true, "it is deleted", nil
	}
	return false, fmt.Sprintf("its delete did not succeed: %v", err), nil
}

// lookDeleted reads what a delete without an answer was about.
func (s *settler) lookDeleted(ctx context.Context, op state.OpenOperation, row *state.Resource, req *provider.Request) (gone bool, text string, err error) {
	driver := s.router.Driver(op.ResourceType)
	if op.ProvisionedBy != state.ByCloudControl && driver != nil {
		leaving := op.Stage == state.StageAccepted
		if !leaving { // it may have arrived all the same
			leaving, err = driver.Deleting(ctx, req)
			if err != nil {
				return false, "", &unreadError{fmt.Errorf("whether it is being deleted could not be read: %w", err)}
			}
		}
		if leaving {
			if err := driver.AwaitDeleted(ctx, req); errors.Is(err, provider.ErrDraining) {
				return false, "", err
			}
		}
	}
	err = s.read(ctx, row, req)
	if err != nil && !errors.Is(err, provider.ErrNotFound) {
		return false, "", &unreadError{fmt.Errorf("whether it is deleted could not be read: %w", err)}
	}
	var held *provider.Holder // what reads types that have no reader of their own may not see
	if driver != nil && driver.Resource().Lookup != nil {
		s.name(req)
		var unseen error
		if held, unseen = driver.Lookup(ctx, req); unseen != nil && !provider.AccessDenied(unseen) {
			return false, "", &unreadError{fmt.Errorf("whether it is deleted could not be looked up: %w", unseen)}
		}
	}
	switch {
	case held != nil && held.Created.After(time.UnixMilli(op.StartedAt).Add(time.Minute)):
		return true, "it is deleted, and somebody else made one of the same name since", nil
	case err != nil && (held == nil || !state.SameResource(row.ResourceType, held.PhysicalID, row.PhysicalID)):
		return true, "it is deleted", nil
	}
	return false, "it is still there, and the plan decides again", nil
}
