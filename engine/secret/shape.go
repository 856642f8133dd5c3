package secret

import (
	"regexp"
	"slices"
	"strings"
)

// Hidden stands in the place of what looks like a credential.
const Hidden = "(hidden)"

// A credential is the shape of text that is a secret wherever it stands.
type credential struct {
	// signs are what the shape cannot do without, in lower case: looking for
	// them first is what makes the search cheap.
	signs []string
	// The groups keep and after may stay.
	shape *regexp.Regexp
}

var assigned = []string{"password", "passwd", "pwd", "passphrase", "secret", "token", "key"}

var credentials = []credential{
	{[]string{"private key"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)},
	{[]string{"akia", "asia"}, regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)},
	{[]string{"gh"}, regexp.MustCompile(`\bgh[pousr]_[0-9A-Za-z]{20,}`)},
	{[]string{"github_pat_"}, regexp.MustCompile(`\bgithub_pat_[0-9A-Za-z_]{20,}`)},
	{[]string{"glpat-"}, regexp.MustCompile(`\bglpat-[0-9A-Za-z_-]{20,}`)},
	{[]string{"npm_"}, regexp.MustCompile(`\bnpm_[0-9A-Za-z]{30,}`)},
	{[]string{"xox"}, regexp.MustCompile(`\bxox[abeoprs]-[0-9A-Za-z-]{10,}`)},
	{[]string{"aiza"}, regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`)},
	{[]string{"k_live_", "k_test_"}, regexp.MustCompile(`\b[rs]k_(?:live|test)_[0-9A-Za-z]{10,}`)},
	{[]string{"sk-"}, regexp.MustCompile(`\bsk-[0-9A-Za-z_-]{20,}`)},
	{[]string{"eyj"}, regexp.MustCompile(`\beyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*`)},
	{[]string{"bearer"}, regexp.MustCompile(`(?i)(?P<keep>\bbearer\s+)[0-9a-z._~+/=-]{16,}`)},
	{[]string{"://"}, regexp.MustCompile(`(?P<keep>[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@]*:)[^/\s@]+(?P<after>@)`)},
	// An assignment. The colon of an ARN (…:secret:name) is none.
	{assigned, regexp.MustCompile(`(?i)(?P<keep>\b[a-z0-9_.-]*(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key)["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*')`)},
	{assigned, regexp.MustCompile(`(?i)(?P<keep>\b[a-z0-9_.-]*(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|access[_-]?key)["']?\s*(?:=\s*|:\s+))[^\s"',;&)}\]{(\[]{4,}`)},
}

// everyday are words that stand after a name like these in ordinary text, such
// as the permission id-token: write. Hiding them hides only the advice.
var everyday = []string{"read", "write", "none", "null", "true", "false", "required", "optional", "enabled", "disabled", "missing", "expired", "invalid"}

func (c credential) hide(text string) string {
	with := "${keep}" + Hidden + "${after}"
	return c.shape.ReplaceAllStringFunc(text, func(match string) string {
		kept := c.shape.FindStringSubmatch(match)
		if i := c.shape.SubexpIndex("keep"); i > 0 && slices.Contains(everyday, strings.ToLower(strings.TrimRight(match[len(kept[i]):], "."))) {
			return match
		}
		return c.shape.ReplaceAllString(match, with)
	})
}

// secretKey is 40 characters that could be an AWS secret access key.
var secretKey = regexp.MustCompile(`(^|[^0-9A-Za-z/+=])([0-9A-Za-z/+]{40})($|[^0-9A-Za-z/+=])`)

// Discreet hides what looks like a credential, and leaves everything else as it
// is.
func Discreet(text string) string {
	lower := strings.ToLower(text)
	for _, c := range credentials {
		if slices.ContainsFunc(c.signs, func(sign string) bool { return strings.Contains(lower, sign) }) {
			text = c.hide(text)
		}
	}
	if len(text) < 40 {
		return text
	}
	return secretKey.ReplaceAllStringFunc(text, func(s string) string {
		m := secretKey.FindStringSubmatch(s)
		if !random(m[2]) {
			return s
		}
		return m[1] + Hidden + m[3]
	})
}

// random tells a random key from a path, a word, a digest or a logical id: of
// random characters, two in three neighbours are of different kinds.
func random(s string) bool {
	if logicalID.MatchString(s) || digest.MatchString(s) {
		return false
	}
	return changes(s) >= 16
}

// changes counts the neighbours that are of different kinds.
func changes(s string) (n int) {
	for i := 1; i < len(s); i++ {
		if class(s[i]) != class(s[i-1]) {
			n++
		}
	}
	return n
}

// logicalID is the form that the CDK gives to logical ids: words and a hash.
var logicalID = regexp.MustCompile(`^[0-9A-Za-z]*[0-9A-F]{8}$`)

// digest is how the hash of a commit or a file is written.
var digest = regexp.MustCompile(`^[0-9a-f]+$`)

func class(c byte) int {
	switch {
	case c >= 'A' && c <= 'Z':
		return 0
	case c >= 'a' && c <= 'z':
		return 1
	case c >= '0' && c <= '9':
		return 2
	}
	return 3
}
