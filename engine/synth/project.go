package synth

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// A Project is what the files of a CDK app say about it.
type Project struct {
	Dir    string
	App    string // "" when they do not say
	Output string // as written; "" when they do not say
	// Settings are context.cdkd of cdk.json, for this program.
	Settings *value.Object
	// Context is that of ~/.cdk.json and, over it, that of cdk.json.
	Context *value.Object
	// Warnings name files and settings that are not used, and say why.
	Warnings []string
}

// ReadProject reads cdk.json in dir, and .cdk.json in home unless that is "".
// A file that is not there counts as empty; so does one that cannot be read,
// with a warning.
func ReadProject(dir, home string) *Project {
	p := &Project{Dir: dir}
	read := func(file string) *value.Object {
		o, err := readObject(file)
		if err != nil {
			p.Warnings = append(p.Warnings, fmt.Sprintf("%v; it is not used", err))
		}
		return o
	}
	var user *value.Object
	if home != "" {
		user = read(filepath.Join(home, ".cdk.json"))
	}
	own := read(filepath.Join(dir, "cdk.json"))
	p.App, p.Output = own.String("app"), own.String("output")
	p.Settings = own.Object("context").Object("cdkd")
	if p.Settings.Value("prefixUserSuppliedNames") == true {
		p.Warnings = append(p.Warnings, filepath.Join(dir, "cdk.json")+": context.cdkd.prefixUserSuppliedNames is not used: "+
			"names that the app declares are taken as they are; declare those of resources that were made with it as they are in AWS")
	}
	p.Context = merge(user.Object("context"), own.Object("context"))
	return p
}

// An App is what there is to deploy from. One of the two is set.
type App struct {
	Command  string // makes an assembly
	Assembly string // is one already
}

// Resolve finds the app: what the caller was told by an input, else by the
// environment, else what cdk.json says. The name of a folder means that the
// assembly is there already. Nothing of it gives a *NoAppError.
func (p *Project) Resolve(input, environment string) (App, error) {
	for _, app := range []string{input, environment, p.App} {
		if app = strings.TrimSpace(app); app == "" {
			continue
		}
		folder := app
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(p.Dir, folder)
		}
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return App{Assembly: folder}, nil
		}
		return App{Command: app}, nil
	}
	return App{}, &NoAppError{Dir: p.Dir}
}

// OutputFolder is where the app's assembly belongs: where an input says, else
// cdk.json, else cdk.out. It is absolute.
func (p *Project) OutputFolder(input string) (string, error) {
	folder := cmp.Or(input, p.Output, "cdk.out")
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(p.Dir, folder)
	}
	return filepath.Abs(folder)
}

// A ContextEntryError is an entry that is not key=value.
type ContextEntryError struct{ Entry string }

func (e *ContextEntryError) Error() string {
	return fmt.Sprintf("context: %q is not key=value", e.Entry)
}

// Remedy says what to do about it.
func (e *ContextEntryError) Remedy() string { return "write each value as key=value, one a line" }

// ParseContext reads key=value entries. Values stay texts, also those that look
// like something else. An entry without a key is passed over, as by the CDK.
func ParseContext(entries []string) (*value.Object, error) {
	o := value.NewObject()
	for _, entry := range entries {
		name, v, ok := strings.Cut(entry, "=")
		if !ok {
			return nil, &ContextEntryError{entry}
		}
		if name != "" {
			o.Set(name, v)
		}
	}
	return o, nil
}

func defaults() *value.Object {
	return value.NewObject(
		"aws:cdk:enable-path-metadata", true,
		"aws:cdk:enable-asset-metadata", true,
		"aws:cdk:version-reporting", true,
		"aws:cdk:bundling-stacks", []any{"**"},
	)
}

// merge lays objects over each other, the last on top.
func merge(all ...*value.Object) *value.Object {
	merged := value.NewObject()
	for _, o := range all {
		for name, v := range o.All() {
			merged.Set(name, v)
		}
	}
	return merged
}

// readObject reads a JSON file, nil when there is none.
func readObject(file string) (*value.Object, error) {
	body, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o, err := value.ParseObject(body)
	if err != nil {
		return nil, fmt.Errorf("%s is not a JSON object: %w", file, err)
	}
	return o, nil
}
