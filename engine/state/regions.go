package state

import (
	"context"
	"fmt"
	"strings"
)

// LockedBelow returns the names of the stacks nested in a stack that have a lock
// in a region, whoever holds it, in order.
func (s *Store) LockedBelow(ctx context.Context, stack, region string) (names []string, err error) {
	err = s.list(ctx, s.prefix+"/"+stack+"~", "", func(key string) bool {
		if name, ok := strings.CutSuffix(strings.TrimPrefix(key, s.prefix+"/"), "/"+region+"/"+lockName); ok {
			names = append(names, name)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("look which stacks nested in %s are locked: %w", stack, err)
	}
	return names, nil
}

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
