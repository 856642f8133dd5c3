// Package graph orders a stack's resources and runs what has to be done to
// them: each the moment the last thing it waits for is done, without levels.
//
// Ordering is pure. The scheduler knows no AWS: it is given functions to run,
// in which order, and how many at once. One goroutine owns all of its state.
package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Edges says, for an id, which ids have to be done before it. An id without an
// entry waits for nothing.
type Edges map[string][]string

// Add makes id wait for producer. Adding an edge twice changes nothing.
func (e Edges) Add(id, producer string) {
	if !slices.Contains(e[id], producer) {
		e[id] = append(e[id], producer)
	}
}

// Restrict returns the edges between the ids that keep accepts. Order holds
// through those that it does not: where a waits for x, x for b, and x is left
// out, a waits for b.
func (e Edges) Restrict(keep func(id string) bool) Edges {
	out := Edges{}
	reach := map[string][]string{} // of a left-out id: the kept ones before it
	var before func(id string, path map[string]bool) []string
	before = func(id string, path map[string]bool) []string {
		if r, ok := reach[id]; ok {
			return r
		}
		if path[id] {
			return nil
		}
		path[id] = true
		var r []string
		for _, p := range e[id] {
			if keep(p) {
				r = append(r, p)
			} else {
				r = append(r, before(p, path)...)
			}
		}
		delete(path, id)
		slices.Sort(r)
		r = slices.Compact(r)
		reach[id] = r
		return r
	}
	for _, id := range slices.Sorted(maps.Keys(e)) {
		if !keep(id) {
			continue
		}
		for _, p := range e[id] {
			if keep(p) {
				out.Add(id, p)
				continue
			}
			for _, q := range before(p, map[string]bool{}) {
				out.Add(id, q)
			}
		}
	}
	return out
}

// Reverse turns every edge round.
func (e Edges) Reverse() Edges {
	out := Edges{}
	for _, id := range slices.Sorted(maps.Keys(e)) {
		for _, p := range e[id] {
			out.Add(p, id)
		}
	}
	return out
}

// A CycleError names resources that wait for each other. Nothing can be
// deployed from such a template.
type CycleError struct{ Cycles [][]string }

func (e *CycleError) Error() string {
	paths := make([]string, len(e.Cycles))
	for i, c := range e.Cycles {
		paths[i] = strings.Join(append(slices.Clone(c), c[0]), " -> ")
	}
	return fmt.Sprintf("circular dependency: %s", strings.Join(paths, "; "))
}

// Check returns a *CycleError when ids wait for each other, naming one cycle of
// each group that is entangled.
func (e Edges) Check() error {
	var cycles [][]string
	state := map[string]int{} // 1 on the path, 2 done
	var path []string
	var visit func(id string)
	visit = func(id string) {
		state[id] = 1
		path = append(path, id)
		for _, p := range e[id] {
			switch state[p] {
			case 0:
				visit(p)
			case 1:
				cycles = append(cycles, slices.Clone(path[slices.Index(path, p):]))
			}
		}
		path = path[:len(path)-1]
		state[id] = 2
	}
	for _, id := range slices.Sorted(maps.Keys(e)) {
		if state[id] == 0 {
			visit(id)
		}
	}
	if cycles == nil {
		return nil
	}
	return &CycleError{Cycles: cycles}
}
