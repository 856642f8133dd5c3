package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// A nested stack that was deployed keeps its segment until the top-level stack
// is done: should that fail, the segment is what undoes it. Beside the
// operations it holds what the record said of outputs and of other stacks.

// Segment returns a run's part of the journal, nil when there is none; j may be
// nil.
func (j *Journal) Segment(runID string) *Segment {
	if j == nil {
		return nil
	}
	if i := j.find(runID); i >= 0 {
		return j.Segments[i]
	}
	return nil
}

// Remember notes what a record said beside its resources before the run; nil
// is no record.
func (g *Segment) Remember(before *Record) {
	if before == nil {
		before = &Record{ExportNames: []string{}}
	}
	outputs := before.Outputs
	if outputs == nil {
		outputs = &value.Object{}
	}
	g.PreviousOutputs, g.PreviousReads = value.NewObject("outputs", outputs), &value.Object{}
	if before.ExportNames != nil {
		g.PreviousOutputs.Set("exportNames", texts(before.ExportNames))
	}
	w := writer{g.PreviousReads}
	w.list("imports", importObjects(before.Imports))
	w.list("outputReads", outputReadObjects(before.OutputReads))
}

// Restore makes a record say again what Remember noted. It changes nothing for
// a segment that holds nothing of the kind.
func (g *Segment) Restore(r *Record) {
	if g.PreviousOutputs != nil {
		r.Outputs, _ = g.PreviousOutputs.Value("outputs").(*value.Object)
		r.ExportNames = parseExportNames(g.PreviousOutputs)
	}
	if g.PreviousReads != nil {
		in := reader{g.PreviousReads, "", new([]string)}
		r.Imports, r.OutputReads = parseImports(in), parseOutputReads(in)
	}
}

// NestedJournals returns the stacks nested in k, at any depth, that have a
// journal.
func (k *Stack) NestedJournals(ctx context.Context) ([]string, error) {
	var names []string
	root, suffix := k.prefix+"/", "/"+k.Region+"/"+journalName
	err := k.store.list(ctx, root+k.Name+"~", "", func(key string) bool {
		if name, ok := strings.CutSuffix(strings.TrimPrefix(key, root), suffix); ok && !strings.Contains(name, "/") {
			names = append(names, name)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list the journals of what is nested in stack %s in %s: %w", k.Name, k.Region, err)
	}
	slices.Sort(names)
	return names, nil
}
