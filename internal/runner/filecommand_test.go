package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePairs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		text  string
		want  []pair
		fault string
	}{
		{name: "nothing was written"},
		{name: "name and value", text: "a=b\n", want: []pair{{"a", "b"}}},
		{name: "the value may hold an equals sign", text: "a=b=c\n", want: []pair{{"a", "b=c"}}},
		{name: "the last line needs no end", text: "a=b", want: []pair{{"a", "b"}}},
		{name: "empty lines are skipped", text: "\n\na=b\n\n", want: []pair{{"a", "b"}}},
		{name: "an empty value", text: "a=\n", want: []pair{{"a", ""}}},
		{name: "a value of several lines", text: "a<<E\nb\n\nc\nE\nd=e\n", want: []pair{{"a", "b\n\nc"}, {"d", "e"}}},
		{name: "a value of no lines", text: "a<<E\nE\n", want: []pair{{"a", ""}}},
		{name: "the value may look like an entry", text: "a<<E\nb=c\nd<<F\nE\n", want: []pair{{"a", "b=c\nd<<F"}}},
		{name: "a carriage return belongs to the value", text: "a<<E\nb\r\nE\n", want: []pair{{"a", "b\r"}}},
		{name: "the delimiter is the whole line", text: "a<<E\n E\nE \nE\n", want: []pair{{"a", " E\nE "}}},
		{name: "an equals sign before the mark makes it a value", text: "a=<<E\n", want: []pair{{"a", "<<E"}}},
		{name: "an equals sign after the mark belongs to the delimiter", text: "a<<E=\nb\nE=\n", want: []pair{{"a", "b"}}},
		{name: "a guessed delimiter ends the value and starts an entry", text: "a<<E\nb\nE\nevil=1\nE\n",
			want: []pair{{"a", "b"}, {"evil", "1"}}, fault: `invalid format "E"`},
		{name: "the delimiter is missing", text: "a=b\nc<<E\nd\n", want: []pair{{"a", "b"}}, fault: "was not found"},
		{name: "no name", text: "<<E\nE\n", fault: "may be empty"},
		{name: "no delimiter", text: "a<<\n", fault: "may be empty"},
		{name: "neither form", text: "a\n", fault: `invalid format "a"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parsePairs(tt.text)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(pair{})); diff != "" {
				t.Errorf("parsePairs(%q) (-want +got):\n%s", tt.text, diff)
			}
			if (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("parsePairs(%q) failed with %v, want %q", tt.text, err, tt.fault)
			}
		})
	}
}

func TestReadCommands(t *testing.T) {
	many := strings.Repeat("::error::x\n", 12)
	for _, tt := range []struct {
		name string
		log  string
		want commands
	}{
		{name: "plain text", log: "hello :: world\n"},
		{name: "set-output still works", log: "::set-output name=a::b%0Ac\n", want: commands{outputs: map[string]string{"a": "b\nc"}}},
		{name: "an indented command counts", log: "  ::save-state name=a::b\n", want: commands{state: map[string]string{"a": "b"}}},
		{name: "in the middle of a line it does not", log: "x ::set-output name=a::b\n"},
		{name: "an escaped escape stays one", log: "::set-output name=a::%250A\n", want: commands{outputs: map[string]string{"a": "%0A"}}},
		{name: "stopped commands do nothing until the token",
			log:  "::stop-commands::tok\n::set-output name=a::1\n::other::\n::tok::\n::set-output name=b::2\n",
			want: commands{outputs: map[string]string{"b": "2"}}},
		{name: "an annotation with its place", log: "::warning file=a%3Ab,line=3,title=T::m\n",
			want: commands{annotations: []Annotation{{"warning", map[string]string{"file": "a:b", "line": "3", "title": "T"}, "m"}}}},
		{name: "a mask", log: "::add-mask::s3cret\n::add-mask::\n", want: commands{masks: []string{"s3cret"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want.outputs == nil {
				tt.want.outputs = map[string]string{}
			}
			if tt.want.state == nil {
				tt.want.state = map[string]string{}
			}
			if diff := cmp.Diff(tt.want, readCommands(tt.log), cmp.AllowUnexported(commands{})); diff != "" {
				t.Errorf("readCommands(%q) (-want +got):\n%s", tt.log, diff)
			}
		})
	}
	if got := len(readCommands(many + "::notice::y\n").annotations); got != maxAnnotations+1 {
		t.Errorf("of 12 errors and a notice %d were kept, want %d", got, maxAnnotations+1)
	}
	long := readCommands("::error::" + strings.Repeat("😀", 3000) + "\n").annotations[0].Message
	if long != strings.Repeat("😀", 2048) {
		t.Errorf("a long message was cut to %d bytes, want 2048 characters of two units each", len(long))
	}
	masked := commands{masks: []string{"one\ntwo"}}
	if got := masked.masked("one, two, three"); got != "***, ***, three" {
		t.Errorf("masked: %q", got)
	}
}
