package ci

import (
	"fmt"
	"strings"

	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine/result"
)

// Annotate puts what went wrong in a run on its page: what failed first, then
// what was left and what was warned about. On a terminal it does nothing: the
// report says it all.
func (s *Surface) Annotate(run *result.Run) {
	if !s.step {
		return
	}
	fail := func(title, message, remedy string, a Annotation) {
		if message != "" {
			a.Title, a.Message = report.Clean(title), report.Clean(withRemedy(message, remedy))
			s.Error(a)
		}
	}
	fail(report.Title(run), run.Message, run.Remedy, Annotation{Page: run.Page})
	for _, st := range run.Stacks {
		fail(st.Name+" in "+st.Place(), st.Message, st.Remedy, Annotation{Page: st.Page})
		for _, f := range st.Failures {
			fail(fmt.Sprintf("%s: %s of %s failed", st.Name, f.Action, f.LogicalID), f.Type+": "+f.Message, f.Remedy, Annotation{File: f.File, Line: f.Line, Page: f.Page})
		}
	}
	for _, st := range run.Stacks {
		page := ""
		if st.Message == "" { // else it is about that
			page = st.Page
		}
		for _, u := range st.Unaddressed {
			title, message := st.Name+" in "+st.Place()+" is left", u.Reason
			if u.LogicalID != "" { // else it is the stack as a whole
				title = fmt.Sprintf("%s: %s is left", st.Name, u.LogicalID)
			}
			if what := strings.TrimSpace(u.Type + " " + u.PhysicalID); what != "" {
				message = what + ": " + message
			}
			s.Warning(Annotation{
				Title:   report.Clean(title),
				Message: report.Clean(withRemedy(message, u.Remedy)),
				Page:    page,
			})
		}
		for _, w := range st.Warnings {
			s.Warning(Annotation{Title: report.Clean(st.Name), Message: report.Clean(w)})
		}
	}
}

func withRemedy(message, remedy string) string {
	if remedy == "" {
		return message
	}
	return message + "\nWhat to do: " + remedy
}
