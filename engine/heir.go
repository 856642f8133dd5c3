package engine

import (
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A resource can have two rows: when its logical id changed and its name did
// not, the create of the new one is answered with what is there already. Such a
// resource is never deleted for the sake of the row that goes; the one that
// stays is its heir.

// heir returns the logical id of another row that names the same resource, ""
// when there is none. Rows that go as well do not count.
func (d *deployment) heir(logicalID string, row *state.Resource, going map[string]*state.Resource) string {
	if d.router.Driver(row.ResourceType) == nil {
		return "" // ids of custom resources are whatever their handlers say
	}
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	for id, other := range d.world.record.Resources {
		if id != logicalID && going[id] == nil && other.ResourceType == row.ResourceType &&
			state.SameResource(row.ResourceType, other.PhysicalID, row.PhysicalID) && sameScope(row, other) {
			return id
		}
	}
	return ""
}

// sameScope tells apart resources of types whose physical id is only unique
// within what they belong to.
func sameScope(a, b *state.Resource) bool {
	switch a.ResourceType {
	case "AWS::IAM::Policy":
		return slices.ContainsFunc([]string{"Roles", "Users", "Groups"}, func(property string) bool {
			of, _ := a.Properties.Value(property).([]any)
			with, _ := b.Properties.Value(property).([]any)
			return slices.ContainsFunc(of, func(v any) bool {
				return slices.ContainsFunc(with, func(w any) bool { return value.Equal(v, w) })
			})
		})
	case "AWS::Lambda::Permission":
		return value.Equal(a.Properties.Value("FunctionName"), b.Properties.Value("FunctionName"))
	}
	return true
}

// goneRows are the rows that the template does not have any more and the
// strays, the order of those to delete, and the heirs of the others.
func (d *deployment) goneRows(strays []string) (order []string, rows map[string]*state.Resource, heirs map[string]string) {
	rows, heirs = map[string]*state.Resource{}, map[string]string{}
	gone := strays
	for _, c := range d.Changes {
		if c.Gone() {
			gone = append(gone, c.LogicalID)
		}
	}
	for _, id := range gone {
		rows[id] = d.world.row(id)
	}
	for _, id := range gone {
		if heir := d.heir(id, rows[id], rows); heir != "" {
			heirs[id] = heir
		} else {
			order = append(order, id)
		}
	}
	return order, rows, heirs
}

// handOver drops the rows of a removal whose resources have an heir. It comes
// last, so that a rollback before finds the rows and leaves the resources.
func (d *deployment) handOver(rows map[string]*state.Resource, heirs map[string]string) {
	for id, heir := range heirs {
		d.observe(Event{Kind: Notice, LogicalID: id, Type: rows[id].ResourceType, PhysicalID: rows[id].PhysicalID,
			Text: "not deleted: the same resource is " + heir + " now"})
		d.change(func(r *state.Record) { r.Remove(id) })
		if d.pending.uncertain[id] != nil {
			d.finish(id, state.OpUpdate)
		}
	}
}

// checkNames refuses a template in which two resources declare one name, where
// the second create would be answered with the first one's resource.
func checkNames(stack string, desired []plan.Resource, router *provider.Router) error {
	type name struct{ typ, bus, value string }
	holders := map[name]string{}
	var faults []error
	for _, r := range desired {
		driver := router.Driver(r.Type)
		if driver == nil || driver.Resource().Lookup == nil {
			continue
		}
		n := plan.PhysicalName(stack, r.LogicalID, r.Type, r.Properties)
		if n.Value == "" {
			continue
		}
		key := name{r.Type, value.JSON(r.Properties.Value("EventBusName")), n.Value}
		if first := holders[key]; first != "" {
			faults = append(faults, &InputError{
				What: fmt.Sprintf("%s and %s (%s) have the same name %q: a name belongs to one resource", first, r.LogicalID, r.Type, n.Value),
				Next: "give one of them another name, or none",
				Page: guide.SameName,
			})
			continue
		}
		holders[key] = r.LogicalID
	}
	return joined(faults)
}
