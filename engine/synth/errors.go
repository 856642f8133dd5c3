package synth

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/lookup"
)

// A NoAppError says that nobody named an app, or that its folder is none.
type NoAppError struct {
	Dir string
	Err error // what is wrong with the folder
}

func (e *NoAppError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("there is no app to run in %s: %v", e.Dir, e.Err)
	}
	if e.Dir == "." {
		return "no app was named for the current directory"
	}
	return "no app was named for " + e.Dir
}

func (e *NoAppError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *NoAppError) Remedy() string {
	if e.Err != nil {
		return "correct the working directory: it is the folder of the app's cdk.json"
	}
	return "name the app's command, or the folder of its cloud assembly, with the input app, the variable CDKD_APP, or app in cdk.json"
}

// A NoProgramError says that there is nothing to run an app with: no shell, as
// in the Action's image, or no node for a script.
type NoProgramError struct{ Program, Command string }

func (e *NoProgramError) Error() string {
	return fmt.Sprintf("run the app %q: there is no %s in PATH", e.Command, e.Program)
}

// Remedy says what to do about it.
func (e *NoProgramError) Remedy() string {
	return "run the app where its language is, with `npx cdk synth` in an earlier step, and name the folder that it wrote as app"
}

// notFound is the exit status by which a shell says that a program is not
// there.
const notFound = 127

// An AppError says that the app failed.
type AppError struct {
	Command, Dir string
	Code         int    // -1 when a signal ended it
	Status       string // in words
	Stderr       string // the end of it, without credentials
}

func (e *AppError) Error() string {
	text := fmt.Sprintf("the app %q in %s failed: %s", e.Command, e.Dir, e.Status)
	if e.Stderr != "" {
		text += "\n" + e.Stderr
	}
	return text
}

// Remedy says what to do about it.
func (e *AppError) Remedy() string {
	if e.Code == notFound {
		return "install what the app needs before this step, for example with npm ci; " +
			"if its language is not installed here, run `npx cdk synth` in an earlier step and name the folder that it wrote as app"
	}
	return "correct the app; run its command in its folder to see it fail by itself"
}

// A TimeoutError says that the app did not end.
type TimeoutError struct {
	Command, Dir string
	After        time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the app %q in %s did not end within %s and was stopped", e.Command, e.Dir, e.After)
}

// Remedy says what to do about it.
func (e *TimeoutError) Remedy() string {
	return "look in the log for what it was doing; an app must not wait for input, and bundling can be slow the first time"
}

// A NoAssemblyError says that the app ended well, and wrote nothing or
// something else.
type NoAssemblyError struct {
	Command, Dir, Output string
	Err                  error // what is wrong with what it wrote
}

func (e *NoAssemblyError) Error() string {
	text := fmt.Sprintf("the app %q in %s ended without writing a cloud assembly to %s", e.Command, e.Dir, e.Output)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *NoAssemblyError) Unwrap() error { return e.Err }

// Remedy says what to do about it.
func (e *NoAssemblyError) Remedy() string {
	return "check that the command runs the app itself, and that the app calls synth() and sets no outdir of its own"
}

// A LookupError says that the app goes on asking for values that it cannot be
// given.
type LookupError struct {
	Dir     string
	Answers []lookup.Answer
}

func (e *LookupError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the app in %s asks for values that cannot be looked up:", e.Dir)
	for _, a := range e.Answers {
		switch {
		case a.Err != nil:
			fmt.Fprintf(&b, "\n  %s: %v", a.Key, a.Err)
		default:
			fmt.Fprintf(&b, "\n  %s: was answered, and is asked for again", a.Key)
		}
	}
	return b.String()
}

// Unwrap gives why each was not answered.
func (e *LookupError) Unwrap() []error {
	var errs []error
	for _, a := range e.Answers {
		if a.Err != nil {
			errs = append(errs, a.Err)
		}
	}
	return errs
}

// Remedy says what to do about it.
func (e *LookupError) Remedy() string {
	for _, err := range e.Unwrap() {
		if _, unknown := errors.AsType[*lookup.UnknownError](err); unknown {
			return "update the action, or put the values into cdk.context.json under the keys that are named here"
		}
	}
	return "make sure that account and region are the right ones and hold what the app looks for; values can also be put into cdk.context.json under the keys that are named here"
}
