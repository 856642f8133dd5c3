package authorship

import (
	"strings"
	"testing"
	"time"

	"github.com/org/cdkd-action/engine/provider"
)

// A resource is a create's own when the create's tag or its age proves it, and
// stays otherwise (S-200, S-213, S-242).
func TestDoubt(t *testing.T) {
	sent := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ours := map[string]string{provider.OwnerTagKey: "ours"}
	for name, tt := range map[string]struct {
		create Create
		held   provider.Holder
		want   string // "": proved
	}{
		"its tag":                             {Create{Sent: sent, Tag: "ours"}, provider.Holder{Tags: ours}, ""},
		"its tag, and its time":               {Create{Sent: sent, Tag: "ours"}, provider.Holder{Tags: ours, Created: sent}, ""},
		"its tag, on what was made before":    {Create{Sent: sent, Tag: "ours"}, provider.Holder{Tags: ours, Created: sent.Add(-2 * time.Minute)}, "it was made at 2026-01-02T03:02:05Z"},
		"another create's tag":                {Create{Sent: sent, Tag: "theirs"}, provider.Holder{Tags: ours, Created: sent}, "another create"},
		"no tag though the tags are readable": {Create{Sent: sent, Tag: "ours"}, provider.Holder{Tags: map[string]string{"a": "b"}, Created: sent}, "does not have the tag"},
		"tags not readable, made in time":     {Create{Sent: sent, Tag: "ours"}, provider.Holder{Created: sent.Add(time.Second)}, ""},
		"tags not readable, a clock behind":   {Create{Sent: sent, Tag: "ours"}, provider.Holder{Created: sent.Add(-time.Minute)}, ""},
		"tags not readable, made before":      {Create{Sent: sent, Tag: "ours"}, provider.Holder{Created: sent.Add(-61 * time.Second)}, "was there before"},
		"tags not readable, no time":          {Create{Sent: sent, Tag: "ours"}, provider.Holder{}, "nothing proves"},
		"no tag given, made in time":          {Create{Sent: sent}, provider.Holder{Tags: map[string]string{}, Created: sent}, ""},
		"no tag given, no time":               {Create{Sent: sent}, provider.Holder{Tags: ours}, "nothing proves"},
		"perhaps no tag, made in time":        {Create{Sent: sent, Tag: "ours", Untagged: true}, provider.Holder{Tags: map[string]string{}, Created: sent}, ""},
		"perhaps no tag, no time":             {Create{Sent: sent, Tag: "ours", Untagged: true}, provider.Holder{Tags: map[string]string{}}, "nothing proves"},
		"perhaps no tag, and there it is":     {Create{Sent: sent, Tag: "ours", Untagged: true}, provider.Holder{Tags: ours}, ""},
		"no tag on purpose, another's there":  {Create{Sent: sent, Untagged: true}, provider.Holder{Tags: ours, Created: sent}, "another create"},
		"nothing known of the create":         {Create{}, provider.Holder{Tags: ours, Created: sent}, "nothing proves"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Doubt(tt.create, &tt.held)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
