package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/cloudcontrol"
	"github.com/org/cdkd-action/engine/provider/customresource"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

const (
	// How long after the end of a run its last requests may still arrive, and
	// reads not show what they made.
	lateArrival = 2 * time.Minute
	// How long Cloud Control knows a client token.
	cloudTokens = 36 * time.Hour
)

// An origin is by what the result of an unanswered create was found.
type origin string

const (
	byRequest origin = "its request"
	byToken   origin = "its token"
	byTag     origin = "its tag"
	byName    origin = "its name"
)

// A finding is what an unanswered create came to.
type finding struct {
	made    provider.Created
	by      origin // "": nothing was made
	text    string // of a create that made nothing, or cannot be told
	remnant string // what a failed create left
	failed  bool
	again   bool   // its create is to be sent as it was
	unknown string // why nobody can tell
}

// settleCreate finds out what a create made. row is what is recorded under its
// logical id.
func (s *settler) settleCreate(ctx context.Context, op state.OpenOperation, row *state.Resource) (verdict, error) {
	old := op.Replacing && row != nil && op.Previous != nil && row.PhysicalID == op.Previous.PhysicalID && row.ResourceType == op.Previous.ResourceType
	if isCustom(op.ResourceType) && row != nil && !old && row.ResourceType == op.ResourceType && value.Equal(row.Properties, op.Properties) {
		return s.settleRecorded(ctx, op, row), nil
	}
	f, err := s.find(ctx, op)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{text: f.text, failed: f.failed, sent: sentOf(op)}
	switch {
	case f.unknown != "":
		v := s.unresolvedBy(op, f.unknown)
		v.open.Found = f.made.PhysicalID
		return v, nil
	case f.by == "":
		v.nothing = !f.again
		if f.remnant != "" {
			v.leftover = s.leftoverOf(op, f.remnant, state.LeftRemnant)
		}
		return v, nil
	case row != nil && !old && (state.SameResource(op.ResourceType, f.made.PhysicalID, row.PhysicalID) || f.by == byName):
		v.text = "it is recorded"
		return v, nil
	case row != nil && !old:
		s.supersede(&v, op, f.made.PhysicalID)
		return v, nil
	}
	s.adoptFinding(&v, op, f, row)
	return v, nil
}

// supersede has what a create made be deleted: another has its row.
func (s *settler) supersede(v *verdict, op state.OpenOperation, made string) {
	v.text = fmt.Sprintf("it made %s; another was made since, and this one goes", made)
	v.leftover, v.nothing = s.leftoverOf(op, made, state.LeftSuperseded), true
}

// settleRecorded is for a custom resource's create whose row is there, made by it
// or by another engine since: if its handler answered with another id, by that one.
func (s *settler) settleRecorded(ctx context.Context, op state.OpenOperation, row *state.Resource) verdict {
	v := verdict{text: "it is recorded", sent: sentOf(op)}
	if v.sent == nil {
		return v
	}
	req := s.request(op.LogicalID, op.ResourceType)
	lookOnce(req)
	if made, err := s.custom.Settle(ctx, req, "Create", *v.sent); err == nil && made.PhysicalID != row.PhysicalID {
		s.supersede(&v, op, made.PhysicalID)
	}
	return v
}

// adoptFinding records what a create made as this stack's own.
func (s *settler) adoptFinding(v *verdict, op state.OpenOperation, f finding, old *state.Resource) {
	next := &state.Resource{
		PhysicalID: f.made.PhysicalID, ResourceType: op.ResourceType, ProvisionedBy: op.ProvisionedBy, Properties: op.Properties,
		Attributes: s.redact(f.made.Attributes), Dependencies: op.Dependencies,
		DeletionPolicy: op.DeletionPolicy, UpdateReplacePolicy: op.UpdateReplacePolicy,
	}
	if next.Properties == nil {
		next.Properties = &value.Object{}
	}
	if f.by == byTag || f.by == byName {
		// Only the first of the calls that make it was sent. The plan finds the
		// rest missing, and puts it.
		next.Properties = fixedProperties(s.router, op.ResourceType, next.Properties)
		if driver := s.router.Driver(op.ResourceType); driver != nil && driver.Resource().Wait != nil {
			v.later = state.StageSettling // nobody has waited for it
		}
	}
	next.NoEchoLeaves = maskedLeaves(next.Properties, nil)
	hide(next, f.made.NoEcho)
	v.edit = func(r *state.Record) { r.Set(op.LogicalID, next) }
	v.text = fmt.Sprintf("its create made %s, found by %s", f.made.PhysicalID, f.by)
	v.made = &state.Operation{LogicalID: op.LogicalID, ResourceType: op.ResourceType, ChangeType: state.OpCreate,
		PhysicalID: next.PhysicalID, Properties: op.Properties, ProvisionedBy: op.ProvisionedBy}
	if old == nil {
		return
	}
	v.made.ChangeType, v.made.Previous, v.made.OldRetained = state.OpUpdate, old, true
	if old.ResourceType != op.ResourceType {
		v.made.PreviousType = old.ResourceType
	}
	if op.UpdateReplacePolicy != "Retain" {
		v.leftover = oldCopy(op.LogicalID, old, op.UpdateReplacePolicy)
	}
}

// hide masks what the record must not say of attributes.
func hide(row *state.Resource, all bool) {
	for name, v := range row.Attributes.All() {
		if all {
			row.Attributes.Set(name, state.Masked)
		}
		if all || masked(v) {
			row.NoEchoAttributes = append(row.NoEchoAttributes, name)
		}
	}
}

// maskedLeaves are the paths of the masks in recorded properties.
func maskedLeaves(v any, at []any) (paths []any) {
	below := func(v any, step any) {
		paths = append(paths, maskedLeaves(v, append(at[:len(at):len(at)], step))...)
	}
	switch v := v.(type) {
	case *value.Object:
		for name, m := range v.All() {
			below(m, name)
		}
	case []any:
		for i, m := range v {
			below(m, value.Int(int64(i)))
		}
	case string:
		if masked(v) {
			paths = append(paths, at)
		}
	}
	return paths
}

func (s *settler) leftoverOf(op state.OpenOperation, physicalID, reason string) *state.Leftover {
	row := &state.Resource{PhysicalID: physicalID, ResourceType: op.ResourceType, ProvisionedBy: op.ProvisionedBy, Properties: op.Properties}
	if row.Properties == nil {
		row.Properties = &value.Object{}
	}
	return &state.Leftover{LogicalID: op.LogicalID, ResourceType: op.ResourceType, PhysicalID: physicalID, ProvisionedBy: op.ProvisionedBy,
		Previous: row, Reason: reason, Since: now().UnixMilli()}
}

// find finds out what a create made, by exact evidence only.
func (s *settler) find(ctx context.Context, op state.OpenOperation) (finding, error) {
	req, err := s.requestOf(ctx, op)
	if err != nil {
		return finding{unknown: err.Error()}, nil
	}
	switch {
	case isCustom(op.ResourceType):
		return s.findAnswer(ctx, op, req)
	case op.RequestToken != "":
		f, err := s.followCreate(ctx, op, req)
		if err == nil && f.unknown == tokenForgotten {
			return s.replay(ctx, op, req)
		}
		return f, err
	case op.ProvisionedBy == state.ByCloudControl:
		f, err := s.replay(ctx, op, req)
		if err != nil || f.unknown == "" {
			return f, err
		}
		req.OwnerTag = state.OwnerTagOf(op.ClientToken)
		if id, err := s.cloudControl.FindOwned(ctx, req); err == nil && id != "" {
			return finding{made: provider.Created{PhysicalID: id}, by: byTag}, nil
		}
		return f, nil
	}
	return s.search(ctx, op, req)
}

// requestOf is the request that an operation was sent with, as far as it can be
// told.
func (s *settler) requestOf(ctx context.Context, op state.OpenOperation) (*provider.Request, error) {
	req := s.request(op.LogicalID, op.ResourceType)
	req.PhysicalID, req.Name = op.PhysicalID, op.Name
	req.Properties = op.Properties
	if req.Properties == nil {
		req.Properties = &value.Object{}
	}
	resolved, err := s.scope.ResolveRecorded(ctx, req.Properties)
	if err != nil {
		return nil, fmt.Errorf("the secrets in what it was sent with cannot be resolved again: %w", err)
	}
	req.Properties = resolved.Clear.(*value.Object)
	return req, nil
}

const tokenForgotten = "Cloud Control does not know the request any more"

// followCreate follows what Cloud Control accepted to its end.
func (s *settler) followCreate(ctx context.Context, op state.OpenOperation, req *provider.Request) (finding, error) {
	if s.cancel {
		if err := s.cloudControl.Cancel(ctx, req, op.RequestToken); err != nil {
			s.observe(Event{Kind: Detail, LogicalID: op.LogicalID, Type: op.ResourceType, Text: err.Error()})
		}
	}
	made, err := s.cloudControl.Settle(ctx, req, op.RequestToken, types.OperationCreate, time.UnixMilli(op.StartedAt))
	return s.fromCloud(ctx, op, req, made, byRequest, err)
}

// fromCloud reads the outcome of a create of Cloud Control.
func (s *settler) fromCloud(ctx context.Context, op state.OpenOperation, req *provider.Request, made provider.Created, by origin, err error) (finding, error) {
	failed, isFailed := errors.AsType[*cloudcontrol.FailedError](err)
	cancelled, isCancelled := errors.AsType[*cloudcontrol.CancelledError](err)
	switch {
	case err == nil && made.PhysicalID != "":
		return finding{made: made, by: by}, nil
	case err == nil:
		return finding{unknown: "Cloud Control reports success and no identifier"}, nil
	case is[*cloudcontrol.OpenError](err):
		return finding{}, err
	case isFailed:
		return finding{text: "its create failed: " + failed.Error(), failed: true, remnant: failed.Remnant}, nil
	case isCancelled:
		return s.fromCancelled(ctx, op, req, cancelled.Identifier), nil
	case provider.HasCode(err, "RequestTokenNotFoundException"):
		return finding{unknown: tokenForgotten}, nil
	}
	return finding{unknown: err.Error()}, nil
}

// fromCancelled looks what a create left that was cancelled. It goes when it
// carries the tag that only this create gave.
func (s *settler) fromCancelled(ctx context.Context, op state.OpenOperation, req *provider.Request, id string) finding {
	nothing := finding{text: "its create was cancelled, and made nothing", failed: true}
	if id == "" {
		return nothing
	}
	half := *req
	half.PhysicalID, half.OwnerTag = id, state.OwnerTagOf(op.ClientToken)
	if _, err := s.cloudControl.Read(ctx, &half); errors.Is(err, provider.ErrNotFound) {
		return nothing
	}
	if owned, err := s.cloudControl.FindOwned(ctx, &half); err == nil && owned == id {
		return finding{text: fmt.Sprintf("its create was cancelled, and left %s, which goes", id), failed: true, remnant: id}
	}
	return finding{unknown: fmt.Sprintf("it was cancelled, and there is %s, which it may have made", id), made: provider.Created{PhysicalID: id}}
}

// replay sends a create once more with its token: the answer is the first one's.
func (s *settler) replay(ctx context.Context, op state.OpenOperation, req *provider.Request) (finding, error) {
	switch {
	case s.once:
		return finding{}, errOpen
	case op.ClientToken == "":
		return finding{unknown: "it was sent without a token, so that it cannot be found"}, nil
	case s.cancel || !s.declared(op.LogicalID, op.ResourceType):
		return finding{unknown: "the template does not have it any more, so that it is not sent once more to find out"}, nil
	case now().Sub(time.UnixMilli(op.StartedAt)) > cloudTokens:
		return finding{unknown: "its token is too old to tell"}, nil
	case op.PropertiesOmitted || masked(op.Properties):
		return finding{unknown: "what it was sent with is not recorded whole, so that it cannot be sent once more to find out"}, nil
	}
	// The tag was part of what was sent.
	req.PhysicalID, req.Token = "", op.ClientToken
	req.OwnerTag = state.OwnerTagOf(op.ClientToken)
	made, err := s.cloudControl.Create(ctx, req)
	if provider.HasCode(err, tokenConflict) {
		return finding{unknown: "its first request arrived, and what came of it cannot be found"}, nil
	}
	return s.fromCloud(ctx, op, req, made, byToken, err)
}

// findAnswer waits for what a handler answers. A request that may have reached
// it is not sent again.
func (s *settler) findAnswer(ctx context.Context, op state.OpenOperation, req *provider.Request) (finding, error) {
	made, err := s.custom.Settle(ctx, req, "Create", *sentOf(op))
	failed, isFailed := errors.AsType[*customresource.FailedError](err)
	undo := ""
	switch {
	case err == nil:
		return finding{made: made, by: byRequest}, nil
	case is[*customresource.OpenError](err):
		return finding{}, err
	case isFailed:
		undo = failed.PhysicalID
	case is[*customresource.TimeoutError](err):
		undo = op.LogicalID
	default:
		return finding{unknown: err.Error()}, nil
	}
	if undo != "" && s.once {
		return finding{}, errOpen
	}
	if undo != "" {
		if err := s.undoAnswer(ctx, op, req, undo); err != nil {
			return finding{}, err
		}
	}
	return finding{text: "its create failed: " + err.Error(), failed: true}, nil
}

// undoAnswer has a handler delete what its create may have made.
func (s *settler) undoAnswer(ctx context.Context, op state.OpenOperation, req *provider.Request, physicalID string) error {
	undo := *req
	undo.PhysicalID = physicalID
	deleted, err := s.custom.Delete(ctx, &undo)
	if is[*customresource.OpenError](err) {
		return err
	}
	if err == nil && deleted.Skipped == "" {
		return nil
	}
	reason := deleted.Skipped
	if err != nil {
		reason = err.Error()
	}
	s.unaddressed(op.LogicalID, op.ResourceType, physicalID, "what its failed create made could not be deleted: "+reason, "look what its handler left, and delete it by hand")
	return nil
}

// search looks for what a create made whose answer was lost.
func (s *settler) search(ctx context.Context, op state.OpenOperation, req *provider.Request) (finding, error) {
	driver := s.router.Driver(op.ResourceType)
	if driver == nil {
		return finding{unknown: "this version cannot provision its type"}, nil
	}
	ledger := s.ledger(ctx)
	entry := ledger.Open()[op.LogicalID]
	named := entry.ByName() || driver.Resource().Lookup != nil && op.Name != ""
	again := s.declared(op.LogicalID, op.ResourceType) && !s.cancel
	if !named && driver.Resource().Find == nil {
		if again && resendable[op.ResourceType] != "" {
			return finding{text: "its create is sent again: " + resendable[op.ResourceType], again: true}, nil
		}
		return finding{unknown: notFindable(op.ResourceType)}, nil
	}
	if named && again {
		// Its create takes the name, or is refused because somebody holds it.
		return finding{text: "its create goes on under the same name", again: true}, nil
	}
	req.Token, req.OwnerTag = op.ClientToken, entry.OwnerTag(ledger.Nonce(), op.LogicalID)
	if entry.Base == "" {
		req.OwnerTag = state.OwnerTagOf(op.ClientToken)
	}
	for waited := false; ; waited = true {
		var id string
		var err error
		by := byTag
		if named {
			id, err = s.searchName(ctx, op, req, driver)
			by = byName
		} else {
			id, err = driver.Find(ctx, req)
		}
		if err != nil {
			return finding{unknown: "it could not be looked up: " + err.Error()}, nil
		}
		if id != "" {
			req.PhysicalID = id
			return finding{made: provider.Created{PhysicalID: id, Attributes: driver.Known(req)}, by: by}, nil
		}
		if s.once {
			return finding{}, errOpen // its create may go on with the same token
		}
		left := lateArrival - now().Sub(s.ended(ledger))
		if waited || left <= 0 {
			return finding{text: "its create made nothing", again: again}, nil
		}
		s.observe(Event{Kind: Notice, LogicalID: op.LogicalID, Type: op.ResourceType, Text: fmt.Sprintf(
			"its create was sent, and nothing is there: as it may still arrive, it is looked for again at %s", now().Add(left).UTC().Format(time.TimeOnly+" UTC"))})
		if err := provider.Sleep(ctx, s.e.config.Window.Draining(), left); err != nil {
			return finding{}, err
		}
	}
}

// searchName looks who has the name of a create, "" for nobody or somebody else.
func (s *settler) searchName(ctx context.Context, op state.OpenOperation, req *provider.Request, driver *provider.Driver) (string, error) {
	held, err := driver.Lookup(ctx, req)
	if err != nil || held == nil {
		return "", err
	}
	ledger := s.ledger(ctx)
	verdict := s.place.Evidence(s.asRead, ledger).License(ctx, state.Holder{
		LogicalID: op.LogicalID, Type: op.ResourceType, Name: op.Name,
		PhysicalID: held.PhysicalID, Created: held.Created, OwnerTag: held.Tags[provider.OwnerTagKey],
	})
	if verdict.Proof == "" {
		return "", nil
	}
	return held.PhysicalID, nil
}

// ended is when the run that left the entries can last have sent something.
func (s *settler) ended(ledger *state.Ledger) time.Time {
	at := time.UnixMilli(max(s.found.SealedAt, s.found.WrittenAt))
	if abandoned := ledger.Abandoned(); abandoned.After(at) {
		at = abandoned
	}
	return at
}

func sentOf(op state.OpenOperation) *customresource.Sent {
	if op.ResponseKey == "" {
		return nil
	}
	return &customresource.Sent{RequestID: op.RequestID, ResponseKey: op.ResponseKey, AnswerBy: time.UnixMilli(op.AnswerBy)}
}

func lower(changeType string) string { return strings.ToLower(changeType) }
