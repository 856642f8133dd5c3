package report

import (
	"html"
	"regexp"
	"strings"
)

// code renders text as a code span, which may stand in a table.
func code(text string) string {
	text = oneLine(text)
	if text == "" {
		return ""
	}
	// GFM splits cells before it looks for code spans.
	return ticked(strings.ReplaceAll(text, "|", `\|`))
}

func ticked(text string) string {
	ticks := strings.Repeat("`", longestRun(text, '`')+1)
	if ticks == "`" {
		return "`" + text + "`"
	}
	return ticks + " " + text + " " + ticks
}

// htmlCode is code for places where Markdown is not read, such as a summary.
func htmlCode(text string) string {
	return "<code>" + html.EscapeString(oneLine(text)) + "</code>"
}

// fence renders text as a block that nothing in it can end.
func fence(language, text string) string {
	text = strings.TrimRight(text, "\n")
	ticks := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return ticks + language + "\n" + text + "\n" + ticks + "\n"
}

// Block renders a text of several lines under its first as a page: nothing in
// it is markup.
func Block(text string) string {
	title, rest, _ := strings.Cut(Clean(text), "\n")
	page := "### " + prose(title) + "\n"
	if strings.TrimSpace(rest) != "" {
		page += "\n" + fence("text", rest)
	}
	return page
}

// wrap breaks long lines at blanks, for a block whose lines GitHub does not
// wrap.
func wrap(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		column, words := 0, 0
		for i, word := range strings.Split(line, " ") {
			n := len(strings.TrimSpace(word))
			switch {
			case words > 0 && n > 0 && column+1+n > width:
				b.WriteByte('\n')
				column = 0
			case i > 0:
				b.WriteByte(' ')
				column++
			}
			if n > 0 {
				words++
			}
			b.WriteString(word)
			column += n
		}
	}
	return b.String()
}

func longestRun(text string, c rune) int {
	longest, run := 0, 0
	for _, r := range text {
		if r != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

var (
	punctuation = regexp.MustCompile("[!\"#$%&'()*+,./:;<=>?@\\[\\\\\\]^_`{|}~-]")
	issue       = regexp.MustCompile(`(?i)\bgh-(\d)`)
)

// prose renders a sentence that may hold text from outside: one line, no
// markup, no mention, no reference, no link.
func prose(text string) string {
	text = oneLine(text)
	text = issue.ReplaceAllString(text, "GH\u2011$1") // a hyphen that GitHub does not link
	text = punctuation.ReplaceAllStringFunc(text, func(p string) string {
		switch p {
		case "@", "#":
			// GitHub looks for these in what was rendered, where an escape is gone.
			return `\` + p + "\u200B"
		case "<":
			return "&lt;"
		case "&":
			return "&amp;"
		case ",", ".", "'", "\"", ";", "%", "?", "/", "(", ")", "-", "=":
			return p // plain inside a line
		}
		return `\` + p
	})
	// A line of prose may begin a line of Markdown.
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "=") {
		text = `\` + text
	}
	return www.ReplaceAllString(numbered.ReplaceAllString(text, `$1\$2`), "$1\u200B.")
}

var (
	numbered = regexp.MustCompile(`^(\d+)([.)])`)
	www      = regexp.MustCompile(`(?i)\b(www)\.`)
)
