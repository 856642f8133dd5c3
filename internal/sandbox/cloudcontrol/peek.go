package cloudcontrol

import "fmt"

// A Resource is what a test sees of one without a request.
type Resource struct {
	Region     string
	TypeName   string
	Identifier string
	Model      map[string]any // with attributes and write-only properties
}

// Resources returns all resources, those included whose creation is due.
func (s *Server) Resources() []Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	var all []Resource
	for at, r := range s.resources {
		all = append(all, Resource{at.region, at.typeName, at.id, clone(r.model).(map[string]any)})
	}
	return all
}

// Resource returns one resource's model, or nil.
func (s *Server) Resource(region, typeName, id string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	if r := s.resources[where{region, typeName, id}]; r != nil {
		return clone(r.model).(map[string]any)
	}
	return nil
}

// Put makes or replaces a resource without a request, as if it had been made
// by other means. Attributes that the model lacks are made up.
func (s *Server) Put(region, typeName string, model map[string]any) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.types(typeName)
	if !ok {
		return "", fmt.Errorf("no schema of %s", typeName)
	}
	model = clone(model).(map[string]any)
	s.fill(region, t, model)
	if id, err = identifier(t, model); err != nil {
		return "", err
	}
	s.resources[where{region, typeName, id}] = &resource{model}
	return id, nil
}

// Remove removes a resource without a request, as if it had been deleted by
// other means.
func (s *Server) Remove(region, typeName, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	delete(s.resources, where{region, typeName, id})
}
