package report

import (
	"regexp"
	"strings"
	"unicode"
)

// hidden stands for what is not shown.
const hidden = "(hidden)"

// credentials are the shapes of text that is a secret wherever it stands. The
// groups keep and after may stay.
var credentials = []*regexp.Regexp{
	regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
	regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`),
	regexp.MustCompile(`\bgh[pousr]_[0-9A-Za-z]{20,}`),
	regexp.MustCompile(`\bgithub_pat_[0-9A-Za-z_]{20,}`),
	regexp.MustCompile(`\bglpat-[0-9A-Za-z_-]{20,}`),
	regexp.MustCompile(`\bnpm_[0-9A-Za-z]{30,}`),
	regexp.MustCompile(`\bxox[abeoprs]-[0-9A-Za-z-]{10,}`),
	regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`),
	regexp.MustCompile(`\b[rs]k_(?:live|test)_[0-9A-Za-z]{10,}`),
	regexp.MustCompile(`\bsk-[0-9A-Za-z_-]{20,}`),
	regexp.MustCompile(`\beyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*`),
	regexp.MustCompile(`(?i)(?P<keep>\bbearer\s+)[0-9a-z._~+/=-]{16,}`),
	regexp.MustCompile(`(?P<keep>[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@]*:)[^/\s@]+(?P<after>@)`),
	// An assignment. The colon of an ARN (…:secret:name) is none.
	regexp.MustCompile(`(?i)(?P<keep>\b[a-z0-9_.-]*(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key)["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*')`),
	regexp.MustCompile(`(?i)(?P<keep>\b[a-z0-9_.-]*(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key)["']?\s*(?:=\s*|:\s+))[^\s"',;&)}\]{(\[]{4,}`),
}

// secretKey is 40 characters that could be an AWS secret access key.
var secretKey = regexp.MustCompile(`(^|[^0-9A-Za-z/+=])([0-9A-Za-z/+]{40})($|[^0-9A-Za-z/+=])`)

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
	for _, shape := range credentials {
		text = shape.ReplaceAllString(text, "${keep}"+hidden+"${after}")
	}
	return secretKey.ReplaceAllStringFunc(text, func(s string) string {
		m := secretKey.FindStringSubmatch(s)
		if !mixed(m[2]) {
			return s
		}
		return m[1] + hidden + m[3]
	})
}

// mixed tells a random key from a path, a word or a hexadecimal digest.
func mixed(s string) bool {
	var upper, lower, digit bool
	for _, r := range s {
		upper = upper || r >= 'A' && r <= 'Z'
		lower = lower || r >= 'a' && r <= 'z'
		digit = digit || r >= '0' && r <= '9'
	}
	return upper && lower && digit
}

// oneLine is Clean for what must stay on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }
