package sandbox

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// A function is what running one needs, as its creation and updates had it.
type function struct {
	Runtime     string
	Handler     string
	Timeout     int // seconds; 0 is 3
	MemorySize  int // MB
	Environment map[string]string
	zip         []byte
}

type functionKey struct{ region, name string }

// functionInput is what the calls of interest have in common.
type functionInput struct {
	FunctionName string
	Runtime      *string
	Handler      *string
	Timeout      *int
	MemorySize   *int
	Environment  *struct{ Variables map[string]string }
	Code         *codeInput // CreateFunction
	Content      *codeInput // PublishLayerVersion
	codeInput               // UpdateFunctionCode
}

type codeInput struct {
	ZipFile                          []byte
	S3Bucket, S3Key, S3ObjectVersion string
	ImageUri                         string
}

func (in *functionInput) source() *codeInput {
	switch {
	case in.Code != nil:
		return in.Code
	case in.Content != nil:
		return in.Content
	}
	return &in.codeInput
}

// takeCode checks that code named by bucket and key is there, as the service
// does, and copies it to moto's S3 where moto looks.
func (s *Sandbox) takeCode(c *call) error {
	var in functionInput
	if err := json.Unmarshal(c.body, &in); err != nil {
		return err
	}
	from := in.source()
	if from.S3Bucket == "" {
		return nil
	}
	o, ok := s.S3.Version(from.S3Bucket, from.S3Key, from.S3ObjectVersion)
	if !ok {
		//lint:ignore ST1005 the words are Lambda's
		return fmt.Errorf("Error occurred while GetObject. S3 Error Code: NoSuchKey. S3 Error Message: The specified key does not exist.")
	}
	if s.kind != Moto {
		return nil
	}
	if err := s.mirror(c); err != nil {
		return err
	}
	return s.mirrorObject(c.http.Context(), from.S3Bucket, from.S3Key, o.Body)
}

// follow keeps what a successful call says about a function.
func (s *Sandbox) follow(c *call) {
	var in functionInput
	if c.Action != "DeleteFunction" && (len(c.body) == 0 || json.Unmarshal(c.body, &in) != nil) {
		return
	}
	name := in.FunctionName
	if c.Action != "CreateFunction" {
		name = c.Resource
	}
	key := functionKey{c.Region, functionName(name)}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch c.Action {
	case "CreateFunction":
		s.functions[key] = &function{}
	case "UpdateFunctionCode", "UpdateFunctionConfiguration":
	case "DeleteFunction":
		delete(s.functions, key)
		return
	default:
		return
	}
	f := s.functions[key]
	if f == nil {
		return
	}
	changed := *f // a run may hold the old one
	if in.Runtime != nil {
		changed.Runtime = *in.Runtime
	}
	if in.Handler != nil {
		changed.Handler = *in.Handler
	}
	if in.Timeout != nil {
		changed.Timeout = *in.Timeout
	}
	if in.MemorySize != nil {
		changed.MemorySize = *in.MemorySize
	}
	if in.Environment != nil {
		changed.Environment = maps.Clone(in.Environment.Variables)
	}
	if from := in.source(); len(from.ZipFile) > 0 {
		changed.zip = from.ZipFile
	} else if o, ok := s.S3.Version(from.S3Bucket, from.S3Key, from.S3ObjectVersion); ok {
		changed.zip = o.Body
	}
	s.functions[key] = &changed
}

// code returns what is known of a function, made by Lambda's API or by Cloud
// Control; nil is nothing.
func (s *Sandbox) code(region, name string) *function {
	s.mu.Lock()
	f := s.functions[functionKey{region, name}]
	s.mu.Unlock()
	if f != nil {
		return f
	}
	model := s.CloudControl.Resource(region, "AWS::Lambda::Function", name)
	if model == nil {
		return nil
	}
	var in struct {
		Runtime, Handler    string
		Timeout, MemorySize int
		Environment         struct{ Variables map[string]string }
		Code                struct{ ZipFile, S3Bucket, S3Key, S3ObjectVersion string }
	}
	text, err := json.Marshal(model)
	if err != nil || json.Unmarshal(text, &in) != nil {
		return nil
	}
	f = &function{Runtime: in.Runtime, Handler: in.Handler, Timeout: in.Timeout, MemorySize: in.MemorySize, Environment: in.Environment.Variables}
	if in.Code.ZipFile != "" {
		f.zip = inline(in.Runtime, in.Code.ZipFile)
	} else if o, ok := s.S3.Version(in.Code.S3Bucket, in.Code.S3Key, in.Code.S3ObjectVersion); ok {
		f.zip = o.Body
	}
	return f
}

// inline packs a template's inline code as CloudFormation does: one file named
// index.
func inline(runtime, source string) []byte {
	name := "index.js"
	if strings.HasPrefix(runtime, "python") {
		name = "index.py"
	}
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	file, err := archive.Create(name)
	if err == nil {
		_, err = file.Write([]byte(source))
	}
	if err = errors.Join(err, archive.Close()); err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}
