package engine

import (
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// ParseMapping reads physical ids by logical id. An object of identifiers, as
// the CDK command line writes it, becomes one id of several parts.
func ParseMapping(body []byte) (map[string]string, error) {
	o, err := value.ParseObject(body)
	if err != nil {
		return nil, err
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
