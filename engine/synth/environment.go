package synth

import (
	"os"
	"path"
	"slices"
	"strings"
)

// EnvironmentOptions say what an app gets to see of an environment. Names may
// be patterns as in path.Match.
type EnvironmentOptions struct {
	// Keep are variables to keep that would be removed; Remove are others to
	// remove, and wins.
	Keep, Remove []string
	// NoCredentials removes the AWS credentials, and what the app could find
	// some by.
	NoCredentials bool
}

// workflow are the variables of a workflow step that an app has no use for:
// tokens, inputs, which may be secrets, and files by which it could speak for
// the step.
var workflow = []string{
	"INPUT_*", "STATE_*", "ACTIONS_*", "GITHUB_TOKEN",
	"GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY",
}

var credentials = []string{
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN",
	"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME",
	"AWS_CONTAINER_*", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_EC2_METADATA_DISABLED",
}

// Environment is what a child that is not ours gets of environ. In a workflow
// that is less than all of it.
func Environment(environ []string, opt EnvironmentOptions) []string {
	drop := opt.Remove
	var unless []string
	if slices.Contains(environ, "GITHUB_ACTIONS=true") {
		drop, unless = append(slices.Clone(workflow), drop...), opt.Keep
	}
	var env []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case opt.NoCredentials && named(name, credentials):
		case named(name, drop) && (named(name, opt.Remove) || !named(name, unless)):
		default:
			env = append(env, v)
		}
	}
	if opt.NoCredentials {
		// Without these, an SDK looks at its default places.
		env = append(env, "AWS_EC2_METADATA_DISABLED=true", "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "AWS_CONFIG_FILE="+os.DevNull)
	}
	return env
}

func named(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok || err != nil && p == name
	})
}

// without is an environment without some variables.
func without(env []string, names ...string) []string {
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
}
