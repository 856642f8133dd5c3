package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/value"
)

func (s *step) gc(ctx context.Context) error {
	ctx, cancel := s.window.Interruptible(ctx)
	defer cancel()
	opt := engine.GCOptions{OlderThan: s.in.OlderThan, DryRun: s.in.DryRun, SharedByNone: s.in.NoOtherStateBucket}
	if !s.in.Yes {
		opt.Consent = func(c engine.Collected) bool {
			s.surface.Print(garbageText(c))
			return s.surface.Confirm(ctx, fmt.Sprintf("Delete %s of %s?", amount.Of(len(c.Garbage), "asset"), c.Storage.Region), false)
		}
	}
	c, err := s.engine.GC(ctx, opt)
	if err != nil {
		if len(c.Garbage) > 0 {
			s.surface.Print(garbageText(c))
		}
		return s.refuse(err)
	}
	s.done(len(c.Garbage) > 0 && !opt.DryRun && !c.Declined)
	var text string
	switch {
	case c.Storage == nil:
		text = "the region has no asset storage of its own: there is nothing to collect"
	case c.Declined:
		text = "declined: nothing was deleted"
	case opt.DryRun:
		text = garbageText(c) + fmt.Sprintf("%s would be deleted, which frees %d bytes; %d %s kept", amount.Of(len(c.Garbage), "asset"), c.Size(), c.Kept, amount.Form(c.Kept, "is", "are"))
	default:
		text = garbageText(c) + fmt.Sprintf("deleted %s, which frees %d bytes; kept %d", amount.Of(len(c.Garbage), "asset"), c.Size(), c.Kept)
	}
	return s.show(garbageJSON(c, opt.DryRun), text)
}

func garbageText(c engine.Collected) string {
	var b strings.Builder
	for _, bucket := range c.SharedBy {
		fmt.Fprintf(&b, "state bucket %s has this storage, too: what it names stays\n", report.Line(bucket))
	}
	for _, g := range c.Garbage {
		what := "s3://" + c.Storage.AssetBucket + "/" + g.ID
		if g.Image {
			what = c.Storage.ContainerRepo + "@" + g.ID
			if len(g.Tags) > 0 {
				what += " (" + strings.Join(g.Tags, ", ") + ")"
			}
		}
		fmt.Fprintf(&b, "%s, %d bytes, of %s\n", report.Line(what), g.Size, g.Since.UTC().Format(time.DateOnly))
	}
	return b.String()
}

func garbageJSON(c engine.Collected, dryRun bool) any {
	assets := []any{}
	for _, g := range c.Garbage {
		kind := "object"
		if g.Image {
			kind = "image"
		}
		assets = append(assets, value.NewObject("kind", kind, "id", g.ID, "tags", texts(g.Tags), "size", value.Int(g.Size), "since", g.Since.UTC().Format(time.RFC3339)))
	}
	return value.NewObject("assetStorage", storageJSON(c.Storage), "sharedBy", texts(c.SharedBy), "assets", assets, "size", value.Int(c.Size()), "kept", value.Int(c.Kept), "dryRun", dryRun, "declined", c.Declined)
}
