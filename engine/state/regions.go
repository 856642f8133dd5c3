package state

import (
	"context"
	"fmt"
	"strings"
)

// Regions returns the regions in which a stack has objects, its record or any
// other, in the order of their names.
func (s *Store) Regions(ctx context.Context, stack string) (regions []string, err error) {
	folder := s.prefix + "/" + stack + "/"
	err = s.list(ctx, folder, "/", func(key string) bool {
		if region, ok := strings.CutSuffix(strings.TrimPrefix(key, folder), "/"); ok && region != "" {
			regions = append(regions, region)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("look in which regions stack %s is: %w", stack, err)
	}
	return regions, nil
}
