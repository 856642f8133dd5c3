// Command measure says what a deploy costs: requests, round trips, time and
// memory, on a stack of 48 independent resources and on the shapes of apps that
// people deploy.
//
// What is measured is the released binary, run as the step of a workflow
// against the sandbox. Every request from the start of the process counts, and
// each takes as long as it would over a network. What is wanted
// of a figure stands beside it.
//
//	go run ./internal/measure            the tables of docs/performance.md
//	go run ./internal/measure -update    and writes them there
//	go run ./internal/measure -hold      and fails when a budget is exceeded
//	go run ./internal/measure -requests  and what was sent when
//	go run ./internal/measure -calls     what each command asks, as there
//	go run ./internal/measure -run 504   only the rows that match, and those of the same story
//	go test -bench . ./internal/measure  the same runs as benchmarks
//
// What does not depend on time, requests and round trips, is held to a budget
// by an ordinary test, so that a change that costs more says so.
package main
