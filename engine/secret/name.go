package secret

import (
	"regexp"
	"slices"
	"strings"
)

// InName takes out of a name what is secret in it, and tells whether anything was:
// what looks like a credential, or is a known plaintext in upper or lower case. It
// is slower to suspect than [Discreet] and [Set.Mask]. These hide a word in vain; a
// name can only be refused.
func (s *Set) InName(name string) (masked string, found bool) {
	masked = name
	for _, c := range credentials {
		masked = c.shape.ReplaceAllStringFunc(masked, func(match string) string {
			if slices.Contains(c.signs, "sk-") && !jumbled(match) { // sk is a country, too
				return match
			}
			return Masked
		})
	}
	masked = secretKey.ReplaceAllStringFunc(masked, func(match string) string {
		m := secretKey.FindStringSubmatch(match)
		if !random(m[2]) || !jumbled(m[2]) {
			return match
		}
		return m[1] + Masked + m[3]
	})
	for _, text := range s.unmistakable() {
		masked = regexp.MustCompile("(?i)"+regexp.QuoteMeta(text)).ReplaceAllLiteralString(masked, Masked)
	}
	return masked, masked != name
}

// unmistakable are the known plaintexts, and their base64, that no name has by
// chance, longest first.
func (s *Set) unmistakable() (texts []string) {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for text := range s.known {
		if len(text) >= 16 || len(text) >= 8 && strings.ContainsAny(text, "0123456789") {
			texts = append(append(texts, text), encoded(text)...)
		}
	}
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	return texts
}

// jumbled tells random characters from words that are written together: in its
// longest run of letters and digits, half of the neighbours are of different kinds.
func jumbled(text string) bool {
	longest := ""
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return r == '-' || r == '_' }) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return len(longest) >= 16 && 2*changes(longest) >= len(longest) && strings.ContainsAny(longest, "0123456789")
}
