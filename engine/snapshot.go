package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/provider/awssdk"
	"github.com/org/cdkd-action/engine/state"
)

// A SnapshotError says that a resource is kept because its policy asks for a
// final snapshot that there is not.
type SnapshotError struct {
	LogicalID, Type string
	Err             error // nil: none can be taken
}

func (e *SnapshotError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("the final snapshot of %s (%s) was not completed, so it was kept: %v", e.LogicalID, e.Type, e.Err)
	}
	return fmt.Sprintf("%s (%s) is to be deleted with a final snapshot, and none can be taken; it was kept", e.LogicalID, e.Type)
}

func (e *SnapshotError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *SnapshotError) Remedy() string {
	if e.Err != nil {
		return "run the same command again, which waits for a snapshot that is under way; or take one by hand and set skip-final-snapshot"
	}
	return "take the snapshot by hand and set skip-final-snapshot, or set the policy to Retain to keep the resource"
}

// takesSnapshot tells whether a final snapshot can be had of a recorded
// resource: by a call before the delete, or by the delete itself, which Cloud
// Control's does not offer.
func (d *deployment) takesSnapshot(row *state.Resource) bool {
	if awssdk.TakesSnapshotFirst(row.ResourceType) {
		return true
	}
	driver := d.router.Driver(row.ResourceType)
	return driver != nil && driver.Resource().FinalSnapshot && row.ProvisionedBy != state.ByCloudControl
}

// takeSnapshot takes the final snapshot of a resource whose delete takes none.
// Let go, it is no delete that goes on: the next run finds the snapshot, and
// waits for it before it deletes.
func (d *deployment) takeSnapshot(ctx context.Context, req *provider.Request) error {
	if err := d.mayBegin(ctx); err != nil {
		return err
	}
	d.observe(Event{Kind: Notice, LogicalID: req.LogicalID, Type: req.Type, PhysicalID: req.PhysicalID, Text: "a final snapshot is taken before it is deleted"})
	start := time.Now()
	err := awssdk.TakeSnapshot(ctx, req)
	switch {
	case err == nil:
		d.observe(Event{Kind: Notice, LogicalID: req.LogicalID, Type: req.Type, PhysicalID: req.PhysicalID,
			Text: fmt.Sprintf("its final snapshot is complete after %s", time.Since(start).Round(time.Second))})
		return nil
	case d.e.config.Window.Interrupted() && letGo(err):
		return errors.Join(errNotBegun, err)
	}
	return &SnapshotError{LogicalID: req.LogicalID, Type: req.Type, Err: err}
}
