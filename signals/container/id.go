package container

import (
	"os"
	"regexp"
)

// mounted is how an engine mounts the files of a container's network into it,
// from a folder with the container's name.
var mounted = regexp.MustCompile(`/containers/([0-9a-f]{64})/(?:hostname|hosts|resolv\.conf) /etc/`)

// ID is the id of the container that this process runs in, "" where it runs in
// none, or that cannot be told. The host name does not tell: on the host's
// network it is the host's.
func ID() string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	return idIn(string(mounts))
}

// IsID tells whether a text is a container's whole id.
func IsID(text string) bool { return whole.MatchString(text) }

var whole = regexp.MustCompile(`^[0-9a-f]{64}$`)

func idIn(mounts string) string {
	if m := mounted.FindStringSubmatch(mounts); m != nil {
		return m[1]
	}
	return ""
}
