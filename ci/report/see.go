package report

import (
	"path"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/result"
)

// pagesOf are the addresses of the pages about what went wrong in a run, each once.
func pagesOf(run *result.Run) []string {
	all := []string{run.Page}
	for _, s := range run.Stacks {
		all = append(all, s.Page)
		for _, f := range s.Failures {
			all = append(all, f.Page)
		}
	}
	return distinct(all)
}

func driftPages(run *result.DriftRun) []string {
	all := []string{run.Page}
	for _, s := range run.Stacks {
		all = append(all, s.Page)
	}
	return distinct(all)
}

// distinct leaves out what is empty or was there before.
func distinct(all []string) (out []string) {
	for _, text := range all {
		if text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

func seeText(pages []string) string {
	text := ""
	for _, page := range pages {
		text += "see " + page + "\n"
	}
	return text
}

// see links the pages by their names.
func (p *page) see(pages []string) {
	var links []string
	for _, at := range pages {
		links = append(links, "["+strings.TrimSuffix(path.Base(at), ".md")+"]("+at+")")
	}
	if links != nil {
		p.line("**See:** " + strings.Join(links, ", "))
	}
}
