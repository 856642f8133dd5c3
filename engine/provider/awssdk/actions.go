package awssdk

import (
	_ "embed"
	"strings"
	"sync"
)

// The actions are not written by hand: a test takes every type through its life
// with every property that it can have, and writes down what is asked for.
//
//go:embed actions.tsv
var actionsFile string

// Actions are the IAM actions that the calls of a type need.
type Actions struct {
	Plan    []string // looking for who has a name
	Deploy  []string // all of them: a deploy also deletes, when it replaces or rolls back
	Destroy []string // deleting, and switching protection off
}

var actions = sync.OnceValue(func() map[string]Actions {
	all := map[string]Actions{}
	for line := range strings.Lines(actionsFile) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all[fields[0]] = Actions{Plan: strings.Fields(fields[1]), Deploy: strings.Fields(fields[2]), Destroy: strings.Fields(fields[3])}
	}
	return all
})

// ActionsOf returns the actions of a type that is described here.
func ActionsOf(typ string) (Actions, bool) {
	a, ok := actions()[typ]
	return a, ok
}
