package state

import (
	"fmt"
	"strings"
)

// ImportAdvice says how to have a resource recorded that exists: as a command,
// and as the inputs of a step. Of names that could mean something to a shell it
// is told in words only. An id that is not known, "", is for a person to fill in.
func ImportAdvice(stack, logicalID, physicalID string) string {
	const unknown = "PHYSICAL-ID"
	fill := ""
	if physicalID == "" {
		physicalID, fill = unknown, ", with its id in place of "+unknown
	}
	mapping := logicalID + "=" + physicalID
	if !pasteable.MatchString(stack) || strings.HasPrefix(stack, "-") || !importable.MatchString(mapping) {
		return "import it"
	}
	return fmt.Sprintf("import it:\ncdkd-action import %s --resource %s\nor, in a workflow, with command: import, stacks: %s, resource: %s, yes: true%s",
		stack, mapping, stack, mapping, fill)
}
