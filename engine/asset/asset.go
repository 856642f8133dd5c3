// Package asset publishes what templates refer to: files and zipped folders in
// the buckets, and container images in the repositories that the app names.
//
// An asset's key has the hash of its content, so what is there already is
// never written again, nor an image built, and the same bytes are made from
// the same input. Each destination is published once a run, and each image
// built once, however many stacks name it.
//
// Images are built and pushed by docker, or by what CDK_DOCKER names. It keeps
// its own logins; ours go to a configuration of their own, which is deleted.
//
// Templates are no assets here: they are read from disk.
package asset

import (
	"context"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/partition"
	"github.com/org/cdkd-action/engine/value"
)

// An Environment is where a stack is deployed.
type Environment struct{ Stack, AccountID, Region string }

// An Asset is what has to be at one destination: a [File] or an [Image].
type Asset interface {
	String() string // names it for messages
	URL() string    // where it has to be

	publish(context.Context, *Publisher) error
	namedIn(properties any) bool
}

// A File is a file or a zipped folder with one of its destinations.
type File struct {
	Stack           string // the first that needs it
	ID, DisplayName string

	Bucket, Key, Region string
	Owned               bool // the bucket has to be the caller's, whatever it is called

	manifest   *assembly.AssetManifest
	path       string
	packaging  string
	executable []string
}

// String names the file for messages.
func (f *File) String() string { return described("asset", f.ID, f.DisplayName, f.Stack) }

func described(kind, id, displayName, stack string) string {
	name := id
	if displayName != "" {
		name = displayName + " (" + id + ")"
	}
	return kind + " " + name + " of stack " + stack
}

// URL is where the file has to be.
func (f *File) URL() string { return "s3://" + f.Bucket + "/" + f.Key }

// All lists what a stack needs published, each destination on its own. m may be
// nil.
func All(m *assembly.AssetManifest, env Environment) ([]Asset, error) {
	if m == nil {
		return nil, nil
	}
	files, err := Files(m, env)
	if err != nil {
		return nil, err
	}
	images, err := Images(m, env)
	if err != nil {
		return nil, err
	}
	var all []Asset
	for _, f := range files {
		all = append(all, f)
	}
	for _, i := range images {
		all = append(all, i)
	}
	return all, nil
}

// Files lists the files that a stack needs published, each destination on its
// own. m may be nil.
func Files(m *assembly.AssetManifest, env Environment) ([]*File, error) {
	if m == nil {
		return nil, nil
	}
	var files []*File
	for _, a := range m.Files {
		if isTemplate(a.Path) {
			continue
		}
		for _, d := range a.Destinations {
			region := fill(d.Region, env.AccountID, env.Region)
			if region == "" {
				region = env.Region
			}
			files = append(files, &File{
				Stack: env.Stack, ID: a.ID, DisplayName: a.DisplayName,
				Bucket:   fill(d.Bucket, env.AccountID, region),
				Key:      fill(d.Key, env.AccountID, region),
				Region:   region,
				Owned:    d.Owned,
				manifest: m, path: a.Path, packaging: a.Packaging, executable: a.Executable,
			})
		}
	}
	return files, nil
}

// fill puts values in the place of the placeholders of a manifest.
func fill(text, account, region string) string {
	return strings.NewReplacer(
		"${AWS::AccountId}", account,
		"${AWS::Region}", region,
		"${AWS::Partition}", partition.Of(region),
	).Replace(text)
}

// Needed returns those of the assets that a resource's properties name, which
// must be there before the resource is made.
func Needed[A Asset](assets []A, properties any) []A {
	return slices.DeleteFunc(slices.Clone(assets), func(a A) bool { return !a.namedIn(properties) })
}

func (f *File) namedIn(properties any) bool {
	return mentions(properties, f.Key) || mentions(properties, f.ID)
}

func mentions(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, text)
	case []any:
		return slices.ContainsFunc(v, func(member any) bool { return mentions(member, text) })
	case *value.Object:
		for _, member := range v.All() {
			if mentions(member, text) {
				return true
			}
		}
	}
	return false
}
