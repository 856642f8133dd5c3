package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/permission"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// permissions prints policies, which are made to be attached: what there is to
// say about them is said in the log.
func (s *step) permissions(ctx context.Context) error {
	sel, err := s.selection(ctx)
	if err != nil {
		return s.refuse(err)
	}
	router, err := s.routerOptions()
	if err != nil {
		return s.refuse(err)
	}
	p, err := s.engine.Permissions(ctx, engine.PermissionsOptions{Selection: sel, For: permission.Purpose(s.in.For), Check: s.in.CheckCaller, Router: router})
	if p == nil {
		return s.refuse(err)
	}
	for _, note := range p.Notes {
		s.surface.Notice(ci.Annotation{Title: "Permissions", Message: report.Line(note)})
	}
	for _, what := range p.Unknown {
		s.surface.Warning(ci.Annotation{Title: "Permissions", Message: "not in the policy: " + report.Line(s.secrets.Mask(what))})
	}
	if p.Caller != "" && err == nil {
		s.log.Info().Msgf("checked: %s lacks %d of what is needed", report.Line(p.Caller), len(p.Missing))
	}
	text, failed := permissionsText(p)
	if failed != nil {
		return s.refuse(failed)
	}
	if shown := s.show(permissionsJSON(p), text); shown != nil {
		return shown
	}
	switch {
	case err != nil:
		return s.refusal(err)
	case len(p.Missing) > 0:
		var missing []string
		for _, m := range p.Missing {
			missing = append(missing, strings.TrimSuffix(m, " on "+permission.Anything))
		}
		return s.failed(result.ReasonCredentials, guide.PermissionsMissing, report.Line(p.Caller)+" lacks "+report.Line(strings.Join(missing, ", "))+"; attach the policy that was printed, or that part of it")
	case len(p.Unknown) > 0:
		return s.partial("")
	}
	s.done(false)
	return nil
}

// permissionsText is one document, as IAM takes it, or several, one after the
// other.
func permissionsText(p *engine.Permissions) (string, error) {
	var b strings.Builder
	for _, d := range p.Documents {
		text, err := value.MarshalIndent(d)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s\n", text)
	}
	return b.String(), nil
}

func permissionsJSON(p *engine.Permissions) *value.Object {
	documents := []any{}
	for _, d := range p.Documents {
		documents = append(documents, d)
	}
	o := value.NewObject("policies", documents, "notes", texts(p.Notes), "unknown", texts(p.Unknown))
	if p.Caller != "" {
		o.Set("caller", p.Caller)
		o.Set("missing", texts(p.Missing))
	}
	return o
}
