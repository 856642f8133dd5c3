// Package progress shows on a terminal what is under way: a table below the
// log, which is redrawn in place.
//
// A [Table] is told what begins, what it waits for and how it ends, and never
// waits itself. A [Screen] puts the table on a terminal. It belongs to the one
// goroutine that writes there, so that text and table cannot tear each other:
// the table is taken away before text is written, and drawn again below it.
//
// A program that dies in the middle leaves nothing behind but the lines of the
// table: the cursor is never hidden, no mode of the terminal is changed, and
// between two writes the cursor stands at the start of the line below. Nothing
// is coloured.
//
// What the table is told may come from anywhere. [New] is given the function
// that makes such text fit to be shown.
package progress
