package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/signals"
)

// A fault of the program ends the step with 1: 2, Go's own code, means a partial
// outcome. It is told without secrets, and with what to do (S-191, S-195).
func TestFaultOfTheProgram(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(s *step) int
		kept bool // that it ended by itself
	}{
		{"in the command", func(*step) int { panic("a fault with hunter2-secret") }, false},
		{"in telling what happens", func(s *step) int {
			s.observing.guard(func(engine.Event) { panic("a fault with hunter2-secret") })(engine.Event{})
			return 0
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			environ := []string{"GITHUB_ACTIONS=true"}
			for _, name := range []string{"GITHUB_OUTPUT", "GITHUB_STATE"} {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				environ = append(environ, name+"="+path)
			}
			var out bytes.Buffer
			window := signals.Open(signals.Options{Actions: true, Signals: make(chan os.Signal)})
			defer window.Close()
			s := newStep(window, ci.New(environ, &out, &out))
			s.secrets.Add("hunter2-secret", "***")
			if code := s.contained(func() int { return tt.do(s) }); code != 1 {
				t.Errorf("exit code %d", code)
			}
			text := out.String()
			for _, want := range []string{"::error title=Internal error::internal error: a fault with ***", "please report it", "fault_test.go"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			if strings.Contains(strings.ReplaceAll(text, "::add-mask::hunter2-secret", ""), "hunter2") {
				t.Errorf("the secret is in\n%s", text)
			}
			outputs, _ := os.ReadFile(filepath.Join(dir, "GITHUB_OUTPUT"))
			for _, want := range []string{"outcome", "failed", "failure-reason", "internal", "exit-code"} {
				if !strings.Contains(string(outputs), want) {
					t.Errorf("%q is not in the outputs\n%s", want, outputs)
				}
			}
			kept, _ := os.ReadFile(filepath.Join(dir, "GITHUB_STATE"))
			if strings.Contains(string(kept), keptEnded) != tt.kept {
				t.Errorf("kept for the post step: %s", kept)
			}
		})
	}
}
