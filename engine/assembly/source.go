package assembly

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// A Source is a line of the app, where a construct was made. The zero Source is
// not known: an app says it only when it runs with CDK_DEBUG=true.
type Source struct {
	File string // as the machine that ran the app names it
	Line int    // from 1
}

// Source returns where the construct with the path (Stack/Bucket/Resource) was
// made, or the one around it of which that is known.
func (s *Stack) Source(path string) Source {
	path = strings.Trim(path, "/")
	for path != "" {
		if at, ok := s.sources[path]; ok {
			return at
		}
		cut := strings.LastIndexByte(path, '/')
		if cut < 0 {
			break
		}
		path = path[:cut]
	}
	return Source{}
}

// sources reads from the stacks of calls in the metadata who made what. What
// has another form than expected is passed over: nothing depends on it.
func (m metadata) sources() map[string]Source {
	found := map[string]Source{}
	for path, entries := range m.object.All() {
		for _, entry := range entries.([]any) {
			o := entry.(*value.Object)
			calls := o.List("trace")
			if o.String("type") == "aws:cdk:creationStack" {
				calls = o.List("data")
			}
			if at, ok := caller(calls); ok {
				found[strings.Trim(path, "/")] = at
				break
			}
		}
	}
	return found
}

// place is where a call stands: /app/lib/shop.ts:12:5, without a column in apps
// that are not written for Node.js.
var place = regexp.MustCompile(`^(?:file://)?(.+?):(\d+)(?::\d+)?$`)

// caller is the innermost call that stands in the app itself and not in a
// library.
func caller(calls []any) (Source, bool) {
	for _, c := range calls {
		text, _ := c.(string)
		// "new Shop (/app/lib/shop.ts:12:5)" or "at /app/bin/shop.ts:3:1"
		if at := strings.LastIndexByte(text, '('); at >= 0 {
			text = strings.TrimSuffix(text[at+1:], ")")
		}
		m := place.FindStringSubmatch(strings.TrimPrefix(strings.TrimSpace(text), "at "))
		if m == nil || strings.Contains(m[1], "node_modules/") || strings.HasPrefix(m[1], "node:") || strings.Contains(m[1], "site-packages/") {
			continue
		}
		if line, err := strconv.Atoi(m[2]); err == nil && line > 0 {
			return Source{m[1], line}, true
		}
	}
	return Source{}, false
}
