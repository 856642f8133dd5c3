package template

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/org/cdkd-action/engine/partition"
)

// stackIDs is the name space of the UUIDs in stack ids.
var stackIDs = uuid.MustParse("0f0b6f0e-6f0c-5c59-9d0b-3c1a7c1d9a52")

// StackID returns AWS::StackId of a stack. Its last part is always the same for
// one stack and differs between any two, those of other accounts, regions and
// state prefixes included: templates cut names out of it.
func StackID(account, region, prefix, stack string) string {
	id := uuid.NewSHA1(stackIDs, fmt.Appendf(nil, "%s\n%s\n%s\n%s", account, region, prefix, stack))
	return fmt.Sprintf("arn:%s:cloudformation:%s:%s:stack/%s/%s", partition.Of(region), region, account, stack, id)
}
