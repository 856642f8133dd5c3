package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/cdkd-action/internal/sandbox"
)

// A job that may have an OIDC token and has no credentials assumes its role
// with it; the token is in nothing that is shown.
func TestRoleByIDToken(t *testing.T) {
	const token = "head.payload.signature"
	for name, tt := range map[string]struct {
		status  int
		keys    bool
		asked   int // how often for a token
		action  string
		refused string
	}{
		"the job's token":                  {status: 200, asked: 1, action: "AssumeRoleWithWebIdentity"},
		"credentials of an earlier step":   {status: 200, keys: true, action: "AssumeRole"},
		"GitHub does not give out a token": {status: 403, asked: 1, refused: "ask GitHub for the job's OIDC token"},
	} {
		t.Run(name, func(t *testing.T) {
			aws, err := sandbox.Start(t.Context(), sandbox.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { aws.Close() })
			aws.S3.AddBucket(stateBucket, "us-east-1", "")
			asked := 0
			github := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if got := r.URL.Query().Get("audience") + " " + r.Header.Get("Authorization"); got != "sts.amazonaws.com Bearer request" {
					t.Errorf("asked with %q", got)
				}
				if tt.status != http.StatusOK {
					http.Error(w, `{"message": "not permitted"}`, tt.status)
					return
				}
				w.Write([]byte(`{"value": "` + token + `"}`))
			}))
			t.Cleanup(github.Close)

			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "cdkd-action", "action")
			cmd.Dir = dir
			for _, v := range append(os.Environ(), aws.Env()...) {
				if tt.keys || !strings.HasPrefix(v, "AWS_ACCESS_KEY_ID=") && !strings.HasPrefix(v, "AWS_SECRET_ACCESS_KEY=") && !strings.HasPrefix(v, "AWS_SESSION_TOKEN=") {
					cmd.Env = append(cmd.Env, v)
				}
			}
			cmd.Env = append(cmd.Env, "GITHUB_ACTIONS=true", "HOME="+dir, "GITHUB_OUTPUT="+filepath.Join(dir, "output"),
				"ACTIONS_ID_TOKEN_REQUEST_URL="+github.URL+"/token?api-version=2", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=request",
				"INPUT_COMMAND=state list", "INPUT_STATE-BUCKET="+stateBucket, "INPUT_VERBOSE=true",
				"INPUT_ROLE-ARN=arn:aws:iam::123456789012:role/deploy")
			out := &bytes.Buffer{}
			cmd.Stdout, cmd.Stderr = out, out
			err = cmd.Run()
			if (err != nil) != (tt.refused != "") || !strings.Contains(out.String(), tt.refused) {
				t.Errorf("%v\n%s", err, out)
			}
			if asked != tt.asked {
				t.Errorf("asked for a token %d times, want %d", asked, tt.asked)
			}
			var roles []string
			for _, r := range aws.Log() {
				if strings.HasPrefix(r.Action, "AssumeRole") {
					roles = append(roles, r.Action)
				}
			}
			if got := strings.Join(roles, ","); got != tt.action {
				t.Errorf("role assumed by %q, want %q\n%s", got, tt.action, out)
			}
			for _, line := range strings.Split(out.String(), "\n") {
				if strings.Contains(line, token) && line != "::add-mask::"+token {
					t.Errorf("the token is shown: %s", line)
				}
			}
		})
	}
}
