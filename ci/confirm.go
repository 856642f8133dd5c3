package ci

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// Confirm asks a yes-or-no question on the terminal. An empty answer is
// byDefault; the end of the input, and the end of ctx, are no.
func (s *Surface) Confirm(ctx context.Context, question string, byDefault bool) bool {
	if !s.Interactive() {
		return false
	}
	choice := "[y/N]"
	if byDefault {
		choice = "[Y/n]"
	}
	answered := false
	release := s.live.hold()
	defer func() { release(answered) }()
	in := bufio.NewReader(s.in)
	for {
		s.mu.Lock()
		fmt.Fprintf(s.err, "%s %s ", s.legible(question), choice)
		s.mu.Unlock()
		// A read of a terminal cannot be called off. After a signal the process
		// is about to end, so the goroutine may stay behind with its read.
		answer := make(chan string, 1)
		go func() {
			line, err := in.ReadString('\n')
			if err != nil {
				line = "no"
			}
			answer <- line
		}()
		select {
		case <-ctx.Done():
			return false
		case a := <-answer:
			answered = true
			switch strings.ToLower(strings.TrimSpace(a)) {
			case "":
				return byDefault
			case "y", "yes":
				return true
			case "n", "no":
				return false
			}
		}
	}
}
