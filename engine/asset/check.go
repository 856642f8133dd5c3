package asset

import (
	"fmt"
	"os"
	"strings"

	"github.com/org/cdkd-action/engine/assembly"
)

// A SourcesError lists assets that cannot be published, because what they are
// made of is not in the assembly. It comes before anything is touched.
type SourcesError struct{ Faults []error }

func (e *SourcesError) Error() string {
	var b strings.Builder
	b.WriteString("assets that cannot be published; nothing was changed:")
	for _, f := range e.Faults {
		b.WriteString("\n  " + f.Error())
	}
	return b.String()
}

func (e *SourcesError) Unwrap() []error { return e.Faults }

// Remedy says what to do about it.
func (e *SourcesError) Remedy() string {
	return "synthesize the app again and hand its whole cloud assembly on, with the asset folders; skip-assets deploys what is published already"
}

// Check finds the assets of a stack whose source is not in the assembly. What
// a command makes is only there when it ran.
func Check(m *assembly.AssetManifest, stack string) (faults []error) {
	for _, f := range m.Files {
		if len(f.Executable) > 0 || isTemplate(f.Path) {
			continue
		}
		if err := there(m, f.Path, f.Packaging == "zip"); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", described("asset", f.ID, f.DisplayName, stack), err))
		}
	}
	for _, i := range m.Images {
		directory := i.Source.String("directory")
		if directory == "" {
			continue
		}
		if err := there(m, directory, true); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", described("image", i.ID, i.DisplayName, stack), err))
		}
	}
	return faults
}

func there(m *assembly.AssetManifest, path string, folder bool) error {
	file, err := m.Source(path)
	if err != nil {
		return fmt.Errorf("its source %w", err)
	}
	info, err := os.Stat(file)
	switch {
	case os.IsNotExist(err):
		return fmt.Errorf("its source %s is not there", path)
	case err != nil:
		return fmt.Errorf("its source %s: %w", path, err)
	case info.IsDir() && !folder:
		return fmt.Errorf("its source %s is a folder, but the asset is to be a file", path)
	}
	return nil
}
