package ci

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/value"
)

// An Output is one row of the documentation of the step's outputs.
type Output struct{ Name, Description string }

// Outputs are the outputs that have a fixed name. Those of the stacks are
// named by [OutputNames].
func Outputs() []Output {
	return []Output{
		{"outcome", "How the run ended: `cancelled`, `failed`, `locked`, `plan-changed`, `approval-required`, `drifted`, `partial`, `success` or `no-change`; of several stacks' the first in this list."},
		{"exit-code", "What was decided, whatever the step's conclusion: 0 done, 1 not done, 2 done in part, 130 interrupted."},
		{"changed", "`true` when something was changed or, by `diff` and `dry-run`, would be."},
		{"created", "How many resources were created. What a failed deploy undid is not counted, here and in the other counts."},
		{"updated", "How many resources were updated or replaced."},
		{"deleted", "How many resources were deleted."},
		{"skipped", "How many resources were knowingly left alone."},
		{"failed", "How many resources failed."},
		{"unchanged", "How many resources had nothing to do."},
		{"unaddressed", "What was left to take care of, the reason for the outcome `partial` or for a rollback that is incomplete: a JSON list of {stack, logicalId, type, physicalId, reason, remedy}."},
		{"pending", "What was let go, and the next run settles: a JSON list of {stack, logicalId, type, physicalId, change, stage, startedAt}. The stage is `sent` without an answer, `accepted`, or `settling` for what is made and recorded."},
		{"failure-reason", "Why it failed, in one stable word: `lock`, `registry`, `name-held`, `approval`, `plan-changed`, `synth`, `template`, `credentials`, `state-conflict`, `resource`, `output`, `input`, also where `fail` made it a failure, or `internal`, a fault of the program."},
		{"lock", "Who holds the lock that could not be had: JSON {owner, operation, stack, region, expiresAt, runUrl}."},
		{"outputs", "The outputs of the stacks: JSON {stack: {name: value}}. A stack that the run has in several regions is named `stack (region)`."},
		{"stacks", "Of `list` and `synth`: the names of the stacks, as a JSON list, each after those that it depends on."},
		{"waves", "Of `list` and `synth`: the names of the stacks as a JSON list of lists. The stacks of one list can be deployed side by side when those of the lists before it are done."},
		{"matrix", "Of `list` and `synth`: a job for each stack, as a `strategy` takes it for `matrix` through fromJSON: JSON {include: [{stack, account, region, wave}]}. Account and region are empty where the stack can go anywhere; the wave is the place in `waves`, counted from 0."},
		{"assembly", "Of `synth`: the folder of the cloud assembly."},
		{"plan-digest", "The name of what would be done, if only nothing, for `approved-plan`. It belongs to the pull request, if the run is for one."},
		{"plan-file", "The file that the input `plan-file` named, when the report was written there."},
		{"drifted", "Of `drift`: `true` when something is not as recorded, or was not before it was accepted or reverted."},
		{"comment-url", "The address of the pull request comment."},
		{"run-id", "The id under which the run is recorded in the state bucket."},
	}
}

// An Ending is what a run comes to, once the inputs had their say.
type Ending struct {
	Outcome result.Outcome
	Reason  result.Reason // "" unless it failed
	// ExitCode is what was decided; StepCode is what the process exits with.
	ExitCode, StepCode int
}

// End maps a run to its exit. allow-unaddressed makes a partial outcome count
// as done; on-partial: warn only keeps the step green; fail makes a diff with
// changes a failure.
func End(run *result.Run, in *Inputs) Ending {
	e := Ending{Outcome: run.Outcome, Reason: run.Reason}
	if e.Outcome == "" {
		e.Outcome = result.NoChange
	}
	if in.Command == Diff && in.Fail && e.Outcome == result.Success {
		e.Outcome, e.Reason = result.Failed, result.ReasonInput
	}
	e.ExitCode = e.Outcome.ExitCode()
	if e.Outcome == result.Partial && in.AllowUnaddressed {
		e.ExitCode = 0
	}
	e.StepCode = in.StepCode(e.Outcome, e.ExitCode)
	return e
}

// StepCode is what the process exits with where code was decided.
func (in *Inputs) StepCode(o result.Outcome, code int) int {
	if o == result.Partial && in.OnPartial == PartialWarn {
		return 0
	}
	return code
}

// SetRun writes the outputs of a run that ended, those of its stacks too. The
// error joins those of all outputs that could not be written.
func (s *Surface) SetRun(run *result.Run, end Ending) error {
	c := run.Counts()
	unaddressed, pending := []result.Unaddressed{}, []result.Pending{}
	var lock *result.Lock
	outputs := value.NewObject()
	of := map[string]int{}
	for _, st := range run.Stacks {
		of[st.Name]++
	}
	for _, st := range run.Stacks {
		unaddressed = append(unaddressed, st.Unaddressed...)
		pending = append(pending, st.Pending...)
		if lock == nil {
			lock = st.Lock
		}
		if st.Outputs.Len() > 0 {
			key := st.Name
			if of[key] > 1 {
				key += " (" + st.Place() + ")"
			}
			outputs.Set(key, st.Outputs)
		}
	}
	lockJSON := ""
	if lock != nil {
		lockJSON = compact(lock)
	}
	var errs []error
	for _, o := range [][2]string{
		{"outcome", string(end.Outcome)},
		{"exit-code", strconv.Itoa(end.ExitCode)},
		{"changed", strconv.FormatBool(run.Changed() && !heldBack(run))},
		{"created", strconv.Itoa(c.Created)},
		{"updated", strconv.Itoa(c.Updated)},
		{"deleted", strconv.Itoa(c.Deleted)},
		{"skipped", strconv.Itoa(c.Skipped)},
		{"failed", strconv.Itoa(c.Failed)},
		{"unchanged", strconv.Itoa(c.Unchanged)},
		{"failure-reason", string(end.Reason)},
		{"run-id", run.RunID},
		{"plan-digest", run.PlanDigest},
		{"lock", lockJSON},
		{"unaddressed", compact(unaddressed)},
		{"pending", compact(pending)},
	} {
		errs = append(errs, s.SetOutput(o[0], o[1]))
	}
	errs = append(errs, s.setOutput("outputs", value.JSON(outputs), maxStackUnits))
	var ids []StackID
	for _, st := range run.Stacks {
		ids = append(ids, StackID{st.Name, st.Region, st.Account})
	}
	names := NewOutputNames(ids)
	for _, st := range run.Stacks {
		errs = append(errs, s.SetStack(names, st))
	}
	return errors.Join(errs...)
}

// heldBack tells whether a deploy was not begun, for want of somebody's agreement.
func heldBack(run *result.Run) bool {
	return run.Command == string(Deploy) && (run.Outcome == result.ApprovalRequired || run.Outcome == result.PlanChanged)
}

// SetStack writes the outputs of one stack, as soon as they are known.
func (s *Surface) SetStack(names *OutputNames, st *result.Stack) error {
	var errs []error
	for output, name := range names.Of(StackID{st.Name, st.Region, st.Account}, st.Outputs.Keys()) {
		v := st.Outputs.Value(output)
		text, ok := value.Text(v)
		if !ok {
			text = value.JSON(v)
		}
		errs = append(errs, s.setOutput(name, text, maxStackUnits))
	}
	return errors.Join(errs...)
}

// compact is JSON on one line that a shell can read: no HTML escapes.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "" // of the types that are given here none fails
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// OutputNameRule documents what [OutputNames] does.
const OutputNameRule = `The output of a stack is named by stack and output with a dot between, so that stacks do not overwrite each other's. A character that is neither an ASCII letter or digit nor "-" or "_" becomes "_". GitHub does not tell upper and lower case apart: where two stacks of the run, or two outputs of a stack, come to the same name that way, each of them gets "_" and eight hexadecimal digits, the start of the SHA-256 of the output's name or, for stacks, of the stack's name, a line end and its region, and, in an account other than that of the credentials or the first role, another line end and the account. The name does not depend on which stack was done first.`

// OutputNames names the step outputs of stacks by [OutputNameRule].
type OutputNames struct{ prefix map[StackID]string }

// A StackID tells the stacks of a run apart.
type StackID struct {
	Name, Region string
	Account      string // "" for the caller's
}

// NewOutputNames takes all the stacks of the run.
func NewOutputNames(stacks []StackID) *OutputNames {
	return &OutputNames{distinct(stacks, func(s StackID) (string, string) {
		identity := s.Name + "\n" + s.Region
		if s.Account != "" {
			identity += "\n" + s.Account
		}
		return s.Name, identity
	})}
}

// Of returns the names of a stack's outputs, by output.
func (n *OutputNames) Of(stack StackID, outputs []string) map[string]string {
	prefix, ok := n.prefix[stack]
	if !ok {
		prefix = acceptable(stack.Name)
	}
	names := distinct(outputs, func(o string) (string, string) { return o, o })
	for o, name := range names {
		names[o] = prefix + "." + name
	}
	return names
}

// distinct gives each item an acceptable name; names gives an item's own and
// what tells it from all others.
func distinct[T comparable](items []T, names func(T) (name, identity string)) map[T]string {
	taken := map[string]int{}
	items = slices.Clone(items)
	seen := map[T]bool{}
	items = slices.DeleteFunc(items, func(i T) bool {
		twice := seen[i]
		seen[i] = true
		return twice
	})
	for _, item := range items {
		name, _ := names(item)
		taken[strings.ToLower(acceptable(name))]++
	}
	out := make(map[T]string, len(items))
	for _, item := range items {
		name, identity := names(item)
		out[item] = acceptable(name)
		if taken[strings.ToLower(out[item])] > 1 {
			sum := sha256.Sum256([]byte(identity))
			out[item] += "_" + hex.EncodeToString(sum[:4])
		}
	}
	return out
}

func acceptable(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
}
