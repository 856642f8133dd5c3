// Package runner runs a Docker container action the way GitHub's runner does,
// for tests of what only shows in a real container: which process gets a
// signal, what is left when the docker client is killed, what the runner reads
// of the files that a step wrote.
//
// [Job] lays out the folders of a job, [Job.Start] runs one step of it with the
// runner's docker command line: the same flags in the same order, the same six
// mounts, values of variables only in the client's environment, and no standard
// input. [Step.Cancel] cancels it with the runner's ladder: SIGINT to the docker
// client and to nobody else, SIGTERM 7.5 s later, SIGKILL after another 2.5 s.
// [Step.Wait] reads the file commands with the runner's grammar and the
// workflow commands in the log with its limits.
//
// It is as strict as the runner and no friendlier: a malformed file fails the
// step although the container exited with 0, and a summary that is too long is
// gone. What it leaves out is everything that is not seen from inside the
// container: downloading actions, expressions, other steps.
package runner
