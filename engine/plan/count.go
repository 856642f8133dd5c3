package plan

import "slices"

// Counts are the rows of a plan by what happens to them. Attribute-only rows
// are updates.
type Counts struct {
	Create, Update, Replace, MayReplace, Delete, Retain int
	OutputsAdded, OutputsChanged, OutputsRemoved        int
}

// Counts counts the plan's own rows, without its children's.
func (p *Plan) Counts() Counts {
	var n Counts
	for _, c := range p.Changes {
		switch c.Action {
		case Create:
			n.Create++
		case Update:
			n.Update++
		case Replace:
			n.Replace++
		case MayReplace:
			n.MayReplace++
		case Delete:
			n.Delete++
		case Retain:
			n.Retain++
		}
	}
	for _, o := range p.Outputs {
		switch o.Action {
		case Create:
			n.OutputsAdded++
		case Update:
			n.OutputsChanged++
		case Delete:
			n.OutputsRemoved++
		}
	}
	return n
}

// Add returns the sum, for a total over stacks.
func (n Counts) Add(m Counts) Counts {
	n.Create += m.Create
	n.Update += m.Update
	n.Replace += m.Replace
	n.MayReplace += m.MayReplace
	n.Delete += m.Delete
	n.Retain += m.Retain
	n.OutputsAdded += m.OutputsAdded
	n.OutputsChanged += m.OutputsChanged
	n.OutputsRemoved += m.OutputsRemoved
	return n
}

// Changed tells whether anything differs: a resource, a policy, an output, or
// any of that in a child.
func (p *Plan) Changed() bool {
	return p.Counts() != Counts{} || slices.ContainsFunc(p.Children, (*Plan).Changed)
}

// Destructive tells whether a resource, here or in a child, is deleted, is
// replaced, or may be.
func (p *Plan) Destructive() bool {
	n := p.Counts()
	return n.Replace+n.MayReplace+n.Delete > 0 || slices.ContainsFunc(p.Children, (*Plan).Destructive)
}
