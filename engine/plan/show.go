package plan

import (
	"strings"
	"unicode"

	"github.com/org/cdkd-action/engine/secret"
)

// hidden stands for a value that must not be shown.
const hidden = secret.Masked

// shownOld and shownNew give values as they may be shown: of a secret its
// expression at most.
func (p PropertyChange) shownOld() any { return shown(p.Old, p.Secret || p.NoEcho) }
func (p PropertyChange) shownNew() any { return shown(p.New, p.Secret || p.NoEcho) }

func (o OutputChange) shownOld() any { return shown(o.Old, o.Secret) }
func (o OutputChange) shownNew() any { return shown(o.New, o.Secret) }

func shown(v any, hide bool) any {
	text, _ := v.(string)
	if hide && v != nil && !secret.IsExpression(text) {
		return hidden
	}
	return v
}

// plain drops what could make text look like something else on a terminal or a
// page: control characters but the line break, and marks that turn the
// direction of writing.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, text)
}

// line is plain for what must stay on its line.
func line(text string) string { return strings.ReplaceAll(plain(text), "\n", "") }
