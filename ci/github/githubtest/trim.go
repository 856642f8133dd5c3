//go:build ignore

// Trim takes out of GitHub's OpenAPI documents what the fake GitHub needs: the
// operations below and the schemas that they refer to, without descriptions
// and examples. Of the examples it keeps that of a pull request, which has more
// fields than anybody would like to make up.
//
//	npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-*.tgz
//	go run trim.go package/generated api.github.com ghes-3.17 ghes-3.19
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// operations are what is called, by path.
var operations = map[string][]string{
	"/user": {"get"},
	"/repos/{owner}/{repo}/issues/{issue_number}/comments":       {"get", "post"},
	"/repos/{owner}/{repo}/issues/comments/{comment_id}":         {"get", "patch", "delete"},
	"/repos/{owner}/{repo}/commits/{commit_sha}/pulls":           {"get"},
	"/repos/{owner}/{repo}/pulls/{pull_number}":                  {"get"},
	"/repos/{owner}/{repo}/issues":                               {"get", "post"},
	"/repos/{owner}/{repo}/issues/{issue_number}":                {"patch"},
	"/repos/{owner}/{repo}/deployments":                          {"post"},
	"/repos/{owner}/{repo}/deployments/{deployment_id}/statuses": {"post"},
}

// noise is what no validator looks at. Descriptions of responses stay, since a
// document without them is not valid.
var noise = []string{"summary", "externalDocs", "example", "examples", "x-github", "x-github-breaking-changes", "x-multi-segment"}

func main() {
	for _, name := range os.Args[2:] {
		if err := trim(filepath.Join(os.Args[1], name+".json"), "openapi/"+name+".json"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func trim(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	paths := map[string]any{}
	for path, methods := range operations {
		item, ok := doc["paths"].(map[string]any)[path].(map[string]any)
		if !ok {
			return fmt.Errorf("%s has no %s", from, path)
		}
		kept := map[string]any{}
		for _, m := range methods {
			if kept[m] = item[m]; kept[m] == nil {
				return fmt.Errorf("%s has no %s %s", from, m, path)
			}
		}
		paths[path] = kept
	}
	strip(paths, false)
	components := map[string]any{}
	collect(paths, doc, components)
	out := map[string]any{
		"openapi": doc["openapi"],
		"info":    map[string]any{"title": "GitHub REST API, trimmed", "version": doc["info"].(map[string]any)["version"], "license": map[string]any{"name": "MIT", "url": "https://spdx.org/licenses/MIT"}},
		"paths":   paths, "components": components,
	}
	if pull := doc["components"].(map[string]any)["examples"].(map[string]any)["pull-request-simple-items"]; pull != nil {
		b, err := json.Marshal(pull.(map[string]any)["value"].([]any)[0])
		if err != nil {
			return err
		}
		if err := os.WriteFile("openapi/pull-request.json", append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(b, '\n'), 0o644)
}

// collect adds what v refers to to the components, and what that refers to.
func collect(v any, doc, components map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, m := range v {
			collect(m, doc, components)
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			parts := strings.Split(strings.TrimPrefix(ref, "#/components/"), "/")
			kind, _ := components[parts[0]].(map[string]any)
			if kind == nil {
				kind = map[string]any{}
				components[parts[0]] = kind
			}
			if _, known := kind[parts[1]]; !known {
				target := doc["components"].(map[string]any)[parts[0]].(map[string]any)[parts[1]]
				strip(target, parts[0] == "responses")
				kind[parts[1]] = target
				collect(target, doc, components)
			}
		}
		for _, m := range v {
			collect(m, doc, components)
		}
	}
}

func strip(v any, response bool) {
	switch v := v.(type) {
	case []any:
		for _, m := range v {
			strip(m, false)
		}
	case map[string]any:
		for _, n := range noise {
			if schema, _ := v[n].(map[string]any); schema["type"] == nil {
				delete(v, n)
			}
		}
		if _, text := v["description"].(string); text {
			if response {
				v["description"] = ""
			} else {
				delete(v, "description")
			}
		}
		for k, m := range v {
			responses, isMap := m.(map[string]any)
			if k == "responses" && isMap {
				for _, r := range responses {
					strip(r, true)
				}
				continue
			}
			strip(m, false)
		}
	}
}
