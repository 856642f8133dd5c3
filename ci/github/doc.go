// Package github keeps the pull request comment of a run up to date.
//
// There is one comment for each app and key of a pull request. It begins with a
// marker, is looked for through all pages, and counts as ours only when we can
// have written it. Each job writes its own section of it and keeps those of
// others, whatever order they come in.
//
// A comment is never worth a run: every failure is returned as one error that
// says what to do, and the time that it may take is bounded. A token that may
// only read, as on a pull request from a fork, is the ordinary case of that:
// see [DeniedError].
//
// GITHUB_API_URL and GITHUB_GRAPHQL_URL say where GitHub is, so that Enterprise
// Server and ghe.com work as github.com does. The token goes to that host and to
// no other.
package github
