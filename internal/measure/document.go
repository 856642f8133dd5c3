package main

import (
	"fmt"
	"os"
	"strings"
)

// document is where the figures are published.
const document = "docs/performance.md"

// What is between these lines of the document is written by this program.
const (
	opening = "<!-- measured -->\n"
	closing = "<!-- /measured -->\n"
)

// rewrite puts the figures where the document has those of the last time.
func rewrite(name, figures string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("publish the figures: %w", err)
	}
	before, rest, opened := strings.Cut(string(text), opening)
	_, after, closed := strings.Cut(rest, closing)
	if !opened || !closed {
		return fmt.Errorf("publish the figures: %s has no lines %q and %q to put them between", name, opening, closing)
	}
	if err := os.WriteFile(name, []byte(before+opening+"\n"+strings.TrimSpace(figures)+"\n\n"+closing+after), 0o644); err != nil {
		return fmt.Errorf("publish the figures: %w", err)
	}
	return nil
}
