package customresource

import (
	"fmt"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// An answer is what a handler said.
type answer struct {
	physicalID string
	data       *value.Object
	noEcho     bool
}

// parse reads what a handler said, and says what of it has no meaning.
func parse(r *provider.Request, o *value.Object) *answer {
	a := &answer{data: o.Object("Data")}
	if a.data == nil {
		a.data = value.NewObject()
		ignored(r, o, "Data", "an object")
	}
	var isText bool
	if a.physicalID, isText = value.Text(o.Value("PhysicalResourceId")); !isText {
		ignored(r, o, "PhysicalResourceId", "a string")
	}
	echo, _ := value.Text(o.Value("NoEcho"))
	a.noEcho = strings.EqualFold(echo, "true")
	return a
}

func ignored(r *provider.Request, o *value.Object, name, want string) {
	if v := o.Value(name); v != nil {
		notice(r, fmt.Sprintf("%s (%s): %s of its handler's answer has no effect: it is %s, not %s", r.LogicalID, r.Type, name, value.Kind(v), want))
	}
}

// read judges a full response. An empty requestID is not compared.
func read(r *provider.Request, requestID string, o *value.Object) (*answer, error) {
	for _, c := range []struct{ name, want string }{
		{"RequestId", requestID}, {"LogicalResourceId", r.LogicalID}, {"StackId", r.Stack.ID},
	} {
		if got, ok := o.Get(c.name); ok && c.want != "" && got != c.want {
			return nil, fmt.Errorf("%s (%s): its handler answered another request: %s is not the one that was sent", r.LogicalID, r.Type, c.name)
		}
	}
	a := parse(r, o)
	if o.String("Status") == "SUCCESS" {
		return a, nil
	}
	return nil, &FailedError{LogicalID: r.LogicalID, Type: r.Type, Reason: or(o.String("Reason"), "Unknown reason"), PhysicalID: a.physicalID}
}

// A FailedError is a handler that answered FAILED.
type FailedError struct {
	LogicalID, Type string
	Request         string // Create, Update, Delete
	Reason          string
	PhysicalID      string // that it gave all the same
	// Denied is the signal by which it looks like a denial that may pass, Spent
	// how often it was invoked again for that.
	Denied string
	Spent  int
	// Log is the end of what the handler wrote during the first invocation,
	// when it may say more than the reason.
	Log string

	inLog bool
}

func (e *FailedError) Error() string {
	s := fmt.Sprintf("%s of %s (%s) failed: its handler said %q", e.Request, e.LogicalID, e.Type, e.Reason)
	if e.Spent > 0 {
		where := "its reason"
		if e.inLog {
			where = "its log"
		}
		s += fmt.Sprintf("; invoked again %d times because of %q in %s", e.Spent, e.Denied, where)
	}
	if e.Log != "" {
		s += "\nfrom the log of the invocation:\n" + e.Log
	}
	return s
}

// A FunctionError is a handler that crashed.
type FunctionError struct {
	LogicalID, Type string
	Kind            string // Handled or Unhandled
	Payload, Log    string
}

func (e *FunctionError) Error() string {
	s := fmt.Sprintf("the handler of %s (%s) failed (%s): %s", e.LogicalID, e.Type, e.Kind, e.Payload)
	if e.Log != "" {
		s += "\nfrom the log of the invocation:\n" + e.Log
	}
	return s
}

// A TimeoutError is a handler that did not answer.
type TimeoutError struct {
	LogicalID, Type, Request string
	After                    time.Duration // 0: by the time noted by an earlier run
	Unusable                 string        // why what it has put is no answer, if it has put something
	Log                      string
}

func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("%s of %s (%s): its handler did not answer", e.Request, e.LogicalID, e.Type)
	if e.After > 0 {
		s += fmt.Sprintf(" within %s", e.After)
	}
	if e.Unusable != "" {
		s += "; what it has put is no answer: " + e.Unusable
	}
	if e.Log != "" {
		s += "\nfrom the log of the invocation:\n" + e.Log
	}
	return s
}

// An OpenError says that the wait for an answer was let go. The response
// object is still there. It is provider.ErrDraining, unless the context ended.
type OpenError struct {
	Sent
	LogicalID, Type, Request string
	Err                      error
}

func (e *OpenError) Error() string {
	return fmt.Sprintf("%s of %s (%s): its handler has not answered yet: %v", e.Request, e.LogicalID, e.Type, e.Err)
}

func (e *OpenError) Unwrap() error { return e.Err }
