package engine

import (
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/template"
)

// An IncomparableError says that nobody can tell whether a resource has to be
// replaced, since the value that decides it is a NoEcho one. Nothing was changed
// on it: to send the value could change another resource, one that already has
// the new name.
type IncomparableError struct {
	LogicalID, Type, Property string
	Parameters                []string // that the value is made of, where this is known
	nested                    bool     // of a nested stack, which is always given its parameters
}

func (e *IncomparableError) Error() string {
	return fmt.Sprintf("whether %s (%s) has to be replaced cannot be told: %s", e.LogicalID, e.Type, e.because())
}

func (e *IncomparableError) because() string {
	return fmt.Sprintf("%s cannot be changed in place and holds %s, whose old value is not stored", e.Property, e.source())
}

// Remedy says what to do about it.
func (e *IncomparableError) Remedy() string {
	write := "write " + e.Property + " without a NoEcho value"
	if len(e.Parameters) == 0 || e.nested {
		return write
	}
	return "leave " + strings.Join(e.Parameters, " and ") + " out, which takes a Default and nothing else that changes and holds it, so that the stored value stays, or " + write
}

func (e *IncomparableError) source() string {
	if len(e.Parameters) == 0 {
		return "a NoEcho value"
	}
	return "the NoEcho " + several("parameter", e.Parameters)
}

// comparable refuses a change of which a mask hides whether it is a replacement.
func (d *deployment) comparable(c *plan.Change, r *template.Resource) error {
	if c.Action != plan.MayReplace {
		return nil // that it is replaced is known anyway, or that it is not
	}
	for _, p := range c.Properties {
		if p.Incomparable {
			return &IncomparableError{
				LogicalID: c.LogicalID, Type: c.Type, Property: p.Path,
				Parameters: suppliedTo(r.Properties.Value(p.Path), d.t), nested: d.t.parent != nil,
			}
		}
	}
	return nil
}
