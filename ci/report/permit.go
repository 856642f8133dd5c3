package report

import (
	"fmt"
	"slices"
	"strings"
)

// Whoever runs a command can ask to see values that stand where secrets often
// do, one path after the other: Subject:Path. The subject is a logical id, a
// resource type, or "Outputs"; the path has the names of members with dots
// between, * for any one name, and stands for all that is below it.
//
// What is known to be a secret, or has the form of a credential, stays hidden.

// CheckShowValues finds the first entry that is not of the form Subject:Path.
func CheckShowValues(entries []string) error {
	for _, e := range entries {
		if subject, path := permission(e); subject == "" || slices.Contains(path, "") {
			return fmt.Errorf("%q is not Subject:Path, such as Function:Environment.Variables.LOG_LEVEL", e)
		}
	}
	return nil
}

// permission splits at the last single colon: those of a type are double.
func permission(entry string) (subject string, path []string) {
	i := strings.LastIndexByte(entry, ':')
	if i <= 0 || entry[i-1] == ':' {
		return "", nil
	}
	return entry[:i], strings.Split(entry[i+1:], ".")
}

// permitted are the paths of the entries for one of the subjects.
func permitted(entries []string, subjects ...string) [][]string {
	var paths [][]string
	for _, e := range entries {
		if subject, path := permission(e); subject != "" && slices.Contains(subjects, subject) {
			paths = append(paths, path)
		}
	}
	return paths
}

// permits tells whether the value at a path, which has no list indexes, may be
// shown.
func (r *redactor) permits(path []string) bool {
	return slices.ContainsFunc(r.permitted, func(p []string) bool {
		return len(p) <= len(path) && slices.EqualFunc(p, path[:len(p)], func(want, name string) bool { return want == "*" || want == name })
	})
}
