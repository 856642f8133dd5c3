// Package secret knows the plaintexts that a run has met, and takes them out
// of whatever is written or printed.
//
// AWS is sent the plaintext. What is stored gets back the expression that the
// plaintext came from, {{resolve:…}}, so that a later run can resolve it again;
// where no single expression can be named it gets Masked. What is printed
// always gets Masked. Values from a NoEcho parameter have no expression. Leaves
// that are stored as Masked are listed.
//
// A plaintext is known only to a run that resolved it, so position comes first:
// what the template holds an expression for is never judged by its value.
package secret

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Masked stands in the place of a plaintext.
const Masked = "***"

// shortest is the length from which a plaintext is also looked for inside
// longer strings. Below it, every second word would match.
const shortest = 4

// A Set is what a run knows. The zero value is ready, and all methods may be
// called at once. A nil Set knows nothing.
type Set struct {
	announce func(plaintext string)

	mu    sync.RWMutex
	known map[string]origin

	// Made from known when first needed after a change.
	masks   *strings.Replacer
	inserts *strings.Replacer
	noEcho  []string
}

type origin struct {
	expression string // Masked when there is none, or several
	noEcho     bool
	whole      bool // an equal string is this secret however short it is
}

// NewSet returns a Set that tells announce each plaintext once, before it is
// used for anything. A runner that masks its own log wants to know them.
func NewSet(announce func(plaintext string)) *Set {
	return &Set{announce: announce}
}

// Add remembers that expression was resolved to plaintext.
func (s *Set) Add(plaintext, expression string) {
	s.add(plaintext, origin{expression: expression, whole: true})
}

// AddNoEcho remembers the value of a NoEcho parameter, or of a custom
// resource's answer that asked for the same.
func (s *Set) AddNoEcho(plaintext string) {
	s.add(plaintext, origin{expression: Masked, noEcho: true})
}

// AddDerived remembers what was made from a secret and cannot be named by an
// expression: its base64 form, or a part of it.
func (s *Set) AddDerived(plaintext string) {
	s.add(plaintext, origin{expression: Masked})
}

func (s *Set) add(plaintext string, o origin) {
	if s == nil || plaintext == "" || plaintext == Masked {
		return
	}
	s.mu.Lock()
	old, ok := s.known[plaintext]
	if ok {
		if old.expression != o.expression {
			o.expression = Masked
		}
		o.noEcho = o.noEcho || old.noEcho
		o.whole = o.whole || old.whole
	}
	if s.known == nil {
		s.known = map[string]origin{}
	}
	s.known[plaintext] = o
	s.masks, s.inserts, s.noEcho = nil, nil, nil
	s.mu.Unlock()
	if !ok && s.announce != nil {
		s.announce(plaintext)
		for _, part := range values(plaintext) {
			s.announce(part)
		}
	}
}

// Empty tells whether the set knows nothing.
func (s *Set) Empty() bool {
	if s == nil {
		return true
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.known) == 0
}

// Mask returns text as it may be printed.
func (s *Set) Mask(text string) string {
	if s.Empty() || text == "" {
		return text
	}
	if o, ok := s.origin(text); ok && (o.whole || len(text) >= shortest) {
		return Masked
	}
	masks, _, _ := s.replacers()
	return masks.Replace(text)
}

// Contains tells whether text holds a known plaintext.
func (s *Set) Contains(text string) bool { return s.Mask(text) != text }

func (s *Set) origin(plaintext string) (origin, bool) {
	if s == nil {
		return origin{}, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	o, ok := s.known[plaintext]
	return o, ok
}

func (s *Set) replacers() (masks, inserts *strings.Replacer, noEcho []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.masks != nil {
		return s.masks, s.inserts, s.noEcho
	}
	// Longest first: of two secrets that begin alike, the longer must win.
	var texts []string
	for text := range s.known {
		if len(text) >= shortest {
			texts = append(texts, text)
		}
	}
	slices.SortFunc(texts, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var mask, insert []string
	s.noEcho = []string{}
	for _, text := range texts {
		o := s.known[text]
		for _, spelling := range spellings(text) {
			mask = append(mask, spelling, Masked)
			if o.noEcho {
				s.noEcho = append(s.noEcho, spelling)
			} else {
				insert = append(insert, spelling, o.expression)
			}
		}
		for _, code := range encoded(text) { // no expression comes back from it
			mask = append(mask, code, Masked)
			s.noEcho = append(s.noEcho, code)
		}
		for _, part := range parts(text) {
			for _, spelling := range append(spellings(part), encoded(part)...) {
				mask = append(mask, spelling, Masked)
			}
		}
	}
	s.masks, s.inserts = strings.NewReplacer(mask...), strings.NewReplacer(insert...)
	return s.masks, s.inserts, s.noEcho
}

// parts are what may be shown of a plaintext by itself: the lines of a key in a
// log, and the values of a JSON document, which AWS quotes one by one.
func parts(plaintext string) []string {
	all := values(plaintext)
	for line := range strings.Lines(plaintext) {
		if line = strings.TrimSpace(line); len(line) >= longEnough && line != plaintext {
			all = append(all, line)
		}
	}
	return all
}

// longEnough is the length from which a part of a plaintext is looked for: shorter
// ones stand in every second text.
const longEnough = 2 * shortest

// values are the texts in a plaintext that is a JSON object or list, and in such
// documents within.
func values(plaintext string) (all []string) {
	var document any
	if json.Unmarshal([]byte(plaintext), &document) != nil {
		return nil
	}
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) >= longEnough {
				all = append(all, v)
			}
			all = append(all, values(v)...)
		case []any:
			for _, v := range v {
				collect(v)
			}
		case map[string]any:
			for _, v := range v {
				collect(v)
			}
		}
	}
	if _, text := document.(string); !text {
		collect(document)
	}
	return all
}

// spellings are the ways in which other text may hold a plaintext: as it is,
// inside JSON that is itself text, in a URL, and in HTML.
func spellings(plaintext string) []string {
	all := []string{plaintext}
	for _, other := range []string{
		jsonText(plaintext, false), jsonText(plaintext, true), url.QueryEscape(plaintext), url.PathEscape(plaintext), html.EscapeString(plaintext),
	} {
		if !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	return all
}

// encoded are the forms in which the base64 of a longer text may hold a
// plaintext: what stands before it decides where in a group of three bytes it
// begins. The characters that also depend on its neighbours are left out.
func encoded(plaintext string) []string {
	if len(plaintext) < longEnough {
		return nil
	}
	var all []string
	for before := range 3 {
		padded := append(make([]byte, before, before+len(plaintext)), plaintext...)
		from, to := (8*before+5)/6, 8*len(padded)/6
		standard := base64.StdEncoding.EncodeToString(padded)[from:to]
		all = append(all, standard)
		if safe := strings.NewReplacer("+", "-", "/", "_").Replace(standard); safe != standard {
			all = append(all, safe)
		}
	}
	return all
}

func jsonText(s string, escapeHTML bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if e.Encode(s) != nil {
		return s
	}
	quoted := strings.TrimSuffix(b.String(), "\n")
	return quoted[1 : len(quoted)-1]
}
