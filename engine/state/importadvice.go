package state

import (
	"fmt"
	"strings"
)

// ImportAdvice says how to have a resource recorded that exists: as a command,
// and as the inputs of a step. Of names that could mean something to a shell it
// is told in words only. An id that is not known, "", is for a person to fill in.
// What is recorded under the logical id, "" for nothing, takes force to give up.
func ImportAdvice(stack, logicalID, physicalID, recorded string) string {
	const unknown = "PHYSICAL-ID"
	fill := ""
	if physicalID == "" {
		physicalID, fill = unknown, ", with its id in place of "+unknown
	}
	mapping := logicalID + "=" + physicalID
	if !pasteable.MatchString(stack) || strings.HasPrefix(stack, "-") || !importable.MatchString(mapping) {
		return "import it"
	}
	flag, input := "", ""
	if recorded != "" {
		flag, input = " --force", ", force: true"
		fill += fmt.Sprintf("; %s, which is on record, is left in AWS then", printable(recorded))
	}
	return fmt.Sprintf("import it:\ncdkd-action import %s --resource %s%s\nor, in a workflow, with command: import, stacks: %s, resource: %s%s, yes: true%s",
		stack, mapping, flag, stack, mapping, input, fill)
}
