package assembly

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// ManifestFile is the name of the file that makes a folder an assembly.
const ManifestFile = "manifest.json"

type manifest struct {
	Version   string  `json:"version"`
	Artifacts ordered `json:"artifacts"`
	Missing   []struct {
		Key      string        `json:"key"`
		Provider string        `json:"provider"`
		Props    *value.Object `json:"props"`
	} `json:"missing"`
}

// ordered are the artifacts, whose order counts.
type ordered struct{ *value.Object }

func (o *ordered) UnmarshalJSON(b []byte) (err error) {
	if o.Object, err = value.ParseObject(b); err != nil {
		return fmt.Errorf("artifacts: %w", err)
	}
	return nil
}

type artifact struct {
	Type         string             `json:"type"`
	Environment  string             `json:"environment"`
	DisplayName  string             `json:"displayName"`
	Dependencies []string           `json:"dependencies"`
	Metadata     metadata           `json:"metadata"`
	MetadataFile string             `json:"additionalMetadataFile"`
	Properties   artifactProperties `json:"properties"`
}

type artifactProperties struct {
	StackName             string            `json:"stackName"`
	TemplateFile          string            `json:"templateFile"`
	TerminationProtection bool              `json:"terminationProtection"`
	Tags                  map[string]string `json:"tags"`
	DirectoryName         string            `json:"directoryName"` // of a nested assembly
	File                  string            `json:"file"`          // of an asset manifest
}

const (
	stackArtifact    = "aws:cloudformation:stack"
	assemblyArtifact = "cdk:cloud-assembly"
	assetsArtifact   = "cdk:asset-manifest"
	treeArtifact     = "cdk:tree"
)

// VersionError says that the manifest is newer than what is known here.
type VersionError struct{ File, Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has version %s of the cloud assembly, and only versions up to %d are known; update the action, or use an older aws-cdk-lib", e.File, e.Version, SchemaVersion)
}

var majorVersion = regexp.MustCompile(`^(\d+)\.\d+\.\d+`)

func (m *manifest) check(file string) error {
	if m.Version == "" {
		return errors.New("there is no version, so this is not the manifest of a cloud assembly")
	}
	match := majorVersion.FindStringSubmatch(m.Version)
	if match == nil {
		return fmt.Errorf("version %q is not of the form 1.2.3", m.Version)
	}
	if major, err := strconv.Atoi(match[1]); err != nil || major > SchemaVersion {
		return &VersionError{file, m.Version}
	}
	return nil
}

// readFile reads a file of the assembly that has to be there.
func readFile(file string) ([]byte, error) {
	body, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no such file")
	case err != nil:
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err // the file is named by who reports this
		}
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	return body, nil
}

// decode reads JSON and says in words what is wrong with it.
func decode(body []byte, into any) error {
	if _, err := value.Parse(body); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	err := json.Unmarshal(body, into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		where := ""
		if wrong.Field != "" { // "": the whole of it
			where = wrong.Field + ": "
		}
		return fmt.Errorf("%swant %s, got %s", where, shape(wrong.Type.String()), wrong.Value)
	}
	return err
}

func shape(goType string) string {
	switch {
	case goType == "string":
		return "a string"
	case goType == "bool":
		return "true or false"
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	}
	return "an object"
}

// inside joins a path of the assembly to the folder it is relative to. What
// would lead out of root is refused, by an absolute path, by .. or by a link.
func inside(root, dir, path string) (string, error) {
	windows := len(path) > 1 && path[1] == ':' || strings.HasPrefix(path, `\`)
	if path == "" || filepath.IsAbs(path) || windows {
		return "", fmt.Errorf("%q is not a relative path", path)
	}
	file := filepath.Join(dir, filepath.FromSlash(path))
	if !Within(root, file) {
		return "", fmt.Errorf("%q leads out of the assembly", path)
	}
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return file, nil // whoever opens the file says what is wrong
	}
	if real, err := filepath.EvalSymlinks(file); err == nil && !Within(realRoot, real) {
		return "", fmt.Errorf("%q is a link that leads out of the assembly", path)
	}
	return file, nil
}

// Within tells whether a file is below the folder root, by their paths alone.
func Within(root, file string) bool {
	rel, err := filepath.Rel(root, file)
	return err == nil && filepath.IsLocal(rel)
}
