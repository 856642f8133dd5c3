package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/state"
)

// below is the path of a nested stack from the top-level one; "" is that one.
func (x *exporting) below() string {
	_, path, _ := strings.Cut(x.t.Name, "~")
	return strings.ReplaceAll(path, "~", "/")
}

// childName is what a nested stack is called in CloudFormation.
func (x *exporting) childName(logicalID string) string {
	path := strings.TrimPrefix(x.below()+"/"+logicalID, "/")
	if name := x.opt.ChildNames[path]; name != "" {
		return name
	}
	return x.out.StackName + "-" + logicalID
}

// childPaths are the nested stacks of one, in the order in which they are exported.
func childPaths(t target, below string) (paths []string) {
	for _, id := range sortedKeys(t.Nested) {
		path := strings.TrimPrefix(below+"/"+id, "/")
		paths = append(append(paths, childPaths(t.child(nil, id, t.Nested[id], nil, nil), path)...), path)
	}
	return paths
}

// nameChildren checks the names that were given to nested stacks, and takes those
// by which an earlier run began.
func nameChildren(t target, opt *ExportOptions, begun *state.Handover) error {
	paths := childPaths(t, "")
	for _, path := range slices.Sorted(maps.Keys(opt.ChildNames)) {
		if !slices.Contains(paths, path) {
			next := "it has none; leave the name out"
			if len(paths) > 0 {
				next = "the ones it has are " + strings.Join(paths, ", ")
			}
			return &InputError{What: fmt.Sprintf("stack %s has no nested stack %s", t.Name, path), Next: next}
		}
	}
	if begun == nil || len(begun.Stacks) != len(paths)+1 {
		return nil
	}
	names := map[string]string{}
	for n, path := range paths {
		names[path] = begun.Stacks[n]
		if given := opt.ChildNames[path]; given != "" && given != names[path] {
			return &InputError{
				What: fmt.Sprintf("an earlier run began to export nested stack %s of %s as %s", path, t.Name, names[path]),
				Next: "go on under that name: leave cfn-child-stack-name out",
			}
		}
	}
	opt.ChildNames = names
	return nil
}

// consumed tells who imports from the stack and is not exported with it. They find
// its exports in CloudFormation, unless somebody wants them to go first.
func (x *exporting) consumed(ctx context.Context) error {
	if x.above != nil || len(x.before.record.Exports()) == 0 && len(x.t.Nested) == 0 {
		return nil
	}
	consumers, err := x.store.ConsumersOfAll(ctx, x.t.Name, x.t.Region)
	if err != nil {
		return err
	}
	var names []string
	for _, c := range consumers {
		names = add(names, c.Stack)
	}
	switch {
	case names == nil:
	case x.opt.StrictReferences:
		return &InputError{
			What: fmt.Sprintf("stack %s in %s is imported from by %s", x.t.Name, x.t.Region, strings.Join(names, ", ")),
			Next: "take the import out of these first, or leave strict-cross-stack out: then they find the exports in CloudFormation",
		}
	default:
		x.warn("%s imports from the stack, and finds its exports in CloudFormation from then on: do not set cfn-fallback to false for it", strings.Join(names, ", "))
	}
	return nil
}
