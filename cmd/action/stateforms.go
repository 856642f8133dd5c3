package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/org/cdkd-action/ci/report"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/amount"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// isoTime is how the JSON forms write a time.
const isoTime = "2006-01-02T15:04:05.000Z"

// chosenBy says in words what named the bucket.
var chosenBy = map[state.Source]string{
	state.FromInput:         "the input state-bucket",
	state.FromEnvironment:   "the variable CDKD_STATE_BUCKET",
	state.FromCDKJSON:       "context.cdkd.stateBucket of cdk.json",
	state.FromDefault:       "the account's default",
	state.FromLegacyDefault: "the account's default of the old form, which state migrate moves to the new one",
}

func overviewText(o *engine.Overview) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	version := "unknown"
	if o.Version > 0 {
		version = fmt.Sprint(o.Version)
	}
	fmt.Fprintf(w, "bucket\t%s\n", report.Line(o.Bucket))
	fmt.Fprintf(w, "region\t%s\n", cmp.Or(report.Line(o.Region), "unknown"))
	fmt.Fprintf(w, "chosen by\t%s\n", chosenBy[o.Source])
	fmt.Fprintf(w, "record version\t%s\n", version)
	fmt.Fprintf(w, "stacks\t%d\n", o.Stacks)
	for _, a := range o.Assets {
		fmt.Fprintf(w, "assets in %s\t%s, %s\n", report.Line(a.Region), report.Line(a.AssetBucket), report.Line(a.ContainerRepo))
	}
	w.Flush() // into memory
	return b.String()
}

func overviewJSON(o *engine.Overview) *value.Object {
	var region, version any = nil, "unknown"
	how := "unknown"
	if o.Region != "" {
		region, how = o.Region, "auto-detected"
	}
	if o.Version > 0 {
		version = value.Int(o.Version)
	}
	assets := []any{}
	for _, a := range o.Assets {
		assets = append(assets, value.NewObject("region", a.Region, "assetBucket", a.AssetBucket, "containerRepo", a.ContainerRepo))
	}
	return value.NewObject("bucket", o.Bucket, "region", region, "regionSource", how, "bucketSource", string(o.Source),
		"schemaVersion", version, "stackCount", value.Int(o.Stacks), "assetStorage", assets)
}

func surveyText(all []state.Surveyed, now time.Time) string {
	var b strings.Builder
	for _, f := range all {
		b.WriteString(refText(f.Ref) + "\n")
		if r := f.Record; r != nil {
			fmt.Fprintf(&b, "  %s, saved %s\n", amount.Of(len(r.Resources), "resource"), time.UnixMilli(r.LastModified).UTC().Format(time.RFC3339))
		} else {
			b.WriteString("  the record cannot be read\n")
		}
		b.WriteString("  " + lockText(f.Lock, now) + "\n")
	}
	return b.String()
}

func surveyJSON(all []state.Surveyed, now time.Time) []any {
	list := []any{}
	for _, f := range all {
		var count, saved any = value.Int(0), nil
		if r := f.Record; r != nil {
			count = value.Int(len(r.Resources))
			saved = time.UnixMilli(r.LastModified).UTC().Format(isoTime)
		}
		list = append(list, value.NewObject("stackName", f.Stack, "region", regionJSON(f.Ref),
			"resourceCount", count, "lastModified", saved, "locked", f.Lock != nil && !f.Lock.Expired(now)))
	}
	return list
}

// rowsText has three columns and nothing else, for other programs to read.
func rowsText(r *state.Record) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, id := range sortedIDs(r) {
		row := r.Row(id)
		fmt.Fprintf(w, "%s\t%s\t%s\n", report.Line(id), report.Line(row.ResourceType), report.Line(row.PhysicalID))
	}
	w.Flush() // into memory
	return b.String()
}

func rowsLongText(r *state.Record) string {
	var b strings.Builder
	for _, id := range sortedIDs(r) {
		row := r.Row(id)
		fmt.Fprintf(&b, "%s (%s) %s\n", report.Line(id), report.Line(row.ResourceType), report.Line(row.PhysicalID))
		if len(row.Dependencies) > 0 {
			fmt.Fprintf(&b, "  depends on %s\n", report.Line(strings.Join(row.Dependencies, ", ")))
		}
		for name, v := range row.Attributes.All() {
			fmt.Fprintf(&b, "  %s = %s\n", report.Line(name), report.Line(value.JSON(v)))
		}
	}
	return b.String()
}

func rowsJSON(r *state.Record) []any {
	list := []any{}
	for _, id := range sortedIDs(r) {
		row := r.Row(id)
		dependencies := []any{}
		for _, d := range row.Dependencies {
			dependencies = append(dependencies, d)
		}
		attributes := row.Attributes
		if attributes == nil {
			attributes = &value.Object{}
		}
		list = append(list, value.NewObject("logicalId", id, "resourceType", row.ResourceType, "physicalId", row.PhysicalID,
			"dependencies", dependencies, "attributes", attributes))
	}
	return list
}

func sortedIDs(r *state.Record) []string {
	ids := r.LogicalIDs()
	slices.Sort(ids)
	return ids
}

// orphansText says what is done, or is to be done, with stacks and rows.
func orphansText(all []engine.Orphaned, done string) string {
	var b strings.Builder
	for _, o := range all {
		switch n := len(o.Resources); {
		case o.Recorded && n == 0 && len(o.Pending) > 0:
			fmt.Fprintf(&b, "%s: open operations %s\n", refText(o.Ref), done)
		case !o.Recorded:
			fmt.Fprintf(&b, "%s: no record; %s is what was left beside it\n", refText(o.Ref), done)
		case o.Unread:
			fmt.Fprintf(&b, "%s: %s; what the record named could not be read, and is left in AWS\n", refText(o.Ref), done)
		case n == 0:
			fmt.Fprintf(&b, "%s: %s, with no resources\n", refText(o.Ref), done)
		default:
			fmt.Fprintf(&b, "%s: %s, and left in AWS: %s\n", refText(o.Ref), done, report.Line(strings.Join(o.Resources, ", ")))
		}
		for _, text := range o.Pending {
			fmt.Fprintf(&b, "  open: %s\n", report.Line(text))
		}
	}
	return b.String()
}

func orphansJSON(all []engine.Orphaned) []any {
	list := []any{}
	for _, o := range all {
		form := value.NewObject("stackName", o.Stack, "region", regionJSON(o.Ref), "recorded", o.Recorded, "resources", texts(o.Resources))
		if o.Pending != nil {
			form.Set("pending", texts(o.Pending))
		}
		list = append(list, form)
	}
	return list
}

func texts(list []string) []any {
	out := []any{}
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

func unlockSubject(u engine.Unlocked) string {
	return report.Line(u.Stack) + " in " + report.Line(u.Region)
}

func unlockedText(all []engine.Unlocked, now time.Time) string {
	var b strings.Builder
	for _, u := range all {
		switch subject := unlockSubject(u); {
		case u.Err != nil: // it was said elsewhere
		case u.Unknown:
			b.WriteString(subject + ": there is no lock, and nothing is recorded of such a stack in this region: look at the name, the region, the bucket and its prefix\n")
		case !u.There:
			b.WriteString(subject + ": there is no lock\n")
		case u.Holder == nil:
			b.WriteString(subject + ": removed what stood in the lock's place; it could not be read as a lock\n")
		default:
			expired := "was still held"
			if u.Holder.Expired(now) {
				expired = "had expired"
			}
			fmt.Fprintf(&b, "%s: removed the lock of %s (%s), which %s\n", subject, report.Line(u.Holder.Owner), report.Line(u.Holder.Operation), expired)
		}
		if u.Open > 0 {
			fmt.Fprintf(&b, "%s: %s of an earlier run %s open; the next deploy settles what came of %s\n",
				unlockSubject(u), amount.Of(u.Open, "operation"), amount.Form(u.Open, "is", "are"), amount.Form(u.Open, "it", "them"))
		}
	}
	return b.String()
}

func unlockedJSON(all []engine.Unlocked, now time.Time) []any {
	list := []any{}
	for _, u := range all {
		var holder any
		if h := u.Holder; h != nil {
			holder = value.NewObject("owner", h.Owner, "operation", h.Operation, "expiresAt", milliseconds(h.Expires), "expired", h.Expired(now))
		}
		list = append(list, value.NewObject("stackName", u.Stack, "region", u.Region, "removed", u.There && u.Err == nil, "holder", holder, "open", value.Int(u.Open)))
	}
	return list
}

func migratedText(m state.Migrated, dry bool) string {
	copied, made := "copied", "made"
	if dry {
		copied, made = "to copy", "to be made"
	}
	text := fmt.Sprintf("%s to %s: %s, %d %s", report.Line(m.From), report.Line(m.To), amount.Of(m.Objects, "object"), m.Copied, copied)
	if m.Superseded > 0 {
		text += fmt.Sprintf("; %d %s out of date, having changed in the new bucket since %s copied", m.Superseded, amount.Form(m.Superseded, "is", "are"), amount.Form(m.Superseded, "it was", "they were"))
	}
	if m.Created {
		text += "; the new bucket was not there, and is " + made
	}
	if m.Removed {
		text += "; the old bucket is deleted"
	}
	return text
}

func migratedJSON(m state.Migrated, dry bool) *value.Object {
	return value.NewObject("from", m.From, "to", m.To, "dryRun", dry, "objects", value.Int(m.Objects), "copied", value.Int(m.Copied),
		"superseded", value.Int(m.Superseded), "created", m.Created, "removed", m.Removed)
}
