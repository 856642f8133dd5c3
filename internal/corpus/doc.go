// Package corpus holds the tests that take cloud assemblies of other projects
// through the engine: real templates, none of them written with it in mind.
//
// Every assembly is planned, but for closed lists of those that cannot be, with
// the types that keep them from it. Every one that the emulators can
// carry is deployed, deployed again without a change, and destroyed, and what
// the aws command line sees of it is checked after the first and the last step.
// What is not deployed stands in a list with its reason.
//
// The assemblies are those in testdata/corpus. With CDKD_CORPUS naming another
// folder of the same form they are those in it, which takes longer than go
// test waits by itself: give it -timeout 20m. CDKD_CORPUS_ONLY, a regular
// expression, picks some by name; -short deploys without looking.
package corpus
