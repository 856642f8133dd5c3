package assembly

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/org/cdkd-action/engine/value"
)

// A Level is how serious a message is.
type Level int

// The levels, from the least serious.
const (
	Info Level = iota
	Warning
	Error
)

func (l Level) String() string {
	switch l {
	case Error:
		return "Error"
	case Warning:
		return "Warning"
	}
	return "Info"
}

// A Message is what a construct of the app has to say to who deploys it.
type Message struct {
	Level Level
	Path  string // of the construct
	Text  string
}

func (m Message) String() string { return fmt.Sprintf("[%s at %s] %s", m.Level, m.Path, m.Text) }

// metadata is a list of entries for each path of a construct.
type metadata struct{ object *value.Object }

func (m *metadata) UnmarshalJSON(b []byte) error {
	v, err := value.Parse(b)
	if err != nil {
		return err
	}
	if v == nil {
		return nil
	}
	o, ok := v.(*value.Object)
	if !ok {
		return fmt.Errorf("metadata: want an object, got %s", value.Kind(v))
	}
	for path, entries := range o.All() {
		list, ok := entries.([]any)
		if !ok {
			return fmt.Errorf("metadata of %s: want a list, got %s", path, value.Kind(entries))
		}
		for _, entry := range list {
			if _, ok := entry.(*value.Object); !ok {
				return fmt.Errorf("metadata of %s: want objects, got %s", path, value.Kind(entry))
			}
		}
	}
	m.object = o
	return nil
}

func (m metadata) messages() []Message {
	var all []Message
	for path := range m.object.All() {
		for _, entry := range m.object.List(path) {
			o := entry.(*value.Object)
			level := Info
			switch o.String("type") {
			case "aws:cdk:error":
				level = Error
			case "aws:cdk:warning":
				level = Warning
			case "aws:cdk:info":
			default:
				continue
			}
			data, ok := o.Get("data")
			text, isText := data.(string)
			if ok && !isText {
				text = value.JSON(data)
			}
			all = append(all, Message{level, path, text})
		}
	}
	return all
}

func (m metadata) assets() []parameterAsset {
	var all []parameterAsset
	for path := range m.object.All() {
		for _, entry := range m.object.List(path) {
			o := entry.(*value.Object)
			data := o.Object("data")
			a := parameterAsset{data.String("path"), data.String("s3BucketParameter")}
			if o.String("type") == "aws:cdk:asset" && a.path != "" && a.parameter != "" {
				all = append(all, a)
			}
		}
	}
	return all
}

// Worst returns the messages of a level or above, the most serious first.
func (s *Stack) Worst(least Level) []Message {
	var found []Message
	for _, m := range s.Messages {
		if m.Level >= least {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b Message) int { return cmp.Compare(b.Level, a.Level) })
	return found
}
