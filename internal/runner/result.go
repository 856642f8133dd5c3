package runner

import (
	"maps"
	"strings"
	"time"
)

// A Conclusion is how GitHub shows a step.
type Conclusion string

// The conclusions of a step that ran.
const (
	Success   Conclusion = "success"
	Failure   Conclusion = "failure"
	Cancelled Conclusion = "cancelled"
)

// A Result is what the runner makes of a step that ended.
type Result struct {
	// ExitCode is the docker client's, which is the container's; -1 when the
	// client was killed.
	ExitCode int
	// Conclusion is Cancelled for a step that was cancelled, whatever it exited
	// with.
	Conclusion Conclusion

	Outputs, State, Env map[string]string
	Path                []string
	Summary             string
	Annotations         []Annotation
	Log                 string // with what was masked replaced

	// Faults are what the runner objects to. Each fails the step.
	Faults []string

	// Took is from start to end; CancelTook from the first signal on.
	Took, CancelTook time.Duration
}

func (s *Step) result() (*Result, error) {
	log := s.Log()
	said := readCommands(log)
	r := &Result{
		ExitCode:    s.client.ProcessState.ExitCode(),
		Outputs:     said.outputs,
		State:       said.state,
		Env:         map[string]string{},
		Annotations: said.annotations,
		Log:         said.masked(log),
		Took:        s.ended.Sub(s.started),
	}
	// A summary that is too long is an annotation, not a failure.
	summary, err := readSummary(s.files["GITHUB_STEP_SUMMARY"])
	if err != nil {
		r.Annotations = append(r.Annotations, Annotation{Level: "error", Message: err.Error()})
	}
	r.Summary = said.masked(summary)
	for variable, into := range map[string]map[string]string{
		"GITHUB_OUTPUT": r.Outputs, "GITHUB_STATE": r.State, "GITHUB_ENV": r.Env,
	} {
		pairs, err := readPairs(s.files[variable])
		if err != nil {
			r.Faults = append(r.Faults, variable+": "+err.Error())
		}
		for _, p := range pairs {
			into[p.name] = p.value
		}
	}
	if _, ok := r.Env["NODE_OPTIONS"]; ok {
		delete(r.Env, "NODE_OPTIONS")
		r.Faults = append(r.Faults, "GITHUB_ENV: NODE_OPTIONS cannot be set")
	}
	path, err := readFile(s.files["GITHUB_PATH"])
	if err != nil {
		return nil, err
	}
	r.Path = strings.Fields(path)

	switch {
	case !s.cancelled.IsZero():
		r.Conclusion, r.CancelTook = Cancelled, s.ended.Sub(s.cancelled)
		if s.timedOut {
			r.Conclusion = Failure
		}
	case r.ExitCode != 0 || len(r.Faults) > 0:
		r.Conclusion = Failure
	default:
		r.Conclusion = Success
	}
	return r, nil
}

// Post returns the post step of a step: the same action with what it saved, or
// false when the action has none.
func (r *Result) Post(use Use) (Use, bool) {
	if use.Action.Runs.PostEntrypoint == "" {
		return Use{}, false
	}
	use.Entrypoint = use.Action.Runs.PostEntrypoint
	use.State = maps.Clone(r.State)
	return use, true
}
