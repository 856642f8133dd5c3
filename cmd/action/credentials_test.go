package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/org/cdkd-action/ci"
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
			aws, err := startSandbox(t, sandbox.Options{})
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

// A session of the role is renewed five minutes before it ends, and not sooner.
func TestRoleSessionIsRenewed(t *testing.T) {
	given := 0
	github := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given++
		w.Header().Set("Connection", "close")
		fmt.Fprintf(w, `{"value": "token-%d"}`, given)
	}))
	t.Cleanup(github.Close)
	for name, environ := range map[string][]string{
		"by credentials": {"AWS_ACCESS_KEY_ID=AKID"},
		"by the job's own token, a new one each time": {"ACTIONS_ID_TOKEN_REQUEST_URL=" + github.URL + "/token?v=1", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=request"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sessions := 0
				client := answers(func(r *http.Request) string {
					sessions++
					body, err := io.ReadAll(r.Body)
					if err != nil {
						t.Error(err)
					}
					action, err := url.ParseQuery(string(body))
					if err != nil {
						t.Error(err)
					}
					if token := action.Get("WebIdentityToken"); token != "" && token != fmt.Sprint("token-", sessions) {
						t.Errorf("session %d is asked for with %s", sessions, token)
					}
					return fmt.Sprintf("<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>S%d</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials></%[1]sResult></%[1]sResponse>",
						action.Get("Action"), sessions, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
				})
				s := newStep(nil, ci.New(environ, io.Discard, io.Discard))
				s.in = &ci.Inputs{}
				s.in.RoleARN = "arn:aws:iam::123456789012:role/deploy"
				cfg := aws.Config{Region: "us-east-1", HTTPClient: client, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}
				s.assumeRole(t.Context(), &cfg)
				for _, at := range []struct {
					after time.Duration
					want  string
				}{{0, "S1"}, {54 * time.Minute, "S1"}, {2 * time.Minute, "S2"}, {50 * time.Minute, "S2"}, {10 * time.Minute, "S3"}} {
					time.Sleep(at.after)
					got, err := cfg.Credentials.Retrieve(t.Context())
					if err != nil || got.AccessKeyID != at.want {
						t.Fatalf("%v later it is %s (%v), want %s", at.after, got.AccessKeyID, err, at.want)
					}
				}
			})
		})
	}
}

type answers func(*http.Request) string

func (a answers) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(a(r)))}, nil
}
