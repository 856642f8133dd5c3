package engine

import (
	"context"

	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/state"
)

// An Overview says which state bucket is used and what is in it.
type Overview struct {
	Bucket  string
	Source  state.Source // what named the bucket
	Region  string       // "": it could not be found out
	Version int          // of one of the records; 0: there is none that can be read
	Stacks  int
	Assets  []state.AssetStorage
}

// StateInfo looks which state bucket is used and what is in it. What cannot be
// read of a record or of the asset storage is warned about and left out.
func (e *Engine) StateInfo(ctx context.Context) (*Overview, error) {
	store, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	o := &Overview{Bucket: store.Bucket(), Source: e.choice.Source}
	if store.Located() {
		o.Region = store.Region()
	}
	var wg routine.Group
	wg.Go(func() {
		var err error
		if o.Assets, err = store.AssetStorages(ctx); err != nil {
			e.observe(Event{Kind: Warning, Text: err.Error()})
		}
	})
	refs, traces, err := store.ListAll(ctx)
	e.tellTraces(ctx, store, traces)
	if len(refs) > 0 {
		first, _, err := store.Stack(refs[0].Stack, refs[0].Region).Read(ctx)
		if err != nil {
			e.observe(Event{Kind: Warning, Text: err.Error()})
		}
		if first != nil {
			o.Version = first.Version
		}
	}
	wg.Wait()
	o.Stacks = len(refs)
	return o, err
}

// StateSurvey is StateList with what is recorded of each stack, and who holds
// its lock.
func (e *Engine) StateSurvey(ctx context.Context) ([]state.Surveyed, error) {
	store, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	all, traces, err := store.SurveyAll(ctx)
	e.tellTraces(ctx, store, traces)
	return all, err
}

// StateResources reads the record of a stack. region may be "" when the name is
// recorded in one region only. A *state.MalformedError comes with what could be
// read.
func (e *Engine) StateResources(ctx context.Context, stack, region string) (*state.Record, error) {
	store, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	place, err := recorded(ctx, store, stack, region)
	if err != nil {
		return nil, err
	}
	r, _, err := place.Read(ctx)
	if err == nil && r == nil {
		err = notRecorded(stack, store)
	}
	return r, err
}
