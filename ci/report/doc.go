// Package report renders what a command would do, or did, for people: as
// Markdown for a pull request comment and a step summary, as text for a
// terminal, and as JSON.
//
// It is pure: a [result.Run] in, text out. A plan has one text and one JSON
// form, and the page uses the same marks and counts. The first line of a page
// says what will happen, or what did; then come the counts; then what destroys
// or replaces something, with the reason; then the rest, most important first,
// so that a report that had to be cut is cut where it hurts least. What is long
// is folded, and of nothing is said nothing.
//
// Two rules hold for everything that comes from outside (names, values,
// messages):
//
// Nothing secret is shown. Every form is rendered from a copy of the run that
// has no such values: what is known as a secret, stands at a sensitive path, or
// has the shape of a credential was replaced by a mark. Marks can be compared,
// so a change of what is hidden shows as a change.
//
// Nothing is markup. In Markdown, text from outside stands only in code spans,
// fences and escaped HTML, or passes through prose, which leaves no mention, no
// reference and no link in it. Control and bidirectional characters go.
package report
