package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
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
				cfg := aws.Config{Region: "us-east-1", HTTPClient: client, Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}
				s.assumeRole(t.Context(), &cfg, "arn:aws:iam::123456789012:role/deploy")
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

// A deploy lasts longer than the sessions of its role, by credentials and by the
// job's own token: each is renewed before it ends, so that nothing is asked with one
// that has ended.
func TestDeployOutlivesSessions(t *testing.T) {
	const renewed, ended = 2 * time.Second, 8 * time.Second
	for name, byToken := range map[string]bool{"by credentials": false, "by the job's own token": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sandboxed, err := startSandbox(t, sandbox.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { sandboxed.Close() })
			sandboxed.S3.AddBucket(stateBucket, "us-east-1", "")
			sandboxed.AddFault(sandbox.Fault{Service: "sqs", Action: "CreateQueue", Delay: 3500 * time.Millisecond})

			// The sandbox, with sessions that end.
			target, err := url.Parse(sandboxed.URL)
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var began []time.Time
			used := map[string]bool{}
			tokens := map[string]bool{}
			behind := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.Host = r.In.Host // it is signed
			}}
			aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				form, err := url.ParseQuery(string(body))
				mu.Lock()
				defer mu.Unlock()
				if action := form.Get("Action"); err == nil && strings.HasPrefix(action, "AssumeRole") {
					if (action == "AssumeRoleWithWebIdentity") != byToken || tokens[form.Get("WebIdentityToken")] && byToken {
						t.Errorf("%s with the token %q", action, form.Get("WebIdentityToken"))
					}
					tokens[form.Get("WebIdentityToken")] = true
					began = append(began, time.Now())
					fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>SESSION%d</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials></%[1]sResult></%[1]sResponse>",
						action, len(began)-1, time.Now().Add(5*time.Minute+renewed).UTC().Format(time.RFC3339Nano))
					return
				}
				_, key, _ := strings.Cut(r.Header.Get("Authorization")+r.URL.Query().Get("X-Amz-Credential"), "SESSION")
				key, _, _ = strings.Cut(key, "/")
				n, err := strconv.Atoi(key)
				if err != nil || n >= len(began) {
					t.Errorf("%s %s is asked without a session of the role", r.Method, r.URL.Path)
				} else if age := time.Since(began[n]); age > ended {
					t.Errorf("%s %s is asked with a session that ended %v ago", r.Method, r.URL.Path, age-ended)
				}
				used[key] = true
				mu.Unlock()
				defer mu.Lock()
				r.Body = io.NopCloser(bytes.NewReader(body))
				behind.ServeHTTP(w, r)
			}))
			t.Cleanup(aws.Close)
			given := 0
			github := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				given++
				fmt.Fprintf(w, `{"value": "head.payload.%d"}`, given)
			}))
			t.Cleanup(github.Close)

			dir := t.TempDir()
			for file, text := range map[string]string{
				"manifest.json": `{"version": "48.0.0", "artifacts": {"Slow": {"type": "aws:cloudformation:stack", "environment": "aws://unknown-account/us-east-1", "properties": {"templateFile": "Slow.json"}}}}`,
				"Slow.json": `{"Resources": {
					"First": {"Type": "AWS::SQS::Queue"},
					"Second": {"Type": "AWS::SQS::Queue", "DependsOn": "First"},
					"Third": {"Type": "AWS::SQS::Queue", "DependsOn": "Second"}}}`,
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "cdkd-action", "action")
			cmd.Dir = dir
			for _, v := range append(os.Environ(), sandboxed.Env()...) {
				if byToken && (strings.HasPrefix(v, "AWS_ACCESS_KEY_ID=") || strings.HasPrefix(v, "AWS_SECRET_ACCESS_KEY=") || strings.HasPrefix(v, "AWS_SESSION_TOKEN=")) {
					continue
				}
				cmd.Env = append(cmd.Env, strings.ReplaceAll(v, sandboxed.URL, aws.URL))
			}
			cmd.Env = append(cmd.Env, "GITHUB_ACTIONS=true", "HOME="+dir, "GITHUB_OUTPUT="+filepath.Join(dir, "output"),
				"ACTIONS_ID_TOKEN_REQUEST_URL="+github.URL+"/token?api-version=2", "ACTIONS_ID_TOKEN_REQUEST_TOKEN=request",
				"INPUT_COMMAND=deploy", "INPUT_APP="+dir, "INPUT_ALL=true", "INPUT_STATE-BUCKET="+stateBucket,
				"INPUT_ROLE-ARN=arn:aws:iam::123456789012:role/deploy")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if len(used) < 3 {
				t.Errorf("%d sessions are used, want one after the other", len(used))
			}
			if byToken && given != len(began) {
				t.Errorf("%d tokens are asked for, for %d sessions", given, len(began))
			}
		})
	}
}

type answers func(*http.Request) string

func (a answers) Do(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(a(r)))}, nil
}
