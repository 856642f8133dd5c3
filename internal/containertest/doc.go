// Package containertest tries the Action as GitHub runs it: the image that the
// Dockerfile makes, started by the runner's docker command line, cancelled by
// the runner's signals, against a sandbox on the host.
//
// There is nothing here but tests. They need a Docker engine and are skipped
// without one. Where no image can be pulled, .ci/base-images makes those that
// the Dockerfile builds on.
package containertest
