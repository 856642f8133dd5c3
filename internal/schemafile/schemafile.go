// Package schemafile is the form in which resource schemas are embedded: what
// schemagen writes and engine/schema reads.
//
// The file is a zip archive with one member a service ("AWS.SQS"), so that a
// reader finds and inflates only the services it needs. A member is a JSON
// object of the service's types by the last part of their names; a reader may
// leave those it does not need undecoded.
//
// Member names are one or two letters: they are repeated some fifty thousand
// times, and what is not there is neither compressed nor parsed.
//
// Registry reads a schema as CloudFormation publishes it, for types that are
// younger than the archive.
package schemafile

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A Type is one resource type. Paths are property names joined by "/", with
// "*" for the elements of a list or map.
type Type struct {
	Properties map[string]*Shape `json:"p,omitempty"`
	Shapes     map[string]*Shape `json:"d,omitempty"` // shared ones, which Shape.Use names

	Required              []string `json:"q,omitempty"`
	PrimaryIdentifier     []string `json:"i,omitempty"`
	Ref                   []string `json:"r,omitempty"` // when Ref gives something else
	CreateOnly            []string `json:"c,omitempty"`
	ConditionalCreateOnly []string `json:"cc,omitempty"`
	ReadOnly              []string `json:"ro,omitempty"`
	WriteOnly             []string `json:"wo,omitempty"`
	Attributes            []string `json:"a,omitempty"` // beside the read-only properties
	TagProperty           string   `json:"t,omitempty"`
	DeleteFirst           bool     `json:"df,omitempty"`
	NotProvisionable      bool     `json:"np,omitempty"`
}

// A Shape is the form of one value. Use, when set, is all there is to it.
type Shape struct {
	Use        string            `json:"d,omitempty"`
	Type       string            `json:"t,omitempty"`
	Properties map[string]*Shape `json:"p,omitempty"`
	Items      *Shape            `json:"i,omitempty"`
	Values     *Shape            `json:"v,omitempty"`
	Unordered  bool              `json:"u,omitempty"`
	JSON       bool              `json:"j,omitempty"` // may be given as its JSON text
}

// Split divides a type name into the member that holds it and its name there:
// "AWS::SQS::Queue" is "Queue" in "AWS.SQS".
func Split(typeName string) (service, name string, ok bool) {
	vendor, rest, ok1 := strings.Cut(typeName, "::")
	service, name, ok2 := strings.Cut(rest, "::")
	return vendor + "." + service, name, ok1 && ok2
}

// Write writes types by full name. Equal types give equal bytes.
func Write(w io.Writer, types map[string]*Type) error {
	services := map[string]map[string]*Type{}
	for full, t := range types {
		service, name, ok := Split(full)
		if !ok {
			return fmt.Errorf("%q is not a resource type name", full)
		}
		if services[service] == nil {
			services[service] = map[string]*Type{}
		}
		services[service][name] = t
	}
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, service := range slices.Sorted(maps.Keys(services)) {
		m, err := z.CreateHeader(&zip.FileHeader{Name: service, Method: zip.Deflate})
		if err != nil {
			return err
		}
		if err := json.NewEncoder(m).Encode(services[service]); err != nil {
			return fmt.Errorf("write the types of %s: %w", service, err)
		}
	}
	return z.Close()
}

// A File is an archive opened for reading. It may be used concurrently.
type File struct{ members map[string]*zip.File }

// Open reads the archive's index.
func Open(b []byte) (*File, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, fmt.Errorf("open the schema archive: %w", err)
	}
	f := &File{members: make(map[string]*zip.File, len(z.File))}
	for _, m := range z.File {
		f.members[m.Name] = m
	}
	return f, nil
}

// Services returns the names of the members, sorted.
func (f *File) Services() []string { return slices.Sorted(maps.Keys(f.members)) }

// Service inflates one member and returns its types by name, undecoded; nil
// when there is no such service.
func (f *File) Service(name string) (map[string]json.RawMessage, error) {
	m, ok := f.members[name]
	if !ok {
		return nil, nil
	}
	r, err := m.Open()
	if err != nil {
		return nil, fmt.Errorf("read the schemas of %s: %w", name, err)
	}
	defer r.Close()
	b := make([]byte, m.UncompressedSize64)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("read the schemas of %s: %w", name, err)
	}
	var types map[string]json.RawMessage
	if err := json.Unmarshal(b, &types); err != nil {
		return nil, fmt.Errorf("read the schemas of %s: %w", name, err)
	}
	return types, nil
}
