package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A NotReadableError says that there is no way to read a resource's properties
// from AWS.
type NotReadableError struct{ LogicalID, Type, Why string }

func (e *NotReadableError) Error() string {
	return fmt.Sprintf("%s (%s) cannot be read back: %s", e.LogicalID, e.Type, e.Why)
}

// observed is readNow as it may be stored.
func (d *deployment) observed(ctx context.Context, logicalID string, row *state.Resource) (*value.Object, error) {
	found, err := d.readNow(ctx, logicalID, row)
	if err != nil {
		return nil, err
	}
	return d.storable(found, row.Properties), nil
}

// readNow reads what a recorded resource is like in AWS now, in CloudFormation's
// shape. Secrets are in clear. It is a *NotReadableError when nothing can
// read the type, and provider.ErrNotFound when the resource is gone; what the
// record says is never taken for an answer.
func (d *deployment) readNow(ctx context.Context, logicalID string, row *state.Resource) (*value.Object, error) {
	decision, err := d.router.Recorded(logicalID, row.ResourceType, row.ProvisionedBy)
	if err != nil {
		return nil, &NotReadableError{logicalID, row.ResourceType, err.Error()}
	}
	if decision.Direct {
		return nil, &NotReadableError{logicalID, row.ResourceType, "what it made is not known to AWS as one resource"}
	}
	req := d.request(logicalID, row.ResourceType)
	req.PhysicalID, req.Properties, req.Attributes = row.PhysicalID, row.Properties, row.Attributes
	var found *value.Object
	err = retry.Do(ctx, retry.ForReading(), retry.Task{Name: logicalID, Draining: req.Draining}, func(ctx context.Context) (err error) {
		found, err = decision.Provider.Read(ctx, req)
		return err
	})
	switch {
	case provider.HasCode(err, "UnsupportedActionException", "TypeNotFoundException"):
		return nil, &NotReadableError{logicalID, row.ResourceType, "Cloud Control has no reader for the type"}
	case err != nil:
		return nil, fmt.Errorf("read %s (%s) %s: %w", logicalID, row.ResourceType, row.PhysicalID, err)
	case found == nil:
		return nil, fmt.Errorf("read %s (%s) %s: %w", logicalID, row.ResourceType, row.PhysicalID, errors.New("the answer is empty"))
	}
	return found, nil
}

// storable is what was read without secrets. Where the record has a secret's
// expression or its mask, the answer gets that back; a property of which not all
// found their place (a list came back longer, or in another order) is left out
// rather than stored in clear.
func (d *deployment) storable(found, recorded *value.Object) *value.Object {
	v, _ := d.e.config.Secrets.Redact(found, recorded)
	out := v.(*value.Object)
	for name, was := range recorded.All() {
		is, there := out.Get(name)
		if there && !bearsAll(is, was) {
			out.Delete(name)
		}
	}
	return out
}

// bearsAll tells whether every secret of the recorded value stands in the same
// place of the one that was read, or has nothing read in its place.
func bearsAll(read, recorded any) bool {
	switch recorded := recorded.(type) {
	case string:
		return !standsForSecret(recorded) || read == recorded || read == nil
	case []any:
		l, ok := read.([]any)
		if !ok || len(l) != len(recorded) {
			return !secretive(recorded)
		}
		for i := range recorded {
			if !bearsAll(l[i], recorded[i]) {
				return false
			}
		}
	case *value.Object:
		o, ok := read.(*value.Object)
		if !ok {
			return !secretive(recorded)
		}
		for name, m := range recorded.All() {
			if !bearsAll(o.Value(name), m) {
				return false
			}
		}
	}
	return true
}

// secretive tells whether anything in a recorded value stands for a secret.
func secretive(v any) bool { return !shows(v) }

func standsForSecret(text string) bool {
	return text == secret.Masked || strings.Contains(text, "{{resolve:")
}
