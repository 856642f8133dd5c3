package report

import (
	"regexp"
	"strings"
)

// CommentLimit is how many bytes a comment may have. GitHub refuses more than
// 65,536 characters, in a unit that it does not tell; a text has never more
// characters or UTF-16 units than bytes.
const CommentLimit = 65_000

var (
	openDetails  = regexp.MustCompile(`^<details\b`)
	closeDetails = regexp.MustCompile(`</details>\s*$`)
	fenceLine    = regexp.MustCompile("^(`{3,})")
)

// Fit returns markdown that is at most limit bytes long: it is cut at the end
// of a line, what was open is closed, and the last line says that it was cut
// and, with the sentence rest, where to read on. A limit without room for that
// line leaves the line alone.
func Fit(markdown string, limit int, rest string) string {
	if len(markdown) <= limit {
		return markdown
	}
	note := "\n> **Truncated.** This report is longer than GitHub takes. " + rest + "\n"
	var kept strings.Builder
	fence, depth := "", 0
	whole, cut := 0, note
	for line := range strings.Lines(markdown) {
		opens := false
		switch text := strings.TrimRight(line, "\n"); {
		case fence != "":
			if text == fence {
				fence = ""
			}
		case fenceLine.MatchString(text):
			fence, opens = fenceLine.FindString(text), true
		case openDetails.MatchString(text) && !closeDetails.MatchString(text):
			depth++
		case closeDetails.MatchString(text):
			depth--
		}
		tail := closing(fence, depth) + note
		if kept.Len()+len(line)+len(tail) > limit {
			break
		}
		kept.WriteString(line)
		if !opens { // a fence with nothing in it shows an empty box
			whole, cut = kept.Len(), tail
		}
	}
	return kept.String()[:whole] + cut
}

func closing(fence string, depth int) string {
	var b strings.Builder
	if fence != "" {
		b.WriteString(fence + "\n")
	}
	for range depth {
		b.WriteString("\n</details>\n")
	}
	return b.String()
}
