// Package authorship tells whether a create made what it was answered with.
//
// Some APIs hand out, or overwrite, what has the name that a template declares,
// whoever made it. To declare a name is to choose that, so nothing is looked up
// before such a create. Undoing it is another matter: only what this very create
// made may be deleted. What proves that is its own tag, which a service puts on
// what it makes and not on what it finds, and the time at which the resource
// was made. Without proof the resource stays.
package authorship

import (
	"fmt"
	"time"

	"github.com/org/cdkd-action/engine/provider"
)

// skew is what the clock of a run and that of a service may differ by.
const skew = time.Minute

// A Create is what is known of the request.
type Create struct {
	Sent time.Time // when it was first sent, by the run's clock; zero: not known
	Tag  string    // the value of the tag that it gave; "": none, or not known
	// Untagged tells that it may have been sent without the tag, on purpose.
	Untagged bool
}

// Doubt says why what a create was answered with may have been there before; ""
// when the create is proved to have made it.
func Doubt(c Create, held *provider.Holder) string {
	tag, tagged := held.Tags[provider.OwnerTagKey]
	timed := !held.Created.IsZero() && !c.Sent.IsZero()
	switch {
	case timed && held.Created.Before(c.Sent.Add(-skew)):
		return fmt.Sprintf("it was there before: it was made at %s, and its create was sent at %s", stamp(held.Created), stamp(c.Sent))
	case c.Tag != "" && tag == c.Tag:
		return ""
	case (c.Tag != "" || c.Untagged) && tagged:
		return "it was there before: it has the tag of another create"
	case c.Tag != "" && !c.Untagged && held.Tags != nil:
		return "nothing proves that this stack made it: it does not have the tag that its create gave"
	case timed:
		return "" // its tags cannot be read, or no such tag was given
	}
	return "nothing proves that this stack made it: its tags tell nothing, and the service does not say when it was made"
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
