package sandbox

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strings"
)

// Deny has IAM say of the actions that nobody may do them, when it is asked to
// simulate. Calls are not checked.
func (s *Sandbox) Deny(actions ...string) { s.edit(func() { s.denied = actions }) }

// simulate answers iam:SimulatePrincipalPolicy.
func (s *Sandbox) simulate(w http.ResponseWriter, c *call) {
	type result struct{ EvalActionName, EvalResourceName, EvalDecision string }
	out := struct {
		XMLName xml.Name `xml:"https://iam.amazonaws.com/doc/2010-05-08/ SimulatePrincipalPolicyResponse"`
		Results []result `xml:"SimulatePrincipalPolicyResult>EvaluationResults>member"`
	}{}
	var actions, resources []string
	for key, v := range c.form {
		switch {
		case strings.HasPrefix(key, "ActionNames."):
			actions = append(actions, v...)
		case strings.HasPrefix(key, "ResourceArns."):
			resources = append(resources, v...)
		}
	}
	s.mu.Lock()
	denied := s.denied
	s.mu.Unlock()
	for _, a := range actions {
		for _, r := range resources {
			decision := "allowed"
			if slices.Contains(denied, a) {
				decision = "implicitDeny"
			}
			out.Results = append(out.Results, result{a, r, decision})
		}
	}
	writeXML(w, out)
}
