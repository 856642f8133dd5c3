package awssdk

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestZipInline(t *testing.T) {
	for name, test := range map[string]struct {
		runtime, source string
		files           []string
	}{
		"node":                   {"nodejs22.x", "exports.handler = 1", []string{"index.js"}},
		"python":                 {"python3.13", "def handler(e, c): pass", []string{"index.py"}},
		"node with response":     {"nodejs22.x", "const r = require('cfn-response')", []string{"index.js", "cfn-response.js", "node_modules/cfn-response/index.js"}},
		"python with response":   {"python3.13", "import cfnresponse", []string{"index.py", "cfnresponse.py"}},
		"a runtime without them": {"java21", "x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			zipped, err := zipInline(test.runtime, test.source)
			if test.files == nil {
				if err == nil {
					t.Error("inline code was packed for it")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			again, _ := zipInline(test.runtime, test.source)
			if !bytes.Equal(zipped, again) {
				t.Error("the same source gave two packages")
			}
			z, err := zip.NewReader(bytes.NewReader(zipped), int64(len(zipped)))
			if err != nil {
				t.Fatal(err)
			}
			var files []string
			for _, f := range z.File {
				files = append(files, f.Name)
			}
			if diff := cmp.Diff(test.files, files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// The response modules are run as Lambda would run them.
func TestResponseModules(t *testing.T) {
	for _, lang := range []struct{ runtime, program, source, start string }{
		{"nodejs22.x", "node", `const r = require('cfn-response'); exports.handler = (e, c) => r.send(e, c, r.SUCCESS, {A: 'b'}, 'the-id');`,
			`require('./index.js').handler(JSON.parse(Buffer.from(process.argv[1], 'base64')), {logStreamName: 's', logGroupName: 'g', done() {}})`},
		{"python3.13", "python3", "import cfnresponse\ndef handler(e, c):\n  cfnresponse.send(e, c, cfnresponse.SUCCESS, {'A': 'b'}, 'the-id')\n",
			"import sys, json, base64, index; index.handler(json.loads(base64.b64decode(sys.argv[1])), type('C', (), {'log_stream_name': 's'}))"},
	} {
		t.Run(lang.program, func(t *testing.T) {
			if _, err := exec.LookPath(lang.program); err != nil {
				t.Skip("needs " + lang.program)
			}
			answers := make(chan map[string]any, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var a map[string]any
				if err := json.NewDecoder(r.Body).Decode(&a); err != nil || r.Method != http.MethodPut {
					t.Errorf("%s with %v", r.Method, err)
				}
				answers <- a
			}))
			defer server.Close()

			dir := t.TempDir()
			zipped, err := zipInline(lang.runtime, lang.source)
			if err != nil {
				t.Fatal(err)
			}
			unzip(t, zipped, dir)
			event, _ := json.Marshal(map[string]string{"ResponseURL": server.URL + "/x?y=z", "StackId": "st", "RequestId": "rq", "LogicalResourceId": "lo"})
			flag := "-c"
			if lang.program == "node" {
				flag = "-e"
			}
			cmd := exec.CommandContext(t.Context(), lang.program, flag, lang.start, base64.StdEncoding.EncodeToString(event))
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			got := <-answers
			delete(got, "Reason")
			want := map[string]any{"Status": "SUCCESS", "PhysicalResourceId": "the-id", "StackId": "st", "RequestId": "rq",
				"LogicalResourceId": "lo", "NoEcho": false, "Data": map[string]any{"A": "b"}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func unzip(t *testing.T, zipped []byte, dir string) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(zipped), int64(len(zipped)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
