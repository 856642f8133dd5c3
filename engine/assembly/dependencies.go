package assembly

import (
	"fmt"
	"path/filepath"
	"slices"
)

// dependencies resolves what artifacts depend on, over the whole assembly: an
// asset manifest, other stacks, or all stacks of a nested assembly.
func (r *reader) dependencies() {
	for _, f := range r.folders {
		manifest := filepath.Join(f.dir, ManifestFile)
		for _, id := range f.order {
			e, ok := f.artifacts[id]
			if !ok {
				continue
			}
			for _, name := range e.Dependencies {
				target, at, err := r.find(f, name)
				if err != nil {
					r.fault(manifest, fmt.Errorf("artifact %s depends on %s: %w", id, name, err))
					continue
				}
				if e.stack == nil {
					continue
				}
				if target.Type == assetsArtifact && at == f && e.stack.Assets == nil {
					r.assets(f, e.stack, name, target)
				}
				for _, s := range target.stacks() {
					if s != e.stack && !slices.Contains(e.stack.DependsOn, s.ID) {
						e.stack.DependsOn = append(e.stack.DependsOn, s.ID)
					}
				}
			}
		}
	}
}

// find looks an artifact up: in the folder itself, then in those around it,
// then anywhere.
func (r *reader) find(f *folder, id string) (entry, *folder, error) {
	for at := f; at != nil; at = at.parent {
		if e, ok := at.artifacts[id]; ok {
			return e, at, nil
		}
	}
	var found entry
	var in *folder
	for _, at := range r.folders {
		if e, ok := at.artifacts[id]; ok {
			if in != nil {
				return found, nil, fmt.Errorf("there are several artifacts of this name")
			}
			found, in = e, at
		}
	}
	if in == nil {
		return found, nil, fmt.Errorf("there is no such artifact in the assembly")
	}
	return found, in, nil
}

// stacks are those that an artifact stands for.
func (e entry) stacks() []*Stack {
	if e.stack != nil {
		return []*Stack{e.stack}
	}
	var all []*Stack
	if e.nested != nil {
		for _, id := range e.nested.order {
			all = append(all, e.nested.artifacts[id].stacks()...)
		}
	}
	return all
}

func (r *reader) assets(f *folder, s *Stack, id string, e entry) {
	file, err := inside(r.a.Dir, f.dir, e.Properties.File)
	if err != nil {
		r.fault(filepath.Join(f.dir, ManifestFile), fmt.Errorf("artifact %s: file: %w", id, err))
		return
	}
	if s.Assets, err = readAssets(r.a.Dir, f.dir, file); err != nil {
		r.fault(file, fmt.Errorf("assets of stack %s: %w", s, err))
	}
}
