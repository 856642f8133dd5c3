package state

import (
	"context"
	"fmt"
	"strings"
)

// Journals returns the stacks that have a journal, in the order of their keys.
func (s *Store) Journals(ctx context.Context) ([]Ref, error) {
	var refs []Ref
	root := s.prefix + "/"
	err := s.list(ctx, root, "", func(key string) bool {
		rest, ok := strings.CutSuffix(strings.TrimPrefix(key, root), "/"+journalName)
		if parts := strings.Split(rest, "/"); ok && len(parts) == 2 {
			refs = append(refs, Ref{parts[0], parts[1]})
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list the journals: %w", err)
	}
	return refs, nil
}
