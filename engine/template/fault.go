package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/amount"
)

// ErrUnknown says that a value exists only after something else was made. A
// World returns it, and everything that needed the value does too.
var ErrUnknown = errors.New("known only after deployment")

// An Error is a failure to evaluate, with its place in the template.
type Error struct {
	Path string // Resources.Fn.Properties.Code
	Err  error
}

func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// A Fault is one thing that is wrong with a template.
type Fault struct {
	Path string // "" for the whole template
	Text string
	Err  error // what is behind it, if anything
}

func (f Fault) String() string {
	if f.Path == "" {
		return f.Text
	}
	return f.Path + ": " + f.Text
}

// Faults are all that is wrong with a template, so that nobody has to mend
// them one run at a time.
type Faults struct {
	Template string
	List     []Fault
}

func (f *Faults) Error() string {
	if len(f.List) == 1 {
		return fmt.Sprintf("template %s: %s", f.Template, f.List[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "template %s has %s:", f.Template, amount.Of(len(f.List), "fault"))
	for _, fault := range f.List {
		b.WriteString("\n  " + fault.String())
	}
	return b.String()
}

// Unwrap gives the errors behind the faults.
func (f *Faults) Unwrap() []error {
	var errs []error
	for _, fault := range f.List {
		if fault.Err != nil {
			errs = append(errs, fault.Err)
		}
	}
	return errs
}

func (f *Faults) add(path, format string, args ...any) {
	f.List = append(f.List, Fault{Path: path, Text: fmt.Sprintf(format, args...)})
}

func (f *Faults) addError(path string, err error) {
	var at *Error
	if errors.As(err, &at) {
		path, err = at.Path, at.Err
	}
	fault := Fault{Path: path, Text: err.Error(), Err: err}
	same := func(f Fault) bool { return f.Path == fault.Path && f.Text == fault.Text }
	if !slices.ContainsFunc(f.List, same) { // one condition fails many others
		f.List = append(f.List, fault)
	}
}

func (f *Faults) err() error {
	if len(f.List) == 0 {
		return nil
	}
	return f
}

// A place is where in the template something stands. Places are made for every
// value that is visited and turned into text only for an error.
type place struct {
	in   *place
	name string
}

func (p *place) at(name string) *place { return &place{p, name} }
func (p *place) item(i int) *place     { return &place{p, fmt.Sprintf("[%d]", i)} }
func (p *place) errorf(format string, args ...any) error {
	return p.wrap(fmt.Errorf(format, args...))
}

// wrap adds the place to an error that has none.
func (p *place) wrap(err error) error {
	var at *Error
	if err == nil || errors.As(err, &at) {
		return err
	}
	return &Error{Path: p.String(), Err: err}
}

func (p *place) String() string {
	if p == nil {
		return ""
	}
	if p.in == nil || strings.HasPrefix(p.name, "[") {
		return p.in.String() + p.name
	}
	return p.in.String() + "." + p.name
}
