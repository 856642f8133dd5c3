package report

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/org/cdkd-action/engine/secret"
)

// What stands for what is not shown.
const (
	hidden        = secret.Hidden
	hiddenChanged = "(hidden, changed)"
)

// Plain makes text fit for a terminal and a log without changing what it says:
// characters that could move the cursor, hide what is there or turn its order
// are written as \uXXXX, which in JSON means the same.
func Plain(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	if !strings.ContainsFunc(text, steers) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if steers(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func steers(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029')
}

// Clean makes text from outside fit to be shown: no credentials, no control or
// bidirectional characters, valid UTF-8. Line ends stay.
func Clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r', r == '\u2028', r == '\u2029', r == '\u0085':
			return '\n'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u200B', r == '\uFEFF':
			return -1
		}
		return r
	}, text)
	return Discreet(text)
}

// Discreet hides what looks like a credential, and leaves everything else as it
// is.
func Discreet(text string) string { return secret.Discreet(text) }

// oneLine is Clean for what must stay on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }
