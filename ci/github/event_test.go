package github

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// examples are GitHub's payloads by event, from testdata/webhooks.
func examples(t *testing.T, host string) map[string][]json.RawMessage {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata/webhooks", host+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Name     string
		Examples []json.RawMessage
	}
	if err := json.NewDecoder(unpacked).Decode(&list); err != nil {
		t.Fatal(err)
	}
	all := map[string][]json.RawMessage{}
	for _, e := range list {
		all[e.Name] = e.Examples
	}
	return all
}

// started is the environment of a run that a payload started.
func started(t *testing.T, event string, payload []byte) func(string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(path, payload, 0o600); err != nil {
		t.Fatal(err)
	}
	return func(name string) string {
		return map[string]string{"GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": path, "GITHUB_REPOSITORY": "acme/shop"}[name]
	}
}

// Whatever event starts a run, its payload is read as it is, and only that of a
// pull request is taken for one.
func TestEventsAsGitHubSendsThem(t *testing.T) {
	for _, host := range []string{"api.github.com", "ghes-35"} {
		pulls, others := 0, 0
		for event, payloads := range examples(t, host) {
			for i, payload := range payloads {
				pr, ok, err := PullRequestFromEnv(started(t, event, payload))
				if event != "pull_request" {
					others++
					if ok || err != nil {
						t.Errorf("%s: %s %d is taken for %v, %v", host, event, i, pr, err)
					}
					continue
				}
				pulls++
				want := seen(t, payload)
				if d := cmp.Diff(want, pr); d != "" || !ok || err != nil {
					t.Errorf("%s: %s %d: %t, %v (-want +got):\n%s", host, event, i, ok, err, d)
				}
				// With the same payload, and the rights of the base branch.
				if got, ok, err := PullRequestFromEnv(started(t, "pull_request_target", payload)); !ok || err != nil || got != want {
					t.Errorf("%s: pull_request_target %d is %v, %t, %v", host, i, got, ok, err)
				}
			}
		}
		if pulls < 7 || others < 50 {
			t.Errorf("%s has only %d payloads of pull requests and %d others", host, pulls, others)
		}
	}
}

// seen is what a payload says, read another way.
func seen(t *testing.T, payload []byte) PullRequest {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal(payload, &all); err != nil {
		t.Fatal(err)
	}
	in := func(v any, path ...string) any {
		for _, name := range path {
			v = v.(map[string]any)[name]
		}
		return v
	}
	pull := all["pull_request"]
	return PullRequest{
		Owner: "acme", Repo: "shop", Number: int(in(all, "number").(float64)), Head: in(pull, "head", "sha").(string),
		Fork: in(pull, "head", "repo", "full_name") != in(pull, "base", "repo", "full_name"),
	}
}

func TestPullRequestsFromForks(t *testing.T) {
	for _, tt := range []struct {
		name string
		repo any // of the head
		want bool
	}{
		{"a fork", map[string]any{"full_name": "someone/Hello-World"}, true},
		{"a fork that was deleted since", nil, true},
		{"the same repository", map[string]any{"full_name": "Codertocat/Hello-World"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var payload map[string]any
			if err := json.Unmarshal(examples(t, "api.github.com")["pull_request"][0], &payload); err != nil {
				t.Fatal(err)
			}
			payload["pull_request"].(map[string]any)["head"].(map[string]any)["repo"] = tt.repo
			text, err := json.Marshal(payload)
			if err != nil {
				t.Fatal(err)
			}
			pr, ok, err := PullRequestFromEnv(started(t, "pull_request", text))
			if !ok || err != nil || pr.Fork != tt.want {
				t.Errorf("fork %t, %t, %v", pr.Fork, ok, err)
			}
		})
	}
}

// A merge queue's branch names the pull request; its payload does not.
func TestMergeGroupsNameTheirPullRequest(t *testing.T) {
	for i, payload := range examples(t, "api.github.com")["merge_group"] {
		var e struct {
			Group struct {
				HeadRef string `json:"head_ref"`
			} `json:"merge_group"`
		}
		if err := json.Unmarshal(payload, &e); err != nil {
			t.Fatal(err)
		}
		if m := mergeGroup.FindStringSubmatch(e.Group.HeadRef); m == nil || m[1] != "104" {
			t.Errorf("%d: %q names pull request %q", i, e.Group.HeadRef, m)
		}
	}
}
