package runner

import (
	"strings"
	"unicode/utf16"
)

// What the runner keeps of the annotations of one step.
const (
	maxAnnotations     = 10   // of each level
	maxAnnotationUnits = 4096 // UTF-16 units of one message
)

// An Annotation is a message that GitHub shows on the run's page.
type Annotation struct {
	Level      string // error, warning or notice
	Properties map[string]string
	Message    string
}

// commands are the workflow commands in a step's log, as far as they had an
// effect.
type commands struct {
	outputs, state map[string]string
	annotations    []Annotation
	masks          []string
}

// readCommands reads a log line by line. A command starts its line, and counts
// wherever it came from, unless commands were stopped before it.
func readCommands(log string) commands {
	c := commands{outputs: map[string]string{}, state: map[string]string{}}
	stopped := ""
	for line := range strings.Lines(log) {
		name, props, message, ok := parseCommand(line)
		switch {
		case !ok:
		case stopped != "":
			if name == stopped {
				stopped = ""
			}
		case name == "stop-commands":
			stopped = message
		default:
			c.do(name, props, message)
		}
	}
	return c
}

func (c *commands) do(name string, props map[string]string, message string) {
	switch name {
	case "set-output":
		c.outputs[props["name"]] = message
	case "save-state":
		c.state[props["name"]] = message
	case "add-mask":
		if message = strings.TrimSpace(message); message != "" {
			c.masks = append(c.masks, message)
		}
	case "error", "warning", "notice":
		n := 0
		for _, a := range c.annotations {
			if a.Level == name {
				n++
			}
		}
		if n < maxAnnotations {
			c.annotations = append(c.annotations, Annotation{name, props, firstUnits(message, maxAnnotationUnits)})
		}
	}
}

// parseCommand reads a line "::name key=value,key=value::message".
func parseCommand(line string) (name string, props map[string]string, message string, ok bool) {
	line, ok = strings.CutPrefix(strings.TrimSpace(line), "::")
	if !ok {
		return "", nil, "", false
	}
	head, message, ok := strings.Cut(line, "::")
	if !ok {
		return "", nil, "", false
	}
	name, list, _ := strings.Cut(head, " ")
	props = map[string]string{}
	for entry := range strings.SplitSeq(list, ",") {
		if key, value, ok := strings.Cut(strings.TrimSpace(entry), "="); ok {
			props[key] = unescapeProperty.Replace(value)
		}
	}
	return name, props, unescapeMessage.Replace(message), name != ""
}

var (
	unescapeMessage  = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%25", "%")
	unescapeProperty = strings.NewReplacer("%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%")
)

func firstUnits(text string, n int) string {
	units := utf16.Encode([]rune(text))
	if len(units) <= n {
		return text
	}
	return string(utf16.Decode(units[:n]))
}

// masked replaces what was masked, whole and line by line.
func (c *commands) masked(text string) string {
	for _, mask := range c.masks {
		for part := range strings.Lines(mask) {
			if part = strings.TrimRight(part, "\r\n"); part != "" {
				text = strings.ReplaceAll(text, part, "***")
			}
		}
	}
	return text
}
