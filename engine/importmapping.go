package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// ParseMapping reads physical ids by logical id. An object of identifiers, as
// the CDK command line writes it, becomes one id of several parts.
func ParseMapping(body []byte) (map[string]string, error) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")) // as some editors begin a file
	o, err := value.ParseObject(body)
	if err != nil {
		return nil, err
	}
	if name := twice(body); name != "" {
		return nil, fmt.Errorf("%s is given twice: give it once", name)
	}
	mapping := map[string]string{}
	for id, v := range o.All() {
		var parts []string
		switch v := v.(type) {
		case string:
			parts = []string{v}
		case *value.Object:
			for name, part := range v.All() {
				text, ok := part.(string)
				if !ok {
					return nil, fmt.Errorf("%s: identifier %s is %s and has to be text", id, name, value.Kind(part))
				}
				parts = append(parts, text)
			}
		default:
			return nil, fmt.Errorf("%s: its physical id is %s and has to be text", id, value.Kind(v))
		}
		if mapping[id] = strings.Join(parts, "|"); mapping[id] == "" {
			return nil, fmt.Errorf("%s has no physical id", id)
		}
	}
	return mapping, nil
}

// twice is a name that a JSON object has twice, at its top or in an object there;
// "" when there is none. Which of the two was meant nobody can tell.
func twice(object []byte) string {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return ""
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, _ := t.(string)
		if err != nil || seen[name] {
			return name
		}
		seen[name] = true
		var v json.RawMessage
		if d.Decode(&v) == nil && bytes.HasPrefix(v, []byte("{")) {
			if inner := twice(v); inner != "" {
				return name + "." + inner
			}
		}
	}
	return ""
}
