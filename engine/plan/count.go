package plan

import "slices"

// Counts are how many rows have an action. Rows that change only policies are
// updates.
type Counts map[Action]int

// Counts counts the plan's own rows, without its children's.
func (p *Plan) Counts() Counts {
	n := Counts{}
	for _, c := range p.Changes {
		n[c.Action]++
	}
	return n
}

// OutputCounts counts the plan's own outputs that change.
func (p *Plan) OutputCounts() Counts {
	n := Counts{}
	for _, o := range p.Outputs {
		n[o.Action]++
	}
	return n
}

// Add adds m to n, for a total over stacks.
func (n Counts) Add(m Counts) {
	for a, rows := range m {
		n[a] += rows
	}
}

// Changed tells whether anything differs: a resource, a policy, an output, or
// any of that in a child.
func (p *Plan) Changed() bool {
	return len(p.Outputs) > 0 || slices.ContainsFunc(p.Children, (*Plan).Changed) ||
		slices.ContainsFunc(p.Changes, func(c *Change) bool { return c.Action != NoChange })
}

// Destructive tells whether a resource, here or in a child, is deleted, is
// replaced, or may be.
func (p *Plan) Destructive() bool {
	n := p.Counts()
	return n[Replace]+n[MayReplace]+n[Delete] > 0 || slices.ContainsFunc(p.Children, (*Plan).Destructive)
}
