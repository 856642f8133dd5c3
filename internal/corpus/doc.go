// Package corpus holds the tests that take cloud assemblies of other projects
// through the engine: real templates, none of them written with it in mind.
//
// Every assembly is planned; every one that the emulators can carry is deployed,
// deployed again without a change, and destroyed, and what an independent
// client sees of it is checked in between. What is left out stands in a list
// here with its reason, and a test fails when an entry no longer applies.
//
// The assemblies are those in testdata/corpus, or in the folder that
// CDKD_CORPUS names.
package corpus
