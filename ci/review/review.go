// Package review binds a deploy to what somebody reviewed.
//
// A plan that is shown on a pull request is kept in the comment as what its
// reviewer saw of it, with a digest of all of it: see [Of]. A deploy plans anew,
// compares, and goes on only when each stack that it would change has a reviewed
// plan with the same digest. The rows are there to say what differs; they never
// decide.
//
// The digest is of values too, also of those that the comment hides. It is
// therefore slow to compute, and salted with the pull request: one that is copied
// to another pull request approves nothing there.
package review

import (
	"cmp"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// A Plan is what a stack's plan was when it was shown.
type Plan struct {
	Stack  string `json:"stack"`
	Region string `json:"region"`
	// Account is "" for that of the credentials.
	Account string `json:"account,omitempty"`
	Digest  string `json:"digest"`
	Rows    []Row  `json:"rows,omitempty"`
}

// A Row is a resource that changes.
type Row struct {
	LogicalID  string      `json:"id"` // Nested/Resource in a nested stack
	Type       string      `json:"type"`
	Action     plan.Action `json:"action"`
	Properties []string    `json:"properties,omitempty"`
}

// rounds make it slow to guess a hidden value by trying: about a hundredth of a
// second each.
const rounds = 50_000

// Of returns the plans of the stacks that would change. scope is the pull
// request that they belong to, "" outside of one.
func Of(run *result.Run, scope string) ([]Plan, error) {
	var out []Plan
	for _, s := range run.Stacks {
		if s.Plan == nil || !s.Plan.Changed() || s.Plan.FromTemplates {
			continue // the last is not of what a deploy would do
		}
		digest, err := pbkdf2.Key(sha256.New, s.Plan.Digest(), []byte("cdkd-action plan 1\n"+strings.ToLower(scope)), rounds, 16)
		if err != nil {
			return nil, fmt.Errorf("compute the digest of the plan of %s: %w", s.Name, err)
		}
		out = append(out, Plan{Stack: s.Name, Region: s.Region, Account: s.Account, Digest: hex.EncodeToString(digest), Rows: rows(s.Plan, "")})
	}
	slices.SortFunc(out, func(a, b Plan) int {
		return cmp.Or(cmp.Compare(a.Stack, b.Stack), cmp.Compare(a.Region, b.Region), cmp.Compare(a.Account, b.Account))
	})
	return out, nil
}

func rows(p *plan.Plan, prefix string) []Row {
	var out []Row
	for _, c := range p.Changes {
		if c.Action == plan.NoChange {
			continue
		}
		r := Row{LogicalID: prefix + c.LogicalID, Type: c.Type, Action: c.Action}
		for _, property := range c.Properties {
			r.Properties = append(r.Properties, property.Path)
		}
		for _, a := range c.Attributes {
			r.Properties = append(r.Properties, a.Name)
		}
		out = append(out, r)
	}
	for _, child := range p.Children {
		_, name, _ := strings.Cut(child.Stack, "~")
		out = append(out, rows(child, prefix+cmp.Or(name, child.Stack)+"/")...)
	}
	return out
}

// Digest is one name for all plans of a run. Nothing to do has one as well: a
// workflow that hands an empty text on has approved nothing.
func Digest(plans []Plan) string {
	h := sha256.New()
	if len(plans) == 0 {
		fmt.Fprintln(h, "nothing to do")
	}
	for _, p := range plans {
		fmt.Fprintf(h, "%d:%s%d:%s%s%s\n", len(p.Stack), p.Stack, len(p.Region), p.Region, p.Digest, p.Account)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Difference says, line by line, in what the plans of now differ from those that
// were reviewed; nothing when all that would be done was. Stacks that were
// reviewed and would not change now do not matter.
func Difference(reviewed, now []Plan) []string {
	var out []string
	for _, n := range now {
		before := -1
		for i, r := range reviewed {
			if r.Stack != n.Stack || r.Region != n.Region || r.Account != n.Account {
				continue
			}
			if before = i; r.Digest == n.Digest {
				break
			}
		}
		name := n.Stack + " in " + n.Region
		if n.Account != "" {
			name += " of account " + n.Account
		}
		switch {
		case before < 0:
			out = append(out, name+": was not to be changed when it was reviewed, or was not reviewed")
			out = append(out, differing(nil, n.Rows)...)
		case reviewed[before].Digest != n.Digest:
			lines := differing(reviewed[before].Rows, n.Rows)
			if len(lines) == 0 {
				lines = []string{"  the same changes, with other values in one of them:"}
				const most = 20
				for _, r := range n.Rows[:min(most, len(n.Rows))] {
					lines = append(lines, fmt.Sprintf("  %s (%s): %s", r.LogicalID, r.Type, what(r)))
				}
				if more := len(n.Rows) - most; more > 0 {
					lines = append(lines, fmt.Sprintf("  and %d more", more))
				}
			}
			out = append(append(out, name+":"), lines...)
		}
	}
	return out
}

func differing(reviewed, now []Row) []string {
	var out []string
	find := func(rows []Row, id string) *Row {
		i := slices.IndexFunc(rows, func(r Row) bool { return r.LogicalID == id })
		if i < 0 {
			return nil
		}
		return &rows[i]
	}
	for _, n := range now {
		switch r := find(reviewed, n.LogicalID); {
		case r == nil:
			out = append(out, fmt.Sprintf("+ %s (%s): %s, which was not reviewed", n.LogicalID, n.Type, what(n)))
		case r.Action != n.Action || r.Type != n.Type || !slices.Equal(r.Properties, n.Properties):
			out = append(out, fmt.Sprintf("! %s (%s): reviewed was %s, now it is %s", n.LogicalID, n.Type, what(*r), what(n)))
		}
	}
	for _, r := range reviewed {
		if find(now, r.LogicalID) == nil {
			out = append(out, fmt.Sprintf("- %s (%s): reviewed was %s, now nothing", r.LogicalID, r.Type, what(r)))
		}
	}
	return out
}

func what(r Row) string {
	if len(r.Properties) == 0 {
		return string(r.Action)
	}
	return string(r.Action) + " of " + strings.Join(r.Properties, ", ")
}
