package retry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/google/go-cmp/cmp"
)

// awsError is an error as the SDK returns it.
func awsError(code, message string, status int) error {
	return &smithy.OperationError{ServiceID: "Svc", OperationName: "Op", Err: &awshttp.ResponseError{
		RequestID: "r1",
		ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
			Err:      &smithy.GenericAPIError{Code: code, Message: message},
		},
	}}
}

var failures = map[byte]error{
	'I': awsError("AccessDenied", "role is not authorized to perform: x", 403),
	'T': awsError("ThrottlingException", "slow down", 400),
	'S': awsError("InternalFailure", "oops", 500),
	'F': awsError("ValidationException", "no", 400),
	'C': awsError("QueueDeletedRecently", "wait", 400),
	'N': awsError("ResourceAlreadyExistsException", "it is taken", 409),
}

// play runs a sequence; "I*" repeats its letter for ever, "I3" three times.
func play(t *testing.T, p Policy, script string) (attempts int, waits []time.Duration, line string) {
	t.Helper()
	var letters []byte
	var forever byte
	for _, f := range strings.Fields(script) {
		switch {
		case strings.HasSuffix(f, "*"):
			forever = f[0]
		default:
			n := 1
			if len(f) > 1 {
				fmt.Sscan(f[1:], &n)
			}
			for range n {
				letters = append(letters, f[0])
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var last time.Time
		task := Task{Name: "Res", GaveUp: func(l string) {
			if line != "" {
				t.Errorf("a second give-up line: %s", l)
			}
			line = l
		}}
		err := Do(t.Context(), p, task, func(context.Context) error {
			if attempts > 0 {
				waits = append(waits, time.Since(last))
			}
			last = time.Now()
			attempts++
			if attempts <= len(letters) {
				return failures[letters[attempts-1]]
			}
			return failures[forever]
		})
		if err == nil {
			t.Error("want the last failure, got nil")
		}
	})
	return attempts, waits, line
}

func TestSequences(t *testing.T) { // T-911 to T-919, T-931 to T-934
	const (
		forI = " - operation error Svc: Op, https response error StatusCode: 403, RequestID: r1, api error AccessDenied: role is not authorized to perform: x [name=AccessDenied http=403 requestId=r1]"
		forS = " - operation error Svc: Op, https response error StatusCode: 500, RequestID: r1, api error InternalFailure: oops [name=InternalFailure http=500 requestId=r1]"
		forT = " - operation error Svc: Op, https response error StatusCode: 400, RequestID: r1, api error ThrottlingException: slow down [name=ThrottlingException http=400 requestId=r1]"
		forF = " - operation error Svc: Op, https response error StatusCode: 400, RequestID: r1, api error ValidationException: no [name=ValidationException http=400 requestId=r1]"
	)
	three := &Schedule{First: 5 * time.Second, Cap: 8 * time.Second, Retries: 3}
	for _, c := range []struct {
		rule, script string
		policy       Policy
		attempts     int
		waits        string // seconds, "2x23" is 23 times 2
		line         string
	}{
		{"propagation for ever spends its 47.75 s (C.1)", "I*", Policy{}, 27, "0.25 0.5 1 2x23",
			"Res: gave up after 26 IAM-propagation retries over 47.75s of propagation backoff (the full propagation budget)" + forI},
		{"throttles for ever: eight retries and no line (C.1)", "T*", Policy{}, 9, "1 2 4 8x5", ""},
		{"server errors for ever (C.1)", "S*", Policy{}, 9, "1 2 4 8x5", "Res: gave up after 8 transient server-error retries (HTTP 5xx)" + forS},
		{"a throttle in between costs an attempt, and its wait is not counted (C.1, T-912, T-933)", "I3 T I*", Policy{}, 27, "0.25 0.5 1 8 2x22",
			"Res: gave up after 25 IAM-propagation retries over 45.75s of propagation backoff (the full propagation budget)" + forI},
		{"both kinds are reported (C.1)", "I3 S I*", Policy{}, 27, "0.25 0.5 1 8 2x22",
			"Res: gave up after 25 IAM-propagation retries over 45.75s of propagation backoff (the full propagation budget) and 1 transient server-error retry (HTTP 5xx)" + forI},
		{"propagation after eight throttles (C.1)", "T8 I*", Policy{}, 27, "1 2 4 8x5 2x18",
			"Res: gave up after 18 IAM-propagation retries over 36.00s of propagation backoff (the full propagation budget)" + forI},
		{"the ninth throttle ends it (C.1)", "T9 I*", Policy{}, 9, "1 2 4 8x5", ""},
		{"throttles after propagation: eight and no more (T-913b)", "I5 T*", Policy{}, 14, "0.25 0.5 1 2 2 8x8",
			"Res: gave up after 5 IAM-propagation retries over 5.75s of propagation backoff" + forT},
		{"another failure ends it (C.1)", "I2 F", Policy{}, 3, "0.25 0.5", "Res: gave up after 2 IAM-propagation retries over 0.75s of propagation backoff" + forF},
		{"one is singular (C.1)", "I F", Policy{}, 2, "0.25", "Res: gave up after 1 IAM-propagation retry over 0.25s of propagation backoff" + forF},
		{"an explicit schedule holds for every class and counts no propagation (C.1, T-914)", "I*", Policy{Schedule: three}, 4, "5 8 8", ""},
		{"name cooldown outlasts a minute (T-908)", "C*", Policy{}, 9, "2 4 8 10x5", ""},
		{"a delete in a deploy has the schedules of the classes (T-911, T-915)", "I*", ForDelete(Classifier{}), 27, "0.25 0.5 1 2x23",
			"Res: gave up after 26 IAM-propagation retries over 47.75s of propagation backoff (the full propagation budget)" + forI},
		{"and of the others (T-911, T-915)", "T*", ForDelete(Classifier{}), 9, "1 2 4 8x5", ""},
		{"destroy (T-915)", "T*", ForDestroy(Classifier{}), 4, "5 10 20", ""},
		{"destroy counts no propagation (T-915a)", "I*", ForDestroy(Classifier{}), 4, "5 10 20", ""},
		{"but server errors (T-915a)", "S*", ForDestroy(Classifier{}), 4, "5 10 20", "Res: gave up after 3 transient server-error retries (HTTP 5xx)" + forS},
		{"a taken name is another's (T-832)", "N*", ForCreate(Classifier{}), 1, "", ""},
		{"unless its holder was deleted before (T-915)", "N*", ForRecreate(Classifier{}), 9, "2 4 8 10x5", ""},
		{"the re-create has one counter over all classes (T-917, T-935)", "N3 I*", ForRecreate(Classifier{}), 27, "2 4 8 2x23",
			"Res: gave up after 23 IAM-propagation retries over 46.00s of propagation backoff (the full propagation budget)" + forI},
		{"a cooldown costs an attempt of the others (T-912)", "C T C*", Policy{}, 9, "2 2 8 10x5", ""},
		{"look-ups wait for throttles only (T-904)", "S*", ForReading(), 1, "", ""},
		{"look-ups wait out throttles (T-915)", "T*", ForReading(), 5, "1 2 4 8", ""},
		{"what no table knows is not retried (T-900)", "F*", Policy{}, 1, "", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			attempts, waits, line := play(t, c.policy, c.script)
			if attempts != c.attempts {
				t.Errorf("attempts: want %d, got %d", c.attempts, attempts)
			}
			if diff := cmp.Diff(spread(c.waits), waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.line, line); diff != "" {
				t.Errorf("give-up line (-want +got):\n%s", diff)
			}
		})
	}
}

func spread(waits string) []time.Duration {
	var ds []time.Duration
	for _, f := range strings.Fields(waits) {
		seconds, times, _ := strings.Cut(f, "x")
		n := 1
		if times != "" {
			fmt.Sscan(times, &n)
		}
		d, _ := time.ParseDuration(seconds + "s")
		for range n {
			ds = append(ds, d)
		}
	}
	return ds
}

// Every wait has a line for the debug log.
func TestRetryLines(t *testing.T) { // (T-930)
	var lines []string
	synctest.Test(t, func(t *testing.T) {
		script := []byte("IITS")
		err := Do(t.Context(), Policy{}, Task{Name: "Res", Retrying: func(line string) { lines = append(lines, line) }}, func(context.Context) error {
			if len(script) == 0 {
				return nil
			}
			letter := script[0]
			script = script[1:]
			return failures[letter]
		})
		if err != nil {
			t.Error(err)
		}
	})
	want := []string{
		"Res: IAM propagation, retry 1/26 in 0.25s (0.25s of propagation backoff): " + failures['I'].Error(),
		"Res: IAM propagation, retry 2/26 in 0.5s (0.75s of propagation backoff): " + failures['I'].Error(),
		"Res: throttled, retry 3/26 in 4s: " + failures['T'].Error(),
		"Res: server error, retry 4/26 in 8s: " + failures['S'].Error(),
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDrainingEndsTheWaitAtOnce(t *testing.T) { // (T-918)
	synctest.Test(t, func(t *testing.T) {
		draining := make(chan struct{})
		time.AfterFunc(300*time.Millisecond, func() { close(draining) })
		start := time.Now()
		calls := 0
		err := Do(t.Context(), Policy{}, Task{Draining: draining}, func(context.Context) error {
			calls++
			return failures['T']
		})
		var interrupted *InterruptedError
		if !errors.As(err, &interrupted) || !errors.Is(err, failures['T']) {
			t.Errorf("want an InterruptedError that keeps the last failure, got %v", err)
		}
		if took := time.Since(start); took != 300*time.Millisecond || calls != 1 {
			t.Errorf("want one call and an end at 300ms, got %d calls and %s", calls, took)
		}
	})
}

func TestReCreateTriesATakenNameAgain(t *testing.T) { // (T-835, T-917)
	taken := awsError("BucketAlreadyExists", "it is taken", 409)
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		start := time.Now()
		err := Do(t.Context(), ForRecreate(Classifier{}), Task{}, func(context.Context) error {
			if calls++; calls < 4 {
				return taken
			}
			return nil
		})
		if err != nil || calls != 4 || time.Since(start) != 14*time.Second {
			t.Errorf("want success at the fourth call after 14s, got %v, %d calls, %s", err, calls, time.Since(start))
		}
		calls = 0
		if err := Do(t.Context(), ForCreate(Classifier{}), Task{}, func(context.Context) error { calls++; return taken }); err != taken || calls != 1 {
			t.Errorf("an ordinary create: want the refusal at once, got %v after %d calls", err, calls)
		}
	})
}

func TestCrowdedWaitsAreSpread(t *testing.T) { // (T-920)
	synctest.Test(t, func(t *testing.T) {
		busy := Task{Crowded: func() bool { return true }}
		for _, c := range []struct {
			err        error
			base, most time.Duration
		}{
			{failures['T'], time.Second, 100 * time.Millisecond},
			{failures['I'], 250 * time.Millisecond, 0},
		} {
			start := time.Now()
			calls := 0
			_ = Do(t.Context(), Policy{}, busy, func(context.Context) error {
				if calls++; calls == 1 {
					return c.err
				}
				return nil
			})
			if off := (time.Since(start) - c.base).Abs(); off > c.most {
				t.Errorf("%v: wait is off by %s, want at most %s", c.err, off, c.most)
			}
		}
	})
}

// What identifies a failure to AWS support is as much as is known of it (T-934).
func TestSignals(t *testing.T) {
	api := &smithy.GenericAPIError{Code: "AccessDenied", Message: "no"}
	for _, tt := range []struct {
		rule string
		err  error
		want string
	}{
		{"all of it", awsError("AccessDenied", "no", 403), " [name=AccessDenied http=403 requestId=r1]"},
		{"no response", fmt.Errorf("create it: %w", api), " [name=AccessDenied no-$metadata]"},
		{"the deepest name", fmt.Errorf("%w: %w", &smithy.GenericAPIError{Code: "Outer"}, api), " [name=AccessDenied no-$metadata]"},
		{"the name of what was answered", fmt.Errorf("%w: %w", awsError("Answered", "no", 500), api), " [name=Answered http=500 requestId=r1]"},
		{"nothing", errors.New("no"), ""},
	} {
		if got := signals(tt.err); got != tt.want {
			t.Errorf("%s: want %q, got %q", tt.rule, tt.want, got)
		}
	}
}
