package engine

import (
	"context"

	"github.com/org/cdkd-action/engine/state"
)

// amend changes the record of a stack under its lock, and saves it if edit says
// that there is something to save. What edit is given is what is recorded now
// that the lock is held, nil when nothing is any more. A save that has begun is
// not called off. saved, when set, is called after it, with the lock still held.
//
// settling, when set, is asked first what became of what earlier runs left open.
func (e *Engine) amend(ctx context.Context, place *state.Stack, opt state.LockOptions, settling *deployment,
	edit func(*state.Record) (bool, error), saved func(context.Context, *state.Record)) (err error) {
	opt.Owner = e.config.Owner
	opt.Warn = func(text string) { e.warnOf(place, text) }
	e.observe(Event{Kind: LockRequested, Stack: place.Name, Region: place.Region})
	lock, err := place.Lock(ctx, opt)
	if err != nil {
		return err
	}
	defer func() {
		cleanup, cancel := e.config.Window.Cleanup(journalLimit)
		defer cancel()
		if err := lock.Release(cleanup); err != nil {
			e.warnOf(place, err.Error())
		}
	}()
	if err := notHandedOver(ctx, place); err != nil {
		return err
	}
	record, etag, err := place.Read(ctx)
	if err != nil {
		return err
	}
	if err := place.Own(record); err != nil {
		return err
	}
	if settling != nil && record != nil {
		presence, err := place.Presence(ctx)
		if err != nil {
			return err
		}
		r, err := settling.settleOnce(ctx, reading{record: record, etag: etag, presence: presence})
		if err != nil {
			return err
		}
		record, etag = r.record, r.etag
	}
	changed, err := edit(record)
	if err != nil || !changed {
		return err
	}
	select {
	case <-lock.Lost():
		return errLost
	default:
	}
	saver := state.NewSaver(ctx, place, etag, state.SaverOptions{})
	defer saver.End()
	if err := saver.Save(record); err != nil {
		return err
	}
	saving, cancel := e.config.Window.Cleanup(2 * journalLimit)
	defer cancel()
	if err := saver.Flush(saving); err != nil {
		return err
	}
	if saved != nil {
		saved(saving, record)
	}
	return nil
}

// warnOf warns of something about one stack.
func (e *Engine) warnOf(place *state.Stack, text string) {
	e.observe(Event{Kind: Warning, Stack: place.Name, Region: place.Region, Text: text})
}
