package main

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// A version is one that is released: major, minor, patch.
type version [3]int

var versionForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$`)

func parseVersion(text string) (version, error) {
	m := versionForm.FindStringSubmatch(text)
	if m == nil {
		return version{}, fmt.Errorf("version %q must look like 1.2.3", text)
	}
	var v version
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1]) // digits, and not too many
	}
	return v, nil
}

func (v version) String() string   { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }
func (v version) tag() string      { return "v" + v.String() }
func (v version) majorTag() string { return fmt.Sprintf("v%d", v[0]) }

func (v version) compare(o version) int {
	return cmp.Or(cmp.Compare(v[0], o[0]), cmp.Compare(v[1], o[1]), cmp.Compare(v[2], o[2]))
}

// notes is the changelog's section of a version, without its heading.
func notes(path string, v version) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	heading := "## [" + v.String() + "]"
	var section strings.Builder
	on := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "## ") {
			on = strings.HasPrefix(line, heading)
			continue
		}
		if on {
			section.WriteString(line)
		}
	}
	if strings.TrimSpace(section.String()) == "" {
		return "", fmt.Errorf("%s says nothing under %q", path, heading)
	}
	return strings.TrimSpace(section.String()) + "\n", nil
}

var (
	repositoryForm = regexp.MustCompile(`^[a-z0-9._-]+/[a-z0-9._-]+$`)
	// An image by its digest is that image for ever.
	pinForm = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}$`)
	// The line that says what a step of the Action runs, as main has it.
	imageLine = regexp.MustCompile(`(?m)^(  image: )Dockerfile$`)
)

// imageOf is the image of a GitHub repository. Registries know no upper case.
func imageOf(repository string) (string, error) {
	name := strings.ToLower(repository)
	if !repositoryForm.MatchString(name) {
		return "", fmt.Errorf("repository %q must look like owner/name", repository)
	}
	return "ghcr.io/" + name, nil
}

// pinned is action.yml with an image by its digest in place of the Dockerfile.
func pinned(action, image string) (string, error) {
	if !pinForm.MatchString(image) {
		return "", fmt.Errorf("image %q must look like registry/owner/name@sha256:…", image)
	}
	if n := len(imageLine.FindAllString(action, -1)); n != 1 {
		return "", fmt.Errorf("action.yml has %d lines with image: Dockerfile, want one", n)
	}
	return imageLine.ReplaceAllString(action, "${1}docker://"+image), nil
}
