package awssdk

import (
	"archive/zip"
	"bytes"
	"embed"
	"fmt"
	"strings"
)

//go:embed cfnresponse
var cfnResponse embed.FS

// zipInline packs a function's inline source as CloudFormation does: a file
// named index, and beside it the response module for custom resources when the
// source mentions it. Equal sources give equal bytes, so that Lambda's code
// hash does not change with the time of the deploy.
func zipInline(runtime, source string) ([]byte, error) {
	type file struct{ name, text string }
	var files []file
	module := func(name, embedded string) error {
		text, err := cfnResponse.ReadFile("cfnresponse/" + embedded)
		files = append(files, file{name, string(text)})
		return err
	}
	switch {
	case strings.HasPrefix(runtime, "nodejs"):
		files = append(files, file{"index.js", source})
		if strings.Contains(source, "cfn-response") {
			if err := module("cfn-response.js", "cfn-response.js"); err != nil {
				return nil, err
			}
			// Lambda searches the code's root for modules, node itself does not.
			files = append(files, file{"node_modules/cfn-response/index.js", "module.exports = require('../../cfn-response.js');\n"})
		}
	case strings.HasPrefix(runtime, "python"):
		files = append(files, file{"index.py", source})
		if strings.Contains(source, "cfnresponse") {
			if err := module("cfnresponse.py", "cfnresponse.py"); err != nil {
				return nil, err
			}
		}
	default:
		return nil, fmt.Errorf("inline code (Code.ZipFile) needs a Node.js or Python runtime, not %q: use Code.S3Bucket and Code.S3Key", runtime)
	}

	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		h.SetMode(0o644)
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, fmt.Errorf("zip inline code: %w", err)
		}
		if _, err := w.Write([]byte(f.text)); err != nil {
			return nil, fmt.Errorf("zip inline code: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("zip inline code: %w", err)
	}
	return b.Bytes(), nil
}
