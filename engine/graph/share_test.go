package graph

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Runs that share keep to the limits together, a task that runs others holds no place,
// and one run's end lets another go on (T-706, T-707).
func TestShare(t *testing.T) {
	for name, c := range map[string]struct {
		limit, each int
		most        map[string]int // at once, in all and by API
		took        time.Duration
	}{
		"in all":      {3, 0, map[string]int{"": 3}, 4 * time.Second},
		"of each API": {0, 2, map[string]int{"": 4, "sqs": 2, "sns": 2}, 3 * time.Second},
		"no limit":    {0, 0, map[string]int{"": 12, "sqs": 6, "sns": 6}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				share := NewShare(c.limit, c.each)
				var mu sync.Mutex
				running, most := map[string]int{}, map[string]int{}
				count := func(api string, n int) {
					mu.Lock()
					defer mu.Unlock()
					for _, of := range []string{"", api} {
						running[of] += n
						most[of] = max(most[of], running[of])
					}
				}
				resources := func() (tasks []Task) {
					for i := range 3 {
						for _, api := range []string{"sqs", "sns"} {
							tasks = append(tasks, Task{ID: fmt.Sprint(api, i), API: api, Run: func(context.Context) error {
								count(api, 1)
								defer count(api, -1)
								time.Sleep(time.Second)
								return nil
							}})
						}
					}
					return tasks
				}
				start := time.Now()
				var wg sync.WaitGroup
				wg.Go(func() { Run(t.Context(), resources(), nil, Options{Share: share}) })
				wg.Go(func() { // a stack with a nested one
					Run(t.Context(), []Task{{ID: "Nested", Run: func(ctx context.Context) error {
						Run(ctx, resources(), nil, Options{Share: share})
						return nil
					}}}, nil, Options{Share: share})
				})
				wg.Wait()
				for of, want := range c.most {
					if most[of] != want {
						t.Errorf("at once %d of %q, want %d", most[of], of, want)
					}
				}
				if took := time.Since(start); took != c.took {
					t.Errorf("it took %s, want %s", took, c.took)
				}
			})
		})
	}
}

// A run that waits for another's end stops when it is told to.
func TestShareStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		share := NewShare(1, 0)
		hold := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			Run(t.Context(), []Task{{ID: "A", API: "a", Run: func(context.Context) error { <-hold; return nil }}}, nil, Options{Share: share})
		})
		synctest.Wait()
		stop := make(chan struct{})
		wg.Go(func() {
			got := Run(t.Context(), []Task{{ID: "B", API: "a", Run: func(context.Context) error { t.Error("it was started"); return nil }}}, nil, Options{Share: share, Stop: stop})
			if got["B"].Status != NotStarted {
				t.Errorf("got %+v", got)
			}
			close(hold)
		})
		synctest.Wait()
		close(stop)
		wg.Wait()
	})
}
