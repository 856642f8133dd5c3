package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/org/cdkd-action/internal/sandbox"
)

// The chapters of the tables of requests, in an order in which each finds what
// it needs; those without a name are not shown. An update that fails and is not
// rolled back gives the rollback something to do.
var commands = []chapter{
	{name: "deploy, first", command: "deploy", app: wide},
	{name: "deploy, no change", command: "deploy", app: wide},
	{name: "diff", command: "diff", app: changed},
	{name: "deploy, update", command: "deploy", app: changed},
	{command: "deploy", app: wide, fails: true},
	{name: "rollback", command: "rollback", app: wide},
	{name: "state list", command: "state list", app: wide},
	{name: "destroy", command: "destroy", app: changed},
}

var stateCommands = []chapter{
	{command: "deploy", app: wide},
	{name: "state info", command: "state info", app: wide},
	{name: "state show", command: "state show", app: wide},
	{name: "state resources", command: "state resources", app: wide},
	{name: "state destroy", command: "state destroy", app: wide},
	{command: "deploy", app: wide},
	{name: "state orphan", command: "state orphan", app: wide},
}

// calls runs each command once and shows what it asks of AWS, and how much of
// that one after another.
func calls(ctx context.Context, out io.Writer, program string) error {
	for _, chapters := range [][]chapter{commands, stateCommands} {
		if err := callsOf(ctx, out, program, chapters); err != nil {
			return err
		}
	}
	return nil
}

func callsOf(ctx context.Context, out io.Writer, program string, chapters []chapter) error {
	var logs [][]sandbox.Request
	header := table.Row{"48 resources"}
	err := story(ctx, program, chapters, func(c chapter, s sample) {
		if c.name != "" {
			header, logs = append(header, c.name), append(logs, s.log)
		}
	})
	if err != nil {
		return err
	}
	t := table.NewWriter()
	t.AppendHeader(header)
	var rows []string
	counts := map[string][]int{}
	for i, log := range logs {
		for _, r := range log {
			what := purpose(r)
			if counts[what] == nil {
				counts[what] = make([]int, len(logs))
				rows = append(rows, what)
			}
			counts[what][i]++
		}
	}
	slices.SortFunc(rows, func(a, b string) int { return cmp.Or(group(a)-group(b), strings.Compare(a, b)) })
	for _, what := range rows {
		t.AppendRow(line(what, counts[what]))
	}
	var all, before, after []int
	for _, log := range logs {
		b, a := around(log)
		all, before, after = append(all, len(log)), append(before, b), append(after, a)
	}
	t.AppendRow(line("**all**", all))
	t.AppendRow(line("**one after another** before the first change, or in all", before))
	t.AppendRow(line("**one after another** after the last change", after))
	_, err = fmt.Fprintln(out, t.RenderMarkdown()+"\n")
	return err
}

func line(what string, counts []int) table.Row {
	row := table.Row{what}
	for _, n := range counts {
		if n == 0 {
			row = append(row, "")
		} else {
			row = append(row, n)
		}
	}
	return row
}

const (
	lookUps = "who has the name of what is to be made"
	reads   = "reads of resources"
	changes = "changes of resources"
)

// purpose is what a request is for.
func purpose(r sandbox.Request) string {
	key, own := strings.CutPrefix(r.Resource, bucket+"/")
	switch {
	case own || r.Resource == bucket || r.Action == "GetCallerIdentity":
		name := key[strings.LastIndexByte(key, '/')+1:]
		switch {
		case strings.HasSuffix(name, ".jsonl"):
			name = "the history"
		case name == "index.json":
			name = "the index of histories"
		case strings.HasPrefix(key, "_cdkd-registry/"):
			name = "the name's registration"
		}
		if !own {
			name = ""
		}
		return strings.TrimSpace(r.Action + " " + name)
	case asksForName(r):
		return lookUps
	case change(r):
		return changes
	}
	return reads
}

// asksForName tells whether a request looks a name up.
func asksForName(r sandbox.Request) bool {
	return slices.Contains([]string{"HeadBucket", "GetQueueUrl", "GetTopicAttributes", "DescribeLogGroups", "DescribeAlarms", "DescribeRule"}, r.Action)
}

// group puts what is asked of the state bucket first.
func group(what string) int {
	return slices.Index([]string{lookUps, changes, reads}, what)
}

// change tells whether a request changes a resource.
func change(r sandbox.Request) bool {
	if r.Resource == bucket || strings.HasPrefix(r.Resource, bucket+"/") {
		return false
	}
	for _, verb := range []string{"Get", "List", "Describe", "Head"} {
		if strings.HasPrefix(r.Action, verb) {
			return false
		}
	}
	return true
}

// around returns how many requests are sent one after another before the first
// change and after the last one. Who is calling and where the bucket is do not
// count: those are known to whoever names the account and the bucket's region.
func around(log []sandbox.Request) (before, after int) {
	log = slices.DeleteFunc(slices.Clone(log), func(r sandbox.Request) bool {
		return r.Action == "GetCallerIdentity" || r.Action == "GetBucketLocation"
	})
	first := slices.IndexFunc(log, change)
	if first < 0 {
		return len(chain(log)), 0
	}
	start, end := log[first].Start, log[first].End
	for _, r := range log {
		if change(r) && r.End.After(end) {
			end = r.End
		}
	}
	var early, late []sandbox.Request
	for _, r := range log {
		switch {
		case !r.End.After(start):
			early = append(early, r)
		case !r.Start.Before(end):
			late = append(late, r)
		}
	}
	return len(chain(early)), len(chain(late))
}
