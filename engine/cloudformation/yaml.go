package cloudformation

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/org/cdkd-action/engine/value"
)

// parse reads a template as CloudFormation keeps it: as it was written.
func parse(text string) (*value.Object, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return value.ParseObject([]byte(text))
	}
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 {
		return nil, fmt.Errorf("it is empty")
	}
	v, err := fromYAML(document.Content[0])
	if err != nil {
		return nil, err
	}
	o, ok := v.(*value.Object)
	if !ok {
		return nil, fmt.Errorf("it is %s and has to be an object", value.Kind(v))
	}
	return o, nil
}

// number is how JSON writes one; what else YAML takes for a number stays text.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func fromYAML(n *yaml.Node) (any, error) {
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		return short(n)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return fromYAML(n.Alias)
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, m := range n.Content {
			var err error
			if list[i], err = fromYAML(m); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.MappingNode:
		o := value.NewObject()
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := fromYAML(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			o.Set(n.Content[i].Value, v)
		}
		return o, nil
	}
	switch {
	case n.ShortTag() == "!!null":
		return nil, nil
	case n.ShortTag() == "!!bool":
		var b bool
		err := n.Decode(&b)
		return b, err
	case (n.ShortTag() == "!!int" || n.ShortTag() == "!!float") && number.MatchString(n.Value):
		return json.Number(n.Value), nil
	}
	return n.Value, nil
}

// short is a function in its short form, such as !GetAtt Queue.Arn.
func short(n *yaml.Node) (any, error) {
	name, plain := strings.TrimPrefix(n.Tag, "!"), *n
	plain.Tag = ""
	if n.Kind == yaml.ScalarNode {
		plain.Tag = "!!str"
	}
	arg, err := fromYAML(&plain)
	if err != nil {
		return nil, err
	}
	if text, ok := arg.(string); ok && name == "GetAtt" {
		id, attribute, _ := strings.Cut(text, ".")
		arg = []any{id, attribute}
	}
	if name != "Ref" && name != "Condition" {
		name = "Fn::" + name
	}
	return value.NewObject(name, arg), nil
}
