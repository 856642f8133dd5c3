package main

import (
	"strings"

	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// A stackNode is a stack with those that are nested in it.
type stackNode struct {
	state.Ref
	children []*stackNode
}

// forest arranges stacks by their names: a nested stack is called
// parent~logicalId. One whose parent is not there stands by itself.
func forest(refs []state.Ref) (roots []*stackNode) {
	nodes := map[state.Ref]*stackNode{}
	for _, r := range refs {
		nodes[r] = &stackNode{Ref: r}
	}
	for _, r := range refs {
		parent, _ := nestedIn(r)
		if n := nodes[parent]; n != nil {
			n.children = append(n.children, nodes[r])
		} else {
			roots = append(roots, nodes[r])
		}
	}
	return roots
}

// nestedIn tells which stack a nested one is in, and as what.
func nestedIn(r state.Ref) (parent state.Ref, logicalID string) {
	i := strings.LastIndex(r.Stack, "~")
	if i < 0 {
		return state.Ref{}, ""
	}
	return state.Ref{Stack: r.Stack[:i], Region: r.Region}, r.Stack[i+1:]
}

func refText(r state.Ref) string {
	if r.Region == "" {
		return report.Line(r.Stack)
	}
	return report.Line(r.Stack + " (" + r.Region + ")")
}

func forestText(roots []*stackNode) string {
	var b strings.Builder
	var write func(nodes []*stackNode, indent string)
	write = func(nodes []*stackNode, indent string) {
		for i, n := range nodes {
			branch, below := "├── ", "│   "
			if i == len(nodes)-1 {
				branch, below = "└── ", "    "
			}
			b.WriteString(indent + branch + refText(n.Ref) + "\n")
			write(n.children, indent+below)
		}
	}
	for _, n := range roots {
		b.WriteString(refText(n.Ref) + "\n")
		write(n.children, "")
	}
	return b.String()
}

func forestJSON(nodes []*stackNode) []any {
	list := []any{}
	for _, n := range nodes {
		o := value.NewObject("stackName", n.Stack, "region", regionJSON(n.Ref), "parentStack", nil, "parentLogicalId", nil, "parentRegion", nil)
		if parent, id := nestedIn(n.Ref); id != "" {
			o.Set("parentStack", parent.Stack)
			o.Set("parentLogicalId", id)
			o.Set("parentRegion", regionJSON(parent))
		}
		o.Set("children", forestJSON(n.children))
		list = append(list, o)
	}
	return list
}
