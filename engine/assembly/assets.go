package assembly

import (
	"fmt"

	"github.com/org/cdkd-action/engine/value"
)

// An AssetManifest lists what one stack needs published. Its sources need not
// be there, and their paths are only checked, when they are published: a plan
// does not touch them.
type AssetManifest struct {
	File   string // with its folder
	Dir    string // what sources are relative to
	Root   string // what no source may lead out of
	Files  []FileAsset
	Images []ImageAsset
}

// A FileAsset is a file, or a folder to be zipped.
type FileAsset struct {
	ID, DisplayName string
	Path            string   // source, relative to the manifest's folder
	Packaging       string   // "file" or "zip"
	Executable      []string // makes the file, in place of Path
	Destinations    []FileDestination
}

// A FileDestination is where a file has to be. It may hold placeholders.
type FileDestination struct {
	ID, Bucket, Key, Region string
	Owned                   bool // the bucket is known to be the account's own
}

// An ImageAsset is a container image to be built.
type ImageAsset struct {
	ID, DisplayName string
	Source          *value.Object // as written
	Destinations    []ImageDestination
}

// An ImageDestination is where an image has to be. It may hold placeholders.
type ImageDestination struct {
	ID, Repository, Tag, Region string
}

type assetFile struct {
	Version string        `json:"version"`
	Files   *value.Object `json:"files"`
	Images  *value.Object `json:"dockerImages"`
}

func readAssets(root, dir, file string) (*AssetManifest, error) {
	body, err := readFile(file)
	if err != nil {
		return nil, err
	}
	var written assetFile
	if err := decode(body, &written); err != nil {
		return nil, err
	}
	m := &AssetManifest{File: file, Dir: dir, Root: root}
	for id := range written.Files.All() {
		var f struct {
			DisplayName string `json:"displayName"`
			Source      struct {
				Path       string   `json:"path"`
				Packaging  string   `json:"packaging"`
				Executable []string `json:"executable"`
			} `json:"source"`
			Destinations *value.Object `json:"destinations"`
		}
		if err := member(written.Files, id, &f); err != nil {
			return nil, fmt.Errorf("files.%s: %w", id, err)
		}
		a := FileAsset{ID: id, DisplayName: f.DisplayName, Path: f.Source.Path, Packaging: f.Source.Packaging, Executable: f.Source.Executable}
		if a.Packaging == "" {
			a.Packaging = "file"
		}
		switch {
		case a.Packaging != "file" && a.Packaging != "zip":
			return nil, fmt.Errorf("files.%s: packaging %q is not known; there are file and zip", id, a.Packaging)
		case len(a.Executable) > 0 && a.Path != "":
			return nil, fmt.Errorf("files.%s: the source has a path and an executable", id)
		case len(a.Executable) == 0 && a.Path == "":
			return nil, fmt.Errorf("files.%s: the source has neither a path nor an executable", id)
		}
		for name := range f.Destinations.All() {
			var d struct {
				Bucket string `json:"bucketName"`
				Key    string `json:"objectKey"`
				Region string `json:"region"`
			}
			if err := member(f.Destinations, name, &d); err != nil {
				return nil, fmt.Errorf("files.%s: destinations.%s: %w", id, name, err)
			}
			if d.Bucket == "" || d.Key == "" {
				return nil, fmt.Errorf("files.%s: destinations.%s needs bucketName and objectKey", id, name)
			}
			a.Destinations = append(a.Destinations, FileDestination{ID: name, Bucket: d.Bucket, Key: d.Key, Region: d.Region})
		}
		m.Files = append(m.Files, a)
	}
	for id := range written.Images.All() {
		var i struct {
			DisplayName  string        `json:"displayName"`
			Source       *value.Object `json:"source"`
			Destinations *value.Object `json:"destinations"`
		}
		if err := member(written.Images, id, &i); err != nil {
			return nil, fmt.Errorf("dockerImages.%s: %w", id, err)
		}
		a := ImageAsset{ID: id, DisplayName: i.DisplayName, Source: i.Source}
		for name := range i.Destinations.All() {
			var d struct {
				Repository string `json:"repositoryName"`
				Tag        string `json:"imageTag"`
				Region     string `json:"region"`
			}
			if err := member(i.Destinations, name, &d); err != nil {
				return nil, fmt.Errorf("dockerImages.%s: destinations.%s: %w", id, name, err)
			}
			if d.Repository == "" || d.Tag == "" {
				return nil, fmt.Errorf("dockerImages.%s: destinations.%s needs repositoryName and imageTag", id, name)
			}
			a.Destinations = append(a.Destinations, ImageDestination{name, d.Repository, d.Tag, d.Region})
		}
		m.Images = append(m.Images, a)
	}
	return m, nil
}

// member decodes one member of an object that was read before.
func member(o *value.Object, name string, into any) error {
	body, err := value.Marshal(o.Value(name))
	if err != nil {
		return err
	}
	return decode(body, into)
}

// Source returns where a source is, by its path in the manifest.
func (m *AssetManifest) Source(path string) (string, error) { return inside(m.Root, m.Dir, path) }
