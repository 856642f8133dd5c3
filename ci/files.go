package ci

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/org/cdkd-action/ci/report"
)

// Limits of GitHub. Outputs are counted in UTF-16 over a whole job, which may
// have other steps with outputs; a summary that is too long is dropped whole.
const (
	maxOutputUnits  = 400_000
	maxStackUnits   = 300_000 // up to which outputs of stacks are added: how the run ended is said in any case
	maxSummaryBytes = 1 << 20
)

// ErrOutputBudget says that an output was not written because the outputs of
// the step together would be more than GitHub keeps.
var ErrOutputBudget = errors.New("the outputs of the step would exceed what GitHub keeps; read it from the state instead")

// SetOutput sets an output of the step. The last value set counts. On a
// terminal it does nothing.
func (s *Surface) SetOutput(name, value string) error {
	return s.setOutput(name, value, maxOutputUnits)
}

func (s *Surface) setOutput(name, value string, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	value = s.scrub(value)
	if old, set := s.outputs[name]; set && old == value {
		return nil
	}
	total := units(name) + units(value)
	for n, v := range s.outputs {
		if n != name {
			total += units(n) + units(v)
		}
	}
	if total > limit {
		return fmt.Errorf("set output %s: %w", name, ErrOutputBudget)
	}
	if err := s.record("GITHUB_OUTPUT", name, value); err != nil {
		return fmt.Errorf("set output %s: %w", name, err)
	}
	s.outputs[name] = value
	return nil
}

// SaveState keeps a value for the post step, which finds it in STATE_name.
func (s *Surface) SaveState(name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.record("GITHUB_STATE", name, value); err != nil {
		return fmt.Errorf("save state %s for the post step: %w", name, err)
	}
	return nil
}

// SetSummary makes the text the summary of the step, in place of what was set
// before. What exceeds GitHub's limit is cut, and the summary says so.
func (s *Surface) SetSummary(markdown string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	text := report.Fit(s.scrub(markdown), maxSummaryBytes, "The rest is in the log.")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the step summary: %w", err)
	}
	return nil
}

// record appends a name and a value to the file that a variable names. It does
// nothing without the variable. That a file cannot be written to is said once: a
// run has dozens of values, and GitHub shows ten warnings.
func (s *Surface) record(variable, name, value string) error {
	path := s.Getenv(variable)
	if path == "" {
		return nil
	}
	entry, err := encode(name, value, s.token)
	if err != nil {
		return err
	}
	if err = appendTo(path, entry); err == nil || s.unwritten[variable] {
		return nil
	}
	s.unwritten[variable] = true
	return fmt.Errorf("%w; what else this step writes to %s may be lost, and nothing more is said of it", err, variable)
}

func appendTo(path, entry string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	// Half an entry would spoil the file: the runner fails the step for it. So it
	// is one write an entry, which a kill does not divide, and what a full disk
	// divides is taken back.
	info, err := f.Stat()
	if err == nil {
		if _, err = f.WriteString(entry); err != nil {
			err = errors.Join(err, f.Truncate(info.Size()))
		}
	}
	return errors.Join(err, f.Close())
}

// encode writes an entry of a file command. The delimiter cannot be guessed,
// so a value that comes from outside cannot end itself and set other names.
func encode(name, value string, token func() string) (string, error) {
	if name == "" || strings.ContainsAny(name, "=<\r\n") {
		return "", fmt.Errorf("%q cannot be a name", name)
	}
	delimiter := "end_" + token()
	for strings.Contains(value, delimiter) {
		delimiter = "end_" + token()
	}
	return name + "<<" + delimiter + "\n" + value + "\n" + delimiter + "\n", nil
}
