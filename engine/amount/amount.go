// Package amount says how many there are of something, one among them.
package amount

import "strconv"

// Of is a number with what it counts: "1 resource", "2 resources".
func Of(n int, what string) string {
	return strconv.Itoa(n) + " " + what + Form(n, "", "s")
}

// Form is one of two forms of a word, as the number asks for.
func Form(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
