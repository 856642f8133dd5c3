// Package container looks after the container of a workflow step from outside
// of it: from the post step, through the socket of the Docker engine that the
// runner mounts into both.
//
// The runner kills the docker client of a cancelled step after ten seconds, and
// not the container: what it still saves and says is seen by nobody. So a step
// keeps its container's [ID], and the post step asks whether that still runs,
// shows the rest of its log, and knows when it is gone.
//
// Gone is a proof, and somebody's lock may be removed on it. An engine that does
// not know a container proves nothing unless it is the engine that runs us:
// [Engine.Own] tells.
package container
