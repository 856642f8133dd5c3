// Package report renders what a command would do, or did, for people: as
// Markdown for a pull request comment and a step summary, as text for a
// terminal, and as JSON.
//
// It is pure: a [result.Run] in, text out. The first line says what will
// happen, or what did; then come the counts; then what destroys or replaces
// something, with the reason; then the rest, most important first, so that a
// report that had to be cut is cut where it hurts least.
//
// Two rules hold for everything that comes from outside (names, values,
// messages):
//
// Nothing secret is shown. Property values pass through a redactor, which
// replaces what stands at a sensitive path, or has the shape of a credential,
// before anything is rendered. What is hidden is still compared: a change of it
// shows as a change.
//
// Nothing is markup. In Markdown, text from outside stands only in code spans,
// fences and escaped HTML, or passes through prose, which leaves no mention, no
// reference and no link in it. Control and bidirectional characters go.
package report
