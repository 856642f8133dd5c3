package asset

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/partition"
	"github.com/org/cdkd-action/engine/value"
)

// A Storage is a region's asset storage that is cdkd's own.
type Storage struct{ Bucket, Repository string }

// A Redirection puts asset storage of cdkd's own in the place of the one that
// `cdk bootstrap` made: in the asset manifest of a stack, and wherever the
// templates of the stack and of those nested in it name it.
//
// Only names in the form that the CDK gives are replaced, and only those of the
// stack's account and region. Keys and tags stay what they are.
type Redirection struct {
	env   Environment
	names []redirected // longest first
}

// A redirected name is one way to write the name of a bucket or a repository.
type redirected struct {
	from       string
	repository bool
}

// Redirect returns the redirection of a stack's assets, nil when there is none
// to redirect. m may be nil.
func Redirect(m *assembly.AssetManifest, env Environment) *Redirection {
	if m == nil {
		return nil
	}
	r := &Redirection{env: env}
	for _, f := range m.Files {
		if isTemplate(f.Path) {
			continue
		}
		for _, d := range f.Destinations {
			r.consider(d.Bucket, d.Region, false)
		}
	}
	for _, i := range m.Images {
		for _, d := range i.Destinations {
			r.consider(d.Repository, d.Region, true)
		}
	}
	if r.names == nil {
		return nil
	}
	slices.SortStableFunc(r.names, func(a, b redirected) int { return cmp.Compare(len(b.from), len(a.from)) })
	return r
}

// consider takes the name of a destination up, in all ways in which a template
// may write it.
func (r *Redirection) consider(name, region string, repository bool) {
	flat, ok := r.ours(name, region, repository)
	if !ok {
		return
	}
	stem := strings.TrimSuffix(flat, r.env.AccountID+"-"+r.env.Region)
	for _, form := range []string{flat, name,
		stem + "${AWS::AccountId}-${AWS::Region}",
		stem + "${AWS::AccountId}-" + r.env.Region,
		stem + r.env.AccountID + "-${AWS::Region}",
	} {
		if n := (redirected{form, repository}); !slices.Contains(r.names, n) {
			r.names = append(r.names, n)
		}
	}
}

// ours tells whether a destination is one of the CDK's bootstrap in the stack's
// account and region, and its name without placeholders.
func (r *Redirection) ours(name, region string, repository bool) (flat string, ok bool) {
	kind := "assets"
	if repository {
		kind = "container-assets"
	}
	if region != "" && fill(region, r.env.AccountID, r.env.Region) != r.env.Region {
		return "", false
	}
	flat = fill(name, r.env.AccountID, r.env.Region)
	ok, _ = regexp.MatchString(fmt.Sprintf("^cdk-[a-z0-9]+-%s-%s-%s$", kind, r.env.AccountID, r.env.Region), flat)
	return flat, ok
}

func (s Storage) name(repository bool) string {
	if repository {
		return s.Repository
	}
	return s.Bucket
}

// Manifest returns the manifest with its destinations in the other storage.
func (r *Redirection) Manifest(m *assembly.AssetManifest, to Storage) *assembly.AssetManifest {
	next := *m
	next.Files, next.Images = slices.Clone(m.Files), slices.Clone(m.Images)
	for i := range next.Files {
		f := &next.Files[i]
		f.Destinations = slices.Clone(f.Destinations)
		for j := range f.Destinations {
			if d := &f.Destinations[j]; !isTemplate(f.Path) {
				if _, ok := r.ours(d.Bucket, d.Region, false); ok {
					d.Bucket, d.Owned = to.Bucket, true
				}
			}
		}
	}
	for i := range next.Images {
		image := &next.Images[i]
		image.Destinations = slices.Clone(image.Destinations)
		for j := range image.Destinations {
			d := &image.Destinations[j]
			if _, ok := r.ours(d.Repository, d.Region, true); ok {
				d.Repository = to.Repository
			}
		}
	}
	return &next
}

// Value returns v with the names of the other storage, and whether that differs.
// What does not differ is not copied.
func (r *Redirection) Value(v any, to Storage) (any, bool) {
	switch v := v.(type) {
	case string:
		text := r.text(v, to)
		return text, text != v
	case []any:
		next := slices.Clone(v)
		changed := false
		for i, member := range v {
			m, other := r.Value(member, to)
			next[i] = m
			changed = changed || other
		}
		if changed {
			return next, true
		}
	case *value.Object:
		if function, arg, ok := v.Sole(); ok && function == "Fn::Join" {
			if joined, ok := r.join(arg, to); ok {
				return value.NewObject(function, joined), true
			}
		}
		next := &value.Object{}
		changed := false
		for name, member := range v.All() {
			m, other := r.Value(member, to)
			next.Set(name, m)
			changed = changed || other
		}
		if changed {
			return next, true
		}
	}
	return v, false
}

// join replaces names that stand in several parts of the arguments of Fn::Join.
func (r *Redirection) join(arg any, to Storage) (any, bool) {
	args, _ := arg.([]any)
	if len(args) != 2 {
		return nil, false
	}
	delimiter, ok := args[0].(string)
	parts, isList := args[1].([]any)
	if !ok || !isList {
		return nil, false
	}
	var next []any
	changed := false
	for i := 0; i < len(parts); {
		var run []string
		for _, part := range parts[i:] {
			text, ok := r.literal(part)
			if !ok {
				break
			}
			run = append(run, text)
		}
		folded := strings.Join(run, delimiter)
		if text := r.text(folded, to); len(run) > 1 && text != folded {
			next, changed = append(next, text), true
			i += len(run)
			continue
		}
		for _, part := range parts[i : i+max(len(run), 1)] {
			m, other := r.Value(part, to)
			next, changed = append(next, m), changed || other
		}
		i += max(len(run), 1)
	}
	return []any{delimiter, next}, changed
}

// literal is the text of what is known of a template without deploying it.
func (r *Redirection) literal(part any) (string, bool) {
	switch part := part.(type) {
	case string:
		return part, true
	case *value.Object:
		if function, name, ok := part.Sole(); ok && function == "Ref" {
			switch name {
			case "AWS::AccountId":
				return r.env.AccountID, true
			case "AWS::Region":
				return r.env.Region, true
			case "AWS::Partition":
				return partition.Of(r.env.Region), true
			case "AWS::URLSuffix":
				return partition.URLSuffix(r.env.Region), true
			}
		}
	}
	return "", false
}

func (r *Redirection) text(s string, to Storage) string {
	if !strings.Contains(s, "cdk-") {
		return s
	}
	for _, n := range r.names {
		var b strings.Builder
		rest := s
		for at := find(rest, n.from, b.String()); at >= 0; at = find(rest, n.from, b.String()) {
			b.WriteString(rest[:at])
			b.WriteString(to.name(n.repository))
			rest = rest[at+len(n.from):]
		}
		s = b.String() + rest
	}
	return s
}

// find returns where name stands in s, not as a part of a longer name, or -1;
// before is the text that s follows.
func find(s, name, before string) int {
	for from := 0; ; {
		at := strings.Index(s[from:], name)
		if at < 0 {
			return -1
		}
		at += from
		left, right := before+s[:at], s[at+len(name):]
		if (left == "" || !partOfName(left[len(left)-1]) && left[len(left)-1] != '.') && (right == "" || !partOfName(right[0])) {
			return at
		}
		from = at + 1
	}
}

func partOfName(c byte) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// A MissedError says that a resource still names the storage whose assets were
// published elsewhere.
type MissedError struct{ Path, Name string }

func (e *MissedError) Error() string {
	return fmt.Sprintf("%s names %s, but the assets are published to the region's own asset storage, not there", e.Path, e.Name)
}

// Remedy says what to do about it.
func (e *MissedError) Remedy() string {
	return "write the name in the template as the CDK does, or set use-cdk-bootstrap-assets to true, which leaves assets where the app puts them"
}

// Missed looks for a name that was to be replaced in properties whose values are
// known: it may have come through a parameter.
func (r *Redirection) Missed(v any) error {
	if r == nil {
		return nil
	}
	return r.missed(v, "")
}

func (r *Redirection) missed(v any, path string) error {
	switch v := v.(type) {
	case string:
		for _, n := range r.names {
			if find(v, n.from, "") >= 0 {
				return &MissedError{path, n.from}
			}
		}
	case []any:
		for i, member := range v {
			if err := r.missed(member, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case *value.Object:
		for name, member := range v.All() {
			if err := r.missed(member, strings.TrimPrefix(path+"."+name, ".")); err != nil {
				return err
			}
		}
	}
	return nil
}

// isTemplate tells whether a file asset is a template, which is read from the
// assembly and never published.
func isTemplate(path string) bool { return strings.HasSuffix(path, ".template.json") }
