package assembly

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// nested reads the templates of nested stacks.
func (r *reader) nested(t *template.Template, top *Stack, stack string, ancestors []string) map[string]*Nested {
	if t == nil {
		return nil
	}
	var all map[string]*Nested
	parent := ancestors[len(ancestors)-1]
	for _, res := range t.Resources {
		if res.Type != "AWS::CloudFormation::Stack" {
			continue
		}
		file, err := r.child(res, top, parent)
		if err == nil && slices.Contains(ancestors, file) {
			err = errors.New("its template contains itself")
		}
		if err != nil {
			r.fault(parent, fmt.Errorf("nested stack %s of stack %s: %w", res.LogicalID, stack, err))
			continue
		}
		name := stack + "/" + res.LogicalID
		n := &Nested{File: file, Template: r.template(file, name, filepath.Base(file))}
		n.Nested = r.nested(n.Template, top, name, append(slices.Clone(ancestors), file))
		if n.Template != nil && len(n.Template.Macros()) > 0 {
			r.fault(file, fmt.Errorf("stack %s uses %s, and macros of a nested stack cannot be expanded", name, strings.Join(n.Template.Macros(), ", ")))
		}
		if all == nil {
			all = map[string]*Nested{}
		}
		all[res.LogicalID] = n
	}
	return all
}

// child finds the template of a nested stack. Its path is in the metadata that
// CDK adds, relative to the template that names it. An app may turn that off;
// then the URL ends in the key under which the template would be published, or,
// from the synthesizer of CDK 1, is made of parameters that stand for it.
func (r *reader) child(res *template.Resource, top *Stack, parent string) (string, error) {
	if path := res.Metadata.String("aws:asset:path"); path != "" {
		file, err := inside(r.a.Dir, filepath.Dir(parent), path)
		if err != nil {
			return "", fmt.Errorf("aws:asset:path: %w", err)
		}
		return file, nil
	}
	url := literal(res.Properties.Value("TemplateURL"))
	for _, a := range top.parameterAssets {
		if strings.Contains(url, a.parameter) {
			file, err := inside(r.a.Dir, top.Dir, a.path)
			if err != nil {
				return "", fmt.Errorf("asset of parameter %s: %w", a.parameter, err)
			}
			return file, nil
		}
	}
	if top.Assets != nil {
		for _, a := range top.Assets.Files {
			for _, d := range a.Destinations {
				if strings.HasSuffix(url, "/"+d.Key) && strings.HasSuffix(a.Path, ".json") {
					file, err := inside(r.a.Dir, top.Dir, a.Path)
					if err != nil {
						return "", fmt.Errorf("asset %s: %w", a.ID, err)
					}
					return file, nil
				}
			}
		}
	}
	return "", errors.New("its template is not in the assembly: there is no aws:asset:path in its Metadata, and its TemplateURL is not that of an asset; a URL alone is never fetched")
}

// literal runs together all text that is written out in v, names included.
func literal(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, member := range v {
			b.WriteString(literal(member))
		}
		return b.String()
	case *value.Object:
		if _, member, ok := v.Sole(); ok {
			return literal(member)
		}
	}
	return ""
}
