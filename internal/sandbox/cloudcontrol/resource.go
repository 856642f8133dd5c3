package cloudcontrol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/org/cdkd-action/engine/schema"
)

func (s *Server) create(region string, t *schema.Type, in *input) (any, error) {
	model, err := decode(in.DesiredState)
	if err != nil {
		return nil, exceptionf("ValidationException", "DesiredState is not a JSON object: %v", err)
	}
	invalid := check(t, model)
	if invalid == "" {
		invalid = readOnlyIn(t, model)
	}
	s.fill(region, t, model)
	id, err := identifier(t, model)
	if err != nil {
		invalid = err.Error()
	}
	at := where{region, t.Name, id}
	return s.start(region, "CREATE", t, id, in, func() *handlerError {
		switch {
		case invalid != "":
			return &handlerError{code: "InvalidRequest", message: "Model validation failed (" + invalid + ")"}
		case s.resources[at] != nil:
			return &handlerError{code: "AlreadyExists", message: fmt.Sprintf("Resource of type '%s' with identifier '%s' already exists.", t.Name, id)}
		}
		s.resources[at] = &resource{model}
		return nil
	})
}

func (s *Server) update(region string, t *schema.Type, in *input) (any, error) {
	at := where{region, t.Name, in.Identifier}
	r := s.resources[at]
	if r == nil {
		return nil, notFound(t, in.Identifier)
	}
	if err := refusePatch(t, in.PatchDocument); err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch([]byte(in.PatchDocument))
	if err != nil {
		return nil, exceptionf("ValidationException", "PatchDocument is not a JSON patch: %v", err)
	}
	// A patch applies to what a read returns: without write-only properties.
	before, err := json.Marshal(readable(t, r.model))
	if err != nil {
		return nil, err
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, exceptionf("ValidationException", "Invalid patch update: %v", err)
	}
	model, err := decode(string(after))
	if err != nil {
		return nil, exceptionf("ValidationException", "Invalid patch update: %v", err)
	}
	return s.start(region, "UPDATE", t, in.Identifier, in, func() *handlerError {
		if s.resources[at] == nil {
			return missing(t, in.Identifier)
		}
		if invalid := check(t, model); invalid != "" {
			return &handlerError{code: "InvalidRequest", message: "Model validation failed (" + invalid + ")"}
		}
		s.resources[at] = &resource{model}
		return nil
	})
}

// refusePatch refuses one that touches what cannot be updated, be it with the
// value that it has.
func refusePatch(t *schema.Type, document string) error {
	var ops []struct {
		Op    string
		Path  string
		Value any
	}
	if err := json.Unmarshal([]byte(document), &ops); err != nil {
		return exceptionf("ValidationException", "PatchDocument is not a JSON patch: %v", err)
	}
	for _, op := range ops {
		if op.Op == "test" {
			continue
		}
		path := strings.Split(strings.TrimPrefix(op.Path, "/"), "/")
		for i, part := range path {
			path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		}
		for _, fixed := range t.CreateOnly {
			if touches(path, op.Value, strings.Split(fixed, "/")) {
				return exceptionf("NotUpdatableException", "Invalid patch update: createOnlyProperties [/properties/%s] cannot be updated", fixed)
			}
		}
		for _, fixed := range t.ReadOnly {
			if touches(path, op.Value, strings.Split(fixed, "/")) {
				return exceptionf("ValidationException", "Invalid patch update: readOnlyProperties [/properties/%s] cannot be updated", fixed)
			}
		}
	}
	return nil
}

// touches reports whether a patch of value at path sets something at or below
// a fixed path.
func touches(path []string, value any, fixed []string) bool {
	for i, part := range fixed {
		if i == len(path) { // the value is a container of what is fixed
			return contains(value, fixed[i:])
		}
		if part != "*" && part != path[i] {
			return false
		}
	}
	return true
}

func contains(value any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		if path[0] == "*" {
			return slices.ContainsFunc(slices.Collect(maps.Values(v)), func(e any) bool { return contains(e, path[1:]) })
		}
		inner, ok := v[path[0]]
		return ok && contains(inner, path[1:])
	case []any:
		if path[0] == "*" {
			path = path[1:]
		}
		return slices.ContainsFunc(v, func(e any) bool { return contains(e, path) })
	}
	return false
}

func (s *Server) delete(region string, t *schema.Type, in *input) (any, error) {
	at := where{region, t.Name, in.Identifier}
	return s.start(region, "DELETE", t, in.Identifier, in, func() *handlerError {
		if s.resources[at] == nil {
			return missing(t, in.Identifier)
		}
		delete(s.resources, at)
		return nil
	})
}

func notFound(t *schema.Type, id string) error {
	return exceptionf("ResourceNotFoundException", "Resource of type '%s' with identifier '%s' was not found.", t.Name, id)
}

func missing(t *schema.Type, id string) *handlerError {
	return &handlerError{code: "NotFound", message: fmt.Sprintf("Resource of type '%s' with identifier '%s' was not found.", t.Name, id)}
}

type description struct {
	Identifier string
	Properties string
}

func (s *Server) get(region string, t *schema.Type, in *input) (any, error) {
	r := s.resources[where{region, t.Name, in.Identifier}]
	if r == nil {
		return nil, notFound(t, in.Identifier)
	}
	return described(t, in.Identifier, r.model)
}

// described is the answer to a read.
func described(t *schema.Type, id string, model map[string]any) (any, error) {
	text, err := json.Marshal(readable(t, model))
	return struct {
		TypeName            string
		ResourceDescription description
	}{t.Name, description{id, string(text)}}, err
}

func (s *Server) list(region string, t *schema.Type, in *input) (any, error) {
	var all []description
	for at, r := range s.resources {
		if at.region == region && at.typeName == t.Name {
			text, err := json.Marshal(readable(t, r.model))
			if err != nil {
				return nil, err
			}
			all = append(all, description{at.id, string(text)})
		}
	}
	slices.SortFunc(all, func(a, b description) int { return strings.Compare(a.Identifier, b.Identifier) })
	page, next, err := pageOf(all, in)
	return struct {
		TypeName             string
		ResourceDescriptions []description
		NextToken            string `json:",omitempty"`
	}{t.Name, page, next}, err
}

// decode reads an object and keeps numbers as they are written.
func decode(text string) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var model map[string]any
	if err := dec.Decode(&model); err != nil {
		return nil, err
	}
	if model == nil {
		return nil, fmt.Errorf("null")
	}
	return model, nil
}

// readable returns a model without its write-only properties.
func readable(t *schema.Type, model map[string]any) map[string]any {
	out := clone(model).(map[string]any)
	for _, path := range t.WriteOnly {
		strip(out, strings.Split(path, "/"))
	}
	return out
}

func strip(value any, path []string) {
	switch v := value.(type) {
	case map[string]any:
		switch {
		case len(path) == 1 && path[0] != "*":
			delete(v, path[0])
		case path[0] == "*" && len(path) > 1:
			for _, inner := range v {
				strip(inner, path[1:])
			}
		case len(path) > 1:
			strip(v[path[0]], path[1:])
		}
	case []any:
		if path[0] == "*" {
			path = path[1:]
		}
		for _, inner := range v {
			if len(path) > 0 {
				strip(inner, path)
			}
		}
	}
}

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			out[k] = clone(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = clone(inner)
		}
		return out
	}
	return value
}
