package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/org/cdkd-action/ci"
	"github.com/org/cdkd-action/signals"
	"github.com/org/cdkd-action/signals/container"
)

// A dockerEngine knows the post step's container and perhaps the main one's.
type dockerEngine struct {
	self, main string
	running    atomic.Bool
	log        string
	since      string
	unfinished bool // the log does not end, and neither does the container
	code       int
}

func (d *dockerEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/containers/" + d.self + "/json":
		io.WriteString(w, `{"State":{"Status":"running","Running":true}}`)
	case "/containers/" + d.main + "/json":
		if !d.running.Load() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		io.WriteString(w, `{"State":{"Status":"running","Running":true}}`)
	case "/containers/" + d.main + "/wait":
		if d.unfinished {
			<-r.Context().Done()
			return
		}
		d.running.Store(false)
		fmt.Fprintf(w, `{"StatusCode":%d}`, d.code)
	case "/containers/" + d.main + "/logs":
		d.since = r.URL.Query().Get("since")
		w.Write(append(binary.BigEndian.AppendUint32([]byte{1, 0, 0, 0}, uint32(len(d.log))), d.log...))
		w.(http.Flusher).Flush()
		if d.unfinished {
			<-r.Context().Done()
		}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func TestPostStepWaitsForTheContainer(t *testing.T) {
	const main = "main-container"
	cancelled := time.UnixMilli(1_700_000_000_000)
	for _, tt := range []struct {
		name    string
		engine  *dockerEngine // nil: no socket
		runs    bool
		self    string
		kept    memento
		patient bool // otherwise the time is over once the log was shown
		ended   bool
		running bool
		spoke   bool
		prints  []string
		since   string
	}{
		{name: "a container that is gone is proof (S-440)", patient: true,
			engine: &dockerEngine{self: "post", main: main}, self: "post", kept: memento{container: main}, ended: true},
		{name: "without a socket nothing is known (S-440)", patient: true, self: "post", kept: memento{container: main}},
		{name: "an engine that does not know ourselves proves nothing (S-440)", patient: true,
			engine: &dockerEngine{self: "post", main: main}, self: "elsewhere", kept: memento{container: main}},
		{name: "a step that did not know its container (S-440)", patient: true,
			engine: &dockerEngine{self: "post", main: main}, self: "post"},
		{name: "one at work is waited for, and the rest of its log is shown (G-0.4)", patient: true, runs: true,
			engine: &dockerEngine{self: "post", main: main, code: 130, log: "saved at last\n::stop-commands::x\n::set-output name=a::b\n::error title=T::it%0Afailed\nunfinished"},
			self:   "post", kept: memento{container: main, interrupted: cancelled}, ended: true,
			prints: []string{"saved at last", "it\nfailed", "unfinished"}, since: "1700000009.900000000"},
		{name: "one that ended by itself has told so (G-8.8)", patient: true, runs: true,
			engine: &dockerEngine{self: "post", main: main, log: "deployed\n"},
			self:   "post", kept: memento{container: main}, ended: true, spoke: true, prints: []string{"deployed"}},
		{name: "one that was killed has not (G-8.8)", patient: true, runs: true,
			engine: &dockerEngine{self: "post", main: main, log: "at work\n", code: 137},
			self:   "post", kept: memento{container: main}, ended: true, prints: []string{"at work"}},
		{name: "one that outlasts the limit is left alone (S-440)", runs: true,
			engine: &dockerEngine{self: "post", main: main, log: "still at it\n", unfinished: true},
			self:   "post", kept: memento{container: main}, running: true, prints: []string{"still at it"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "docker.sock")
			if tt.engine != nil {
				tt.engine.running.Store(tt.runs)
				listener, err := net.Listen("unix", path)
				if err != nil {
					t.Fatal(err)
				}
				server := &http.Server{Handler: tt.engine}
				go server.Serve(listener)
				t.Cleanup(func() { server.Close() })
			}
			docker := container.Dial(path)
			defer docker.Close()

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &watched{until: "still at it", found: cancel}
			if tt.patient {
				out.found = func() {}
			}
			window := signals.Open(signals.Options{Signals: make(chan os.Signal)})
			defer window.Close()
			s := newStep(window, ci.New([]string{"GITHUB_ACTIONS=true"}, out, io.Discard))
			s.log = zerolog.Nop()
			s.children = &children{surface: s.surface}
			got := s.awaitMain(ctx, docker, tt.self, tt.kept)
			if !got.at.IsZero() != tt.ended || got.running != tt.running || got.spoke != tt.spoke {
				t.Errorf("got %+v", got)
			}
			for _, want := range tt.prints {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is not in the log:\n%s", want, out.String())
				}
			}
			if strings.Contains(out.String(), "set-output") {
				t.Errorf("a command of the other step is repeated:\n%s", out.String())
			}
			if tt.engine != nil && tt.engine.since != tt.since {
				t.Errorf("asked for the log since %q, want %q", tt.engine.since, tt.since)
			}
		})
	}
}

// What was kept may come from anybody who could write to the step's files: locks
// of other runs are not looked at, and nothing but a container is asked for (S-440).
func TestPostStepBelievesNoForgery(t *testing.T) {
	const (
		container = "4cf3a1b2c3d4e5f60718293a4b5c6d7e8f9012233445566778899aabbccddeef"
		stacks    = `[{"Stack":"Shop","Region":"eu-west-1"}]`
	)
	for _, tt := range []struct {
		name string
		kept map[string]string
		err  string // "" for none
	}{
		{name: "its own", kept: map[string]string{"owner": "root@gha-77-2-0a1b2c3d:1", "container": container, "stacks": stacks}},
		{name: "its own, in no container", kept: map[string]string{"owner": "root@gha-77-2-0a1b2c3d:1", "stacks": stacks}},
		{name: "another run's lock", kept: map[string]string{"owner": "root@gha-78-1-0a1b2c3d:1", "container": container, "stacks": stacks}, err: "no owner of this run"},
		{name: "another attempt's", kept: map[string]string{"owner": "root@gha-77-1-0a1b2c3d:1", "container": container, "stacks": stacks}, err: "no owner of this run"},
		{name: "another attempt's that begins alike", kept: map[string]string{"owner": "root@gha-77-22-0a1b2c3d:1", "stacks": stacks}, err: "no owner of this run"},
		{name: "a person's", kept: map[string]string{"owner": "ann@laptop:4711", "container": container, "stacks": stacks}, err: "no owner of this run"},
		{name: "a path in place of a container", kept: map[string]string{"owner": "root@gha-77-2-0a1b2c3d:1", "container": "../images", "stacks": stacks}, err: "no container"},
		{name: "a container by its name", kept: map[string]string{"owner": "root@gha-77-2-0a1b2c3d:1", "container": "another", "stacks": stacks}, err: "no container"},
		{name: "stacks that are none", kept: map[string]string{"owner": "root@gha-77-2-0a1b2c3d:1", "stacks": "{"}, err: "JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := map[string]string{"GITHUB_RUN_ID": "77", "GITHUB_RUN_ATTEMPT": "2"}
			for name, value := range tt.kept {
				env["STATE_"+name] = value
			}
			_, err := recall(func(name string) string { return env[name] })
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %v, want %q", err, tt.err)
			}
		})
	}
}

// A socket behind which the engine dies, or that was never one, leaves the post
// step without sight, not waiting (S-440).
func TestPostStepLosesSight(t *testing.T) {
	for name, serve := range map[string]func(seen int, w http.ResponseWriter){
		"garbage from the beginning": func(_ int, w http.ResponseWriter) { io.WriteString(w, "<html>") },
		"nothing of the container": func(seen int, w http.ResponseWriter) {
			if seen == 1 {
				io.WriteString(w, `{"State":{"Status":"running","Running":true}}`)
				return
			}
			w.WriteHeader(http.StatusInternalServerError)
		},
		"no more after its log": func(seen int, w http.ResponseWriter) {
			if seen <= 2 {
				io.WriteString(w, `{"State":{"Status":"running","Running":true}}`)
				return
			}
			w.Write([]byte("neither a frame nor JSON"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "docker.sock")
			listener, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			var seen atomic.Int32
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				serve(int(seen.Add(1)), w)
			})}
			go server.Serve(listener)
			t.Cleanup(func() { server.Close() })
			docker := container.Dial(path)
			defer docker.Close()
			window := signals.Open(signals.Options{Signals: make(chan os.Signal)})
			defer window.Close()
			s := newStep(window, ci.New([]string{"GITHUB_ACTIONS=true"}, io.Discard, io.Discard))
			s.log = zerolog.Nop()
			s.children = &children{surface: s.surface}
			if got := s.awaitMain(t.Context(), docker, "post", memento{container: "main"}); got != (end{}) {
				t.Errorf("got %+v, want nothing known", got)
			}
		})
	}
}

// A log without a line's end must not fill the memory.
func TestReplayOfAnEndlessLine(t *testing.T) {
	r := &replay{surface: ci.New(nil, io.Discard, io.Discard), to: io.Discard}
	for range 100 {
		r.Write(bytes.Repeat([]byte("x"), 1<<15))
	}
	if len(r.rest) > longestLine {
		t.Errorf("%d bytes are kept", len(r.rest))
	}
}

// watched tells when a text was written.
type watched struct {
	bytes.Buffer
	until string
	found func()
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.until) {
		w.found()
	}
	return n, err
}

// What the step's container masks too late for the runner is masked by the post
// step, and not shown as the argument of a command.
func TestReplayKeepsSecrets(t *testing.T) {
	var out bytes.Buffer
	surface := ci.New([]string{"GITHUB_ACTIONS=true"}, &out, io.Discard)
	child := surface.Child()
	r := &replay{surface: surface, to: child}
	for _, chunk := range []string{"::add-ma", "sk::hunter22%0Asecond-line\nthe password is hunter22\n", "and second-line\n"} {
		fmt.Fprint(r, chunk)
	}
	r.close()
	child.Close()
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "hunter22") && !strings.HasPrefix(line, "::add-mask::") {
			t.Errorf("the secret is shown: %q", line)
		}
	}
	if !strings.Contains(out.String(), "the password is ***\nand ***\n") {
		t.Errorf("got:\n%s", out.String())
	}
}
