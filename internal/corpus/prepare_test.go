package corpus

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/cdkd-action/internal/sandbox"
)

// prepare copies an assembly and makes content for the assets that it lacks,
// and the buckets that they go to.
func prepare(t *testing.T, s *sandbox.Sandbox, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "cdk.out")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	var files []string
	err := filepath.WalkDir(to, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".json" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	move(t, files)
	for _, file := range files {
		if strings.HasSuffix(file, ".assets.json") {
			fill(t, s, file)
		}
	}
	return to
}

var environment = regexp.MustCompile(`aws://(\d+)/`)

// move makes an assembly one for the account that there is.
func move(t *testing.T, files []string) {
	t.Helper()
	var others []string
	text := map[string][]byte{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text[file] = b
		for _, m := range environment.FindAllSubmatch(b, -1) {
			if id := string(m[1]); id != account && !slices.Contains(others, id) {
				others = append(others, id)
			}
		}
	}
	for _, id := range others {
		whole := regexp.MustCompile(`\b` + id + `\b`)
		for file, b := range text {
			text[file] = whole.ReplaceAll(b, []byte(account))
		}
	}
	for file, b := range text {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func fill(t *testing.T, s *sandbox.Sandbox, manifest string) {
	t.Helper()
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	files, _ := m["files"].(map[string]any)
	for id, f := range files {
		source, _ := f.(map[string]any)["source"].(map[string]any)
		path, _ := source["path"].(string)
		if path == "" {
			continue
		}
		if filepath.IsAbs(path) || strings.HasPrefix(path, "..") { // made without bundling
			path = "asset." + id
			source["path"] = path
		}
		invent(t, filepath.Join(filepath.Dir(manifest), path), source["packaging"] == "zip")
		destinations, _ := f.(map[string]any)["destinations"].(map[string]any)
		for _, d := range destinations {
			d := d.(map[string]any)
			region, _ := d["region"].(string)
			if region == "" || strings.Contains(region, "$") {
				region = "us-east-1"
			}
			name, _ := d["bucketName"].(string)
			name = strings.NewReplacer("${AWS::AccountId}", account, "${AWS::Region}", region, "${AWS::Partition}", "aws").Replace(name)
			s.S3.AddBucket(name, region, "")
		}
	}
	if text, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(manifest, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// invent makes a file or folder that is not there.
func invent(t *testing.T, path string, folder bool) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	content := []byte("made for a test\n")
	switch filepath.Ext(path) {
	case ".json":
		content = []byte("{}")
	case ".zip":
		content = archive(t)
	}
	if folder {
		path, content = filepath.Join(path, "index.js"), []byte("exports.handler = async () => {};\n")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func archive(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.Create("index.js")
	if err == nil {
		_, err = f.Write([]byte("exports.handler = async () => {};\n"))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// answering returns a handler for the custom resources of an assembly: each
// answers with a value for every attribute that a template asks of it.
func answering(t *testing.T, dir string) sandbox.Handler {
	asked := map[string]map[string]any{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".template.json") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var template any
		if err := json.Unmarshal(text, &template); err != nil {
			return err
		}
		attributes(template, asked)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, event map[string]any) (any, error) {
		if !sandbox.IsCustomResource(event) {
			return nil, nil
		}
		id, _ := event["LogicalResourceId"].(string)
		return nil, sandbox.Respond(ctx, event, map[string]any{"Data": asked[id]})
	}
}

// attributes collects what Fn::GetAtt asks, by logical id.
func attributes(v any, asked map[string]map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, m := range v {
			attributes(m, asked)
		}
	case map[string]any:
		if pair, ok := v["Fn::GetAtt"].([]any); ok && len(pair) == 2 {
			id, _ := pair[0].(string)
			name, _ := pair[1].(string)
			if asked[id] == nil {
				asked[id] = map[string]any{}
			}
			asked[id][name] = sample(name)
		}
		for _, m := range v {
			attributes(m, asked)
		}
	}
}

// sample is a value that an attribute of that name could have.
func sample(name string) any {
	if strings.HasSuffix(name, "Keys") {
		return []any{"corpus-key"}
	}
	if strings.HasSuffix(strings.ToLower(name), "arn") {
		return "arn:aws:s3:::corpus-" + strings.ToLower(name)
	}
	return "corpus-" + name
}
