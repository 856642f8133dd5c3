package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/state"
)

// MigrateOptions say which bucket's content goes where.
type MigrateOptions struct {
	From   string // "": the default one of the old form, which holds the region
	To     string // "": the account's default one
	DryRun bool
	Remove bool // delete the old bucket when the new one has everything
}

// StateMigrate copies a state bucket whose name is of the old form to one of the
// new form. What was done before an error is in the result.
func (e *Engine) StateMigrate(ctx context.Context, opt MigrateOptions) (state.Migrated, error) {
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	account, err := e.account(ctx)
	if err != nil {
		return state.Migrated{}, err
	}
	from := cmp.Or(opt.From, state.LegacyBucket(account, e.defaultRegion()))
	to := cmp.Or(opt.To, state.DefaultBucket(account))
	if from == to {
		return state.Migrated{}, &InputError{What: fmt.Sprintf("state bucket %s cannot be migrated to itself", from), Next: "name another one with legacy-bucket or new-bucket"}
	}
	done, err := state.Migrate(ctx, e.ConfigOf(e.defaultRegion()), state.MigrateOptions{
		From: from, To: to, AccountID: account, DryRun: opt.DryRun, Remove: opt.Remove,
	})
	if is[*state.NoBucketError](err) {
		err = &InputError{What: fmt.Sprintf("there is no state bucket %s to migrate", from), Next: "its name holds the region: name that with region, or the bucket with legacy-bucket", Page: guide.NoStateBucket}
	}
	return done, err
}
