package state

import (
	"context"
	"errors"
)

// A Surveyed stack is one of all that the bucket knows.
type Surveyed struct {
	Ref
	Record *Record     // nil when it cannot be read
	Lock   *LockRecord // nil when there is none, or none that can be read
	Err    error       // why something of it could not be read
}

// Survey reads the records and the locks of all stacks, in the order of List.
// What cannot be read of one stack does not hide the others.
func (s *Store) Survey(ctx context.Context) ([]Surveyed, error) {
	refs, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]Surveyed, len(refs))
	errs := make([]error, len(refs))
	parallel(2*len(refs), func(i int) {
		n := i / 2
		k := s.Stack(refs[n].Stack, refs[n].Region)
		if i%2 == 0 {
			all[n].Ref = refs[n]
			all[n].Record, _, all[n].Err = k.Read(ctx)
		} else {
			all[n].Lock, errs[n] = k.Peek(ctx)
		}
	})
	for i := range all {
		all[i].Err = errors.Join(all[i].Err, errs[i])
	}
	return all, nil
}
