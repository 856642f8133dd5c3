package report

import (
	"strings"

	"github.com/org/cdkd-action/engine/plan"
)

// sign stands in front of a row of the text.
func sign(a plan.Action) string {
	switch a {
	case plan.Create:
		return "[+]"
	case plan.Delete, plan.Retain:
		return "[-]"
	}
	return "[~]"
}

// annotation is the note behind a resource, with a blank before it; "" when
// there is nothing to note: why its layer is not, or no longer, the SDK, or what
// keeps it in AWS.
func annotation(c *plan.Change) string {
	if c.Pending != "" {
		open := *c
		open.Pending = ""
		return " [pending: " + oneLine(c.Pending) + "]" + annotation(&open)
	}
	switch r := c.Route; {
	case c.Refused != "":
		return " [refused: " + oneLine(c.Refused) + "]"
	case c.Action == plan.Retain:
		return " [kept in AWS: DeletionPolicy " + oneLine(c.DeletionPolicy) + "]"
	case c.Action == plan.Delete, c.Action == plan.NoChange:
		return ""
	case c.Untold:
		return " [nested stack: known after deploy]"
	case c.Recreate != "":
		return " [" + string(c.Recreate) + "]"
	case len(r.Unhandled) > 0:
		return " [via CC API: " + oneLine(strings.Join(r.Unhandled, ", ")) + "]"
	case r.Returning:
		return " [returning to SDK provider]"
	case r.Sticky:
		return " [via CC API: sticky]"
	}
	return ""
}

const (
	metadataOnly          = " [metadata only, no AWS API call]"
	replacementPropagated = " [replacement propagated]"
	knownAfterDeploy      = "(known after deploy)"
	legacyPlaintext       = "<redacted: may be legacy plaintext in state>"
)

// propertyMarks say what a change of a property means, each with a blank before
// it.
func propertyMarks(p plan.PropertyChange) string {
	marks := ""
	for _, m := range []struct {
		set  bool
		text string
	}{
		{p.Replaces, " [requires replacement]"},
		{p.MayReplace, " [may require replacement]"},
		{p.Propagated, replacementPropagated},
		{p.Uncertain, " [outcome unknown, applied again]"},
	} {
		if m.set {
			marks += m.text
		}
	}
	return marks
}

// afterNew stands behind the new value of a property.
func afterNew(p plan.PropertyChange, new any) string {
	switch {
	case p.NoEcho:
		return " (NoEcho, cannot be compared)"
	case plan.Intrinsic(new):
		return " " + knownAfterDeploy
	}
	return ""
}

// sides are the values of a property for a reader. That an unseen value changed
// is not said of a NoEcho parameter, which nobody can compare.
func sides(p plan.PropertyChange, old, new any) (any, any) {
	if !p.NoEcho {
		new = settle(old, p.HasOld, new)
	}
	return old, new
}

func orUnset(text string) string {
	if text == "" {
		return "(unset)"
	}
	return oneLine(text)
}
