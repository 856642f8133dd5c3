package assembly

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/template"
)

// Read reads the assembly in a folder. What is wrong with it comes together, as
// *Faults.
func Read(dir string) (*Assembly, error) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, &Faults{Dir: dir, List: []Fault{{Text: "there is no such folder", Err: err}}}
	}
	r := reader{
		a:         &Assembly{Dir: dir},
		faults:    &Faults{Dir: dir},
		templates: map[string]*template.Template{},
	}
	r.assembly(dir, nil)
	if r.a.Version != "" {
		r.identify()
		r.dependencies()
		for _, s := range r.a.Stacks {
			s.Nested = r.nested(s.Template, s, s.String(), []string{s.TemplateFile})
		}
	}
	if len(r.faults.List) > 0 {
		return nil, r.faults
	}
	return r.a, nil
}

type reader struct {
	a         *Assembly
	faults    *Faults
	templates map[string]*template.Template // by file; nil for one that is not valid
	folders   []*folder
}

// A folder is one assembly: the outermost, or a nested one.
type folder struct {
	dir       string
	parent    *folder
	artifacts map[string]entry
	order     []string
}

// An entry is what an artifact turned out to be.
type entry struct {
	artifact
	stack  *Stack
	nested *folder
}

func (r *reader) fault(file string, err error) {
	if rel, relErr := filepath.Rel(r.a.Dir, file); relErr == nil {
		file = filepath.ToSlash(rel)
	}
	r.faults.List = append(r.faults.List, Fault{File: file, Text: err.Error(), Err: err})
}

func (r *reader) assembly(dir string, parent *folder) *folder {
	file := filepath.Join(dir, ManifestFile)
	body, err := readFile(file)
	if err != nil {
		if parent == nil {
			err = fmt.Errorf("%w; this is not a cloud assembly: give the folder that cdk synth writes, usually cdk.out", err)
		}
		r.fault(file, err)
		return nil
	}
	var m manifest
	if err = decode(body, &m); err == nil {
		err = m.check(file)
	}
	if err != nil {
		r.fault(file, err)
		return nil
	}
	if parent == nil {
		r.a.Version = m.Version
	}
	for _, missing := range m.Missing {
		entry := Missing{missing.Key, missing.Provider, missing.Props}
		if !slices.ContainsFunc(r.a.Missing, func(m Missing) bool { return m.Key == entry.Key }) {
			r.a.Missing = append(r.a.Missing, entry)
		}
	}
	f := &folder{dir: dir, parent: parent, artifacts: map[string]entry{}, order: m.Artifacts.Keys()}
	r.folders = append(r.folders, f)
	trees := 0
	for _, id := range f.order {
		e := entry{}
		if err := member(m.Artifacts.Object, id, &e.artifact); err != nil {
			r.fault(file, fmt.Errorf("artifact %s: %w", id, err))
			continue
		}
		switch e.Type {
		case stackArtifact:
			e.stack = r.stack(f, id, e.artifact)
		case assemblyArtifact:
			path, err := inside(r.a.Dir, dir, e.Properties.DirectoryName)
			if err != nil {
				r.fault(file, fmt.Errorf("artifact %s: directoryName: %w", id, err))
				break
			}
			if slices.ContainsFunc(r.folders, func(f *folder) bool { return f.dir == path }) {
				r.fault(file, fmt.Errorf("artifact %s: folder %s is in the assembly already", id, e.Properties.DirectoryName))
				break
			}
			e.nested = r.assembly(path, f)
		case treeArtifact:
			if trees++; trees == 2 {
				r.fault(file, errors.New("there is more than one construct tree"))
			}
		}
		f.artifacts[id] = e
	}
	return f
}

var environment = regexp.MustCompile(`^aws://([^/]+)/([^/]+)$`)

func (r *reader) stack(f *folder, id string, a artifact) *Stack {
	manifest := filepath.Join(f.dir, ManifestFile)
	s := &Stack{
		ArtifactID: id, Name: a.Properties.StackName, DisplayName: a.DisplayName, Dir: f.dir,
		TerminationProtection: a.Properties.TerminationProtection,
		Tags:                  a.Properties.Tags,
		Messages:              a.Metadata.messages(),
		parameterAssets:       a.Metadata.assets(),
		sources:               a.Metadata.sources(),
	}
	if s.Name == "" {
		s.Name = id
	}
	if s.DisplayName == "" {
		s.DisplayName = s.Name
	}
	r.a.Stacks = append(r.a.Stacks, s)
	if a.Environment != "" {
		m := environment.FindStringSubmatch(a.Environment)
		if m == nil {
			r.fault(manifest, fmt.Errorf("stack %s: environment %q is not of the form aws://account/region", s, a.Environment))
		} else {
			if m[1] != "unknown-account" {
				s.AccountID = m[1]
			}
			if m[2] != "unknown-region" {
				s.Region = strings.ToLower(m[2]) // as it is in keys
			}
		}
	}
	if a.MetadataFile != "" {
		r.metadata(f, s, a.MetadataFile)
	}
	if a.Properties.TemplateFile == "" {
		r.fault(manifest, fmt.Errorf("stack %s names no templateFile", s))
		return s
	}
	file, err := inside(r.a.Dir, f.dir, a.Properties.TemplateFile)
	if err != nil {
		r.fault(manifest, fmt.Errorf("stack %s: templateFile: %w", s, err))
		return s
	}
	s.TemplateFile = file
	s.Template = r.template(file, s.String(), a.Properties.TemplateFile)
	return s
}

func (r *reader) metadata(f *folder, s *Stack, path string) {
	manifest := filepath.Join(f.dir, ManifestFile)
	file, err := inside(r.a.Dir, f.dir, path)
	if err != nil {
		r.fault(manifest, fmt.Errorf("stack %s: additionalMetadataFile: %w", s, err))
		return
	}
	body, err := readFile(file)
	var more metadata
	if err == nil {
		err = decode(body, &more)
	}
	if err != nil {
		r.fault(file, fmt.Errorf("metadata of stack %s: %w", s, err))
		return
	}
	s.Messages = append(s.Messages, more.messages()...)
	maps.Copy(s.sources, more.sources())
}

// template reads a file once, however many stacks are made from it.
func (r *reader) template(file, stack, name string) *template.Template {
	if t, ok := r.templates[file]; ok {
		return t
	}
	body, err := readFile(file)
	if err != nil {
		r.fault(file, fmt.Errorf("template of stack %s: %w", stack, err))
		r.templates[file] = nil
		return nil
	}
	t, err := template.Parse(name, body)
	if err != nil {
		r.fault(file, fmt.Errorf("stack %s: %w", stack, err))
		t = nil
	}
	r.templates[file] = t
	return t
}

// identify gives the stacks their IDs, and refuses two of one name that are in the
// same place or may be: by name, region and account a stack's record goes, and its
// lock.
func (r *reader) identify() {
	named, ids := map[string][]*Stack{}, map[string]*Stack{}
	for _, s := range r.a.Stacks {
		for _, other := range named[s.Name] {
			if !may(s.Region, other.Region) || !may(s.AccountID, other.AccountID) {
				continue
			}
			err := fmt.Errorf("two stacks are named %s: artifacts %s and %s", s.Name, other.ArtifactID, s.ArtifactID)
			if s.Region != other.Region || s.AccountID != other.AccountID {
				err = fmt.Errorf("%w, of which one may go to any place, and so to that of the other: give both an env, or another stackName", err)
			} else {
				err = fmt.Errorf("%w, and in one region of an account there is one of a name: give one another stackName, or another env", err)
			}
			r.fault(filepath.Join(s.Dir, ManifestFile), err)
		}
		named[s.Name] = append(named[s.Name], s)
	}
	for _, s := range r.a.Stacks {
		s.ID = s.Name
		if len(named[s.Name]) > 1 {
			if s.ID = s.DisplayName; s.ID == s.Name {
				s.ID = s.ArtifactID
			}
		}
		if other := ids[s.ID]; other != nil && other.Name != s.Name {
			r.fault(filepath.Join(s.Dir, ManifestFile), fmt.Errorf("stack %s and stack %s cannot be told apart by %s: give one another construct id or stackName", other, s, s.ID))
		}
		ids[s.ID] = s
	}
}
