package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// shownJSON is the form of state show --json. With nested stacks each has the
// list of its own, which may be empty.
func shownJSON(shown *engine.Shown, nested bool) (*value.Object, error) {
	b, err := shown.Record.Marshal()
	if err != nil {
		return nil, err
	}
	record, err := value.ParseObject(b)
	if err != nil {
		return nil, err
	}
	record.Set("version", value.Int(shown.Record.Version)) // as it is in the bucket
	var lock any
	if l := shown.Lock; l != nil {
		o := value.NewObject("owner", l.Owner, "timestamp", milliseconds(l.Acquired), "expiresAt", milliseconds(l.Expires))
		if l.Operation != "" {
			o.Set("operation", l.Operation)
		}
		lock = o
	}
	form := value.NewObject("state", record, "lock", lock)
	if shown.Pending != nil {
		open := []any{}
		for _, line := range shown.Pending.Lines() {
			o, err := value.ParseObject([]byte(line))
			if err != nil {
				return nil, err
			}
			open = append(open, o)
		}
		form.Set("pending", open)
	}
	if h := shown.Handover; h != nil {
		form.Set("handover", value.NewObject("direction", string(h.Direction), "step", string(h.Step), "cloudFormationStack", h.Handover.Stack, "since", value.Int(h.Since)))
	}
	if !nested {
		return form, nil
	}
	children := []any{}
	for _, n := range shown.Nested {
		child, err := shownJSON(n, true)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	form.Set("children", children)
	return form, nil
}

func milliseconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return value.Int(t.UnixMilli())
}

// shownText is the form of state show for people. Properties stay out of it:
// the JSON form has them.
func shownText(shown *engine.Shown, now time.Time) string {
	var b strings.Builder
	r := shown.Record
	fmt.Fprintf(&b, "%s in %s, saved %s (version %d)\n", report.Line(r.StackName), report.Line(r.Region),
		time.UnixMilli(r.LastModified).UTC().Format(time.RFC3339), r.Version)
	b.WriteString(lockText(shown.Lock, now) + "\n")
	if h := shown.Handover; h != nil {
		fmt.Fprintf(&b, "%s; %s\n", report.Line(h.Error()), report.Line(h.Remedy()))
	}
	fmt.Fprintf(&b, "%s\n", amount.Of(len(r.Resources), "resource"))
	for _, id := range r.LogicalIDs() {
		row := r.Row(id)
		via := ""
		if row.ProvisionedBy == state.ByCloudControl {
			via = ", through Cloud Control"
		}
		fmt.Fprintf(&b, "  %s (%s%s) %s\n", report.Line(id), report.Line(row.ResourceType), via, report.Line(row.PhysicalID))
	}
	b.WriteString(pendingText(shown.Pending, now))
	if names := r.Outputs.Keys(); len(names) > 0 {
		b.WriteString("outputs\n")
		for _, n := range names {
			fmt.Fprintf(&b, "  %s = %s\n", report.Line(n), report.Line(value.JSON(r.Outputs.Value(n))))
		}
	}
	for _, n := range shown.Nested {
		b.WriteString("\n" + shownText(n, now))
	}
	return b.String()
}

// pendingText says what runs let go and nobody settled yet.
func pendingText(p *state.Pending, now time.Time) string {
	if p == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("open, to be settled by the next run\n")
	for _, op := range p.Operations {
		fmt.Fprintf(&b, "  %s (%s) %s\n", report.Line(op.LogicalID), report.Line(op.ResourceType), report.Line(engine.PendingText(op, now)))
	}
	for _, l := range p.Leftovers {
		fmt.Fprintf(&b, "  %s (%s) %s is to be deleted (%s)\n", report.Line(l.LogicalID), report.Line(l.ResourceType), report.Line(l.PhysicalID), report.Line(l.Reason))
	}
	return b.String()
}

// lockText says who holds a lock.
func lockText(l *state.LockRecord, now time.Time) string {
	switch {
	case l == nil:
		return "not locked"
	case l.Expired(now):
		return fmt.Sprintf("lock of %s (%s), expired", report.Line(l.Owner), report.Line(l.Operation))
	}
	return fmt.Sprintf("locked by %s (%s), until %s", report.Line(l.Owner), report.Line(l.Operation), l.Expires.UTC().Format(time.RFC3339))
}
