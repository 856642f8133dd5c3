package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/org/cdkd-action/internal/sandbox"
)

func main() {
	repeat := flag.Int("repeat", 3, "how often to run everything; the middle of each figure is shown")
	requests := flag.Bool("requests", false, "show what was sent in the last round, and when")
	tabulate := flag.Bool("calls", false, "show what each command asks of AWS, instead of what it costs")
	program := flag.String("program", "", "the binary to measure; built when not given")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := report(ctx, os.Stdout, *program, max(*repeat, 1), *requests, *tabulate); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func report(ctx context.Context, out io.Writer, program string, repeat int, requests, tabulate bool) error {
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
	chapters := []chapter{first, same, eight, gone, ten}
	samples := map[string][]sample{}
	for range repeat {
		err := story(ctx, program, chapters, func(c chapter, s sample) { samples[c.name] = append(samples[c.name], s) })
		if err != nil {
			return err
		}
	}
	t := table.NewWriter()
	t.AppendHeader(table.Row{"48 resources, 100 ms a request", "requests", "one after another", "time", "needed", "time/needed", "first request after", "memory", "limits"})
	for _, c := range chapters {
		m := middle(samples[c.name])
		needed, ratio := "", ""
		if c.needs != nil {
			least := least(c.needs, latency)
			needed, ratio = ms(least), fmt.Sprintf("%.2f", float64(m.wall)/float64(least))
		}
		t.AppendRow(table.Row{c.name, len(m.log), len(chain(m.log)), ms(m.wall), needed, ratio, ms(m.first), mb(m.peak), c.limit})
	}
	fmt.Fprintf(out, "%s\n\nA first deploy needs, one after another:\n\n", t.RenderMarkdown())
	for _, n := range firstDeploy() {
		fmt.Fprintf(out, "- for %s: %s\n", n.what, strings.Join(n.calls, ", "))
	}
	if requests {
		for _, c := range chapters {
			fmt.Fprintf(out, "\n%s\n", c.name)
			list(out, samples[c.name][repeat-1].log)
		}
	}
	return nil
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

// middle takes each figure's middle value: one slow run says more about the
// machine than about the program.
func middle(samples []sample) sample {
	by := func(less func(a, b sample) int) sample {
		sorted := slices.SortedStableFunc(slices.Values(samples), less)
		return sorted[len(sorted)/2]
	}
	return sample{
		log:   by(func(a, b sample) int { return len(chain(a.log)) - len(chain(b.log)) }).log,
		wall:  by(func(a, b sample) int { return int(a.wall - b.wall) }).wall,
		first: by(func(a, b sample) int { return int(a.first - b.first) }).first,
		peak:  by(func(a, b sample) int { return int(a.peak - b.peak) }).peak,
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func mb(bytes int64) string {
	if bytes == 0 {
		return "unknown here"
	}
	return fmt.Sprintf("%d MB", bytes/1e6)
}
