package ci

import (
	"crypto/rand"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mattn/go-isatty"

	"github.com/org/cdkd-action/engine/secret"
)

// A Surface is where a run meets who started it: a workflow step, or a
// terminal. Its methods are safe for concurrent use. What a terminal does not
// have (outputs, a summary, masks) is quietly not written there.
type Surface struct {
	environ []string
	out     io.Writer // results; in a step, everything
	err     io.Writer // the log of a terminal
	in      io.Reader // where a person answers, nil when there is none
	token   func() string
	outlet  *outlet // nil: writes go straight to the streams
	live    *live   // nil: no terminal that a table can be shown on

	mu      sync.Mutex
	step    bool
	written map[Level]int
	resume  string // the token that lets workflow commands through again
	child   int    // child outputs under way
	masks   *secret.Set
	outputs map[string]string // as last written

	unwritten map[string]bool // the variables whose files could not be written to
}

// FromEnv returns the surface of this process. From the moment on that hurry
// closes nothing waits for whoever reads what it prints; see [Surface.Close].
func FromEnv(hurry <-chan struct{}) *Surface {
	most := outletBytes
	if isatty.IsTerminal(os.Stderr.Fd()) {
		most = terminalBytes
	}
	o := newOutlet(hurry, most)
	s := New(os.Environ(), o.stream(os.Stdout), o.stream(os.Stderr))
	s.outlet = o
	s.live = newLive(s)
	if isatty.IsTerminal(os.Stdin.Fd()) && isatty.IsTerminal(os.Stderr.Fd()) && !s.InStep() {
		s.in = os.Stdin
	}
	return s
}

// New returns the surface of a process with the environment ("name=value") and
// the streams given. Nobody answers there.
func New(environ []string, out, err io.Writer) *Surface {
	s := &Surface{
		environ: slices.Clone(environ),
		out:     out,
		err:     err,
		token:   rand.Text,
		written: map[Level]int{},
		outputs: map[string]string{},

		unwritten: map[string]bool{},
	}
	s.masks = secret.NewSet(s.announceMask)
	for _, v := range s.Credentials() {
		s.mask(v) // the runner knows them: it is not yet known that there is one
	}
	if s.step = s.Getenv("GITHUB_ACTIONS") == "true"; s.step {
		// Commands, the log and the output of children share one stream: the
		// runner keeps no order between two.
		s.err = out
	}
	return s
}

// Close waits until what was printed is out, and not for long when there is a
// hurry. What is printed after it is lost.
func (s *Surface) Close() {
	if s.outlet != nil {
		s.outlet.close()
	}
	s.live.close()
}

// InStep tells whether the process is a step of a workflow.
func (s *Surface) InStep() bool { return s.step }

// Interactive tells whether somebody can be asked.
func (s *Surface) Interactive() bool { return s.in != nil }

// credentials are the variables of a step with which others could act as it.
var credentials = []string{
	"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
	"GITHUB_TOKEN", "INPUT_GITHUB-TOKEN", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
}

// Credentials are the secrets in the surface's environment. Real ones are long: a
// short one is a word that somebody made up for a test.
func (s *Surface) Credentials() []string {
	const short = 16
	var all []string
	for _, name := range credentials {
		if v := s.Getenv(name); len(v) >= short {
			all = append(all, v)
		}
	}
	return all
}

// Getenv returns the variable of the surface's environment, "" without one.
func (s *Surface) Getenv(name string) string {
	for _, kv := range slices.Backward(s.environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
