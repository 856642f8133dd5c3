package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/org/cdkd-action/internal/sandbox"
)

// shown is how many requests of a sequence are named: those of fifty nested stacks say the same again and again.
const shown = 20

func main() {
	repeat := flag.Int("repeat", 3, "how often to run everything; the best of each figure is shown")
	requests := flag.Bool("requests", false, "show what was sent in the last round, and when")
	tabulate := flag.Bool("calls", false, "show what each command asks of AWS, instead of what it costs")
	matching := flag.String("run", "", "run only what has to do with rows whose name matches this expression")
	program := flag.String("program", "", "the binary to measure; built when not given")
	hold := flag.Bool("hold", false, "fail when a run sends more requests than its budget, or more of them one after another")
	update := flag.Bool("update", false, "write the tables into "+document+", which takes the root of the repository as working folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	only, err := regexp.Compile(*matching)
	if err == nil {
		err = command(ctx, *program, only, max(*repeat, 1), *requests, *tabulate, *update, *hold)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, program string, only *regexp.Regexp, repeat int, requests, tabulate, update, hold bool) error {
	if !update {
		return report(ctx, os.Stdout, program, only, repeat, requests, tabulate, hold)
	}
	var measured bytes.Buffer
	if err := report(ctx, io.MultiWriter(os.Stdout, &measured), program, only, repeat, false, false, false); err != nil {
		return err
	}
	return rewrite(document, fmt.Sprintf("Measured on %s.\n\n%s", time.Now().UTC().Format("2 January 2006"), measured.String()))
}

func report(ctx context.Context, out io.Writer, program string, only *regexp.Regexp, repeat int, requests, tabulate, hold bool) error {
	if program == "" {
		dir, err := os.MkdirTemp("", "cdkd-action-build-")
		if err != nil {
			return fmt.Errorf("make a folder for the binary: %w", err)
		}
		defer os.RemoveAll(dir)
		if program, err = build(ctx, dir); err != nil {
			return err
		}
	}
	if tabulate {
		return calls(ctx, out, program)
	}
	var told [][]chapter
	for _, s := range stories() {
		if slices.ContainsFunc(s, func(c chapter) bool { return only.MatchString(c.name) }) {
			told = append(told, s)
		}
	}
	chapters := slices.Concat(told...)
	samples := map[string][]sample{}
	for range repeat {
		for _, s := range told {
			err := story(ctx, program, s, func(c chapter, s sample) { samples[c.name] = append(samples[c.name], s) })
			if err != nil {
				return err
			}
		}
	}
	t := table.NewWriter()
	t.AppendHeader(table.Row{"100 ms a request", "requests", "avoidable", "one after another", "time", "needed", "time/needed", "first request after", "processor", "memory", "wanted"})
	var sequences, sent strings.Builder
	var over []error
	for _, c := range chapters {
		m := best(samples[c.name])
		kept := needed(m.log)
		sequence := chain(kept)
		least := bound(c, kept)
		t.AppendRow(table.Row{
			c.name, len(m.log), len(m.log) - len(kept), len(sequence), ms(m.wall), ms(least), fmt.Sprintf("%.2f", float64(m.wall)/float64(least)),
			ms(m.first), ms(m.cpu), mb(m.peak), c.limit,
		})
		if b, ok := budgets[c.name]; hold && ok && (len(kept) > b.requests || len(sequence) > b.chain) {
			over = append(over, fmt.Errorf("%s: %d requests that count, %d one after another; at most %d and %d are in the budget", c.name, len(kept), len(sequence), b.requests, b.chain))
		}
		calls := purposes(sequence)
		if n := len(calls); n > shown {
			calls = append(calls[:shown], fmt.Sprintf("and %d more", n-shown))
		}
		fmt.Fprintf(&sequences, "- %s: %s\n", c.name, strings.Join(calls, ", "))
		fmt.Fprintf(&sent, "- %s: %s\n", c.name, strings.Join(byAction(m.log, kept), ", "))
	}
	fmt.Fprintf(out, "%s\n\nWhat was sent one after another:\n\n%s\nA first deploy of the wide stack needs, one after another:\n\n", t.RenderMarkdown(), sequences.String())
	for _, n := range firstDeploy() {
		fmt.Fprintf(out, "- for %s: %s\n", n.what, strings.Join(n.calls, ", "))
	}
	fmt.Fprintf(out, "\n<details><summary>All that was sent, by action</summary>\n\nBehind a number stands how many of these are avoidable.\n\n%s\n</details>\n", sent.String())
	if requests {
		for _, c := range chapters {
			fmt.Fprintf(out, "\n%s\n", c.name)
			list(out, samples[c.name][repeat-1].log)
		}
	}
	return errors.Join(over...)
}

// byAction counts requests by what they do, and those of them that are not kept.
func byAction(log, kept []sandbox.Request) (all []string) {
	sent, needed := map[string]int{}, map[string]int{}
	for _, what := range purposes(log) {
		sent[what]++
	}
	for _, what := range purposes(kept) {
		needed[what]++
	}
	for _, what := range slices.Sorted(maps.Keys(sent)) {
		text := fmt.Sprintf("%d %s", sent[what], what)
		if n := sent[what] - needed[what]; n > 0 {
			text += fmt.Sprintf(" (%d)", n)
		}
		all = append(all, text)
	}
	return all
}

// list shows the requests of a run in the order in which they were sent. Those
// of the longest chain are marked.
func list(out io.Writer, log []sandbox.Request) {
	longest := map[int]bool{}
	for _, r := range chain(log) {
		longest[r.ID] = true
	}
	for _, r := range log {
		mark := " "
		if longest[r.ID] {
			mark = "*"
		}
		from := log[0].Start
		fmt.Fprintf(out, "%s %7s %7s  %s\n", mark, ms(r.Start.Sub(from)), ms(r.End.Sub(from)), strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Service, r.Action, r.Resource)))
	}
}

// best takes each figure's lowest value: what else the machine does only adds to
// it.
func best(samples []sample) sample {
	by := func(less func(a, b sample) int) sample { return slices.MinFunc(samples, less) }
	return sample{
		log:   by(func(a, b sample) int { return len(chain(needed(a.log))) - len(chain(needed(b.log))) }).log,
		wall:  by(func(a, b sample) int { return cmp.Compare(a.wall, b.wall) }).wall,
		first: by(func(a, b sample) int { return cmp.Compare(a.first, b.first) }).first,
		cpu:   by(func(a, b sample) int { return cmp.Compare(a.cpu, b.cpu) }).cpu,
		peak:  by(func(a, b sample) int { return cmp.Compare(a.peak, b.peak) }).peak,
	}
}

// bound is how long a chapter takes at least: by its reviewed needs, or else by
// what it was seen to send.
func bound(c chapter, sent []sandbox.Request) time.Duration {
	if c.needs != nil {
		return least(c.needs, latency)
	}
	return atLeast(sent)
}

func purposes(sequence []sandbox.Request) (all []string) {
	for _, r := range sequence {
		what := purpose(r)
		if what == changes || what == reads || what == lookUps {
			what = r.Action
		}
		all = append(all, what)
	}
	return all
}

func ms(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func mb(bytes int64) string {
	if bytes == 0 {
		return "unknown here"
	}
	return fmt.Sprintf("%d MB", bytes/1e6)
}
