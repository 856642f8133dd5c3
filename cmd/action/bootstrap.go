package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

func (s *step) bootstrap(ctx context.Context) error {
	ctx, cancel := s.window.Interruptible(ctx)
	defer cancel()
	if s.in.Dismantle {
		return s.dismantle(ctx)
	}
	b, err := s.engine.Bootstrap(ctx, engine.BootstrapOptions{
		Force: s.in.Force, NoAssets: !s.in.Assets, AssetBucket: s.in.AssetBucket, ContainerRepo: s.in.ContainerRepo,
	})
	if err != nil {
		return s.refuse(err)
	}
	made := b.State
	if made.Notice != "" {
		s.surface.Notice(ci.Annotation{Title: "State bucket", Message: made.Notice})
	}
	done := "is there, and was left as it is"
	switch {
	case made.Created:
		done = "was made"
	case made.Configured:
		done = "was there; its settings were put"
	}
	text := fmt.Sprintf("state bucket %s in %s %s", made.Bucket, made.Region, done)
	if b.Assets != nil {
		text += "\n" + storageText(*b.Assets)
	}
	return s.show(value.NewObject("bucket", made.Bucket, "region", made.Region, "created", made.Created, "configured", made.Configured,
		"assetStorage", storageJSON(b.Assets)), text)
}

func (s *step) dismantle(ctx context.Context) error {
	opt := engine.DismantleOptions{Force: s.in.Force, StateBucket: s.in.IncludeStateBucket, SharedByNone: s.in.NoOtherStateBucket}
	if !s.in.Yes {
		opt.Consent = func(d engine.Dismantled) bool {
			s.surface.Print(dismantledText(d, "to delete"))
			return s.surface.Confirm(ctx, "Delete this, with everything in it?", false)
		}
	}
	d, err := s.engine.Dismantle(ctx, opt)
	if err != nil {
		return s.refuse(err)
	}
	if d.Declined {
		s.surface.Print("declined: nothing was done")
		s.done(false)
		return nil
	}
	s.done(d.Assets != nil || d.StateBucket != "")
	var bucket any
	if d.StateBucket != "" {
		bucket = d.StateBucket
	}
	return s.show(value.NewObject("assetStorage", storageJSON(d.Assets), "sharedBy", texts(d.SharedBy), "stateBucket", bucket), dismantledText(d, "deleted"))
}

func dismantledText(d engine.Dismantled, done string) string {
	text := ""
	switch {
	case d.SharedBy != nil:
		text += storageText(*d.Assets) + ": left to state bucket " + report.Line(strings.Join(d.SharedBy, ", ")) + "; what names it here: " + done + "\n"
	case d.Assets != nil:
		text += storageText(*d.Assets) + ": " + done + "\n"
	}
	if d.StateBucket != "" {
		text += "state bucket " + report.Line(d.StateBucket) + ": " + done + "\n"
	}
	if text == "" {
		return "the region has no asset storage of its own"
	}
	return text
}

func storageText(a state.AssetStorage) string {
	return fmt.Sprintf("assets in %s: bucket %s, repository %s", report.Line(a.Region), report.Line(a.AssetBucket), report.Line(a.ContainerRepo))
}

func storageJSON(a *state.AssetStorage) any {
	if a == nil {
		return nil
	}
	return value.NewObject("region", a.Region, "assetBucket", a.AssetBucket, "containerRepo", a.ContainerRepo)
}
