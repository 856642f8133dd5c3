package engine

import (
	"slices"

	"github.com/org/cdkd-action/engine/result"
)

// unawaited notes a resource that the wait mode did not wait for, by the command
// that shows its state; "" when it was waited for after all.
func (d *deployment) unawaited(logicalID, typ, physicalID, command string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.res.Unawaited = slices.DeleteFunc(d.res.Unawaited, func(u result.Unawaited) bool { return u.LogicalID == logicalID && u.Stack == d.t.Name })
	if command == "" {
		return
	}
	d.res.Unawaited = append(d.res.Unawaited, result.Unawaited{
		Stack: d.t.Name, LogicalID: logicalID, Type: typ, PhysicalID: physicalID, Command: d.e.config.Secrets.Mask(command),
	})
}
