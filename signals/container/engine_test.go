package container

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestID(t *testing.T) {
	const id = "4cf3a1b2c3d4e5f60718293a4b5c6d7e8f9012233445566778899aabbccddeef"
	for name, tt := range map[string]struct{ mounts, want string }{
		"a container":                {"612 594 8:1 /data/containers/" + id + "/resolv.conf /etc/resolv.conf rw - ext4 /dev/sda1 rw\n", id},
		"on the network of the host": {"1 2 8:1 /x / rw - ext4 a rw\n612 594 8:1 /lib/docker/containers/" + id + "/hostname /etc/hostname rw - ext4 /dev/sda1 rw\n", id},
		"no container":               {"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", ""},
		"somebody else's is mounted": {"612 594 8:1 /containers/" + id + "/hosts /mnt/hosts rw - ext4 /dev/sda1 rw\n", ""},
		"a folder with another name": {"612 594 8:1 /containers/short/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n", ""},
	} {
		if got := idIn(tt.mounts); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// serve answers for an engine.
func serve(t *testing.T, handler http.HandlerFunc) *Engine {
	t.Helper()
	path := filepath.Join(t.TempDir(), "docker.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	go server.Serve(listener)
	e := Dial(path)
	t.Cleanup(func() {
		e.Close()
		server.Close()
	})
	return e
}

func TestState(t *testing.T) {
	for name, tt := range map[string]struct {
		status  int
		body    string
		running bool
		ended   string // "" for none, "now" for when it was asked
		err     string
	}{
		"it runs":                       {200, `{"State":{"Status":"running","Running":true,"FinishedAt":"0001-01-01T00:00:00Z"}}`, true, "", ""},
		"it was made and has not begun": {200, `{"State":{"Status":"created","FinishedAt":"0001-01-01T00:00:00Z"}}`, true, "", ""},
		"it has ended":                  {200, `{"State":{"Status":"exited","FinishedAt":"2026-01-02T03:04:05Z"}}`, false, "2026-01-02T03:04:05Z", ""},
		"it died and nobody knows when": {200, `{"State":{"Status":"dead","FinishedAt":"0001-01-01T00:00:00Z"}}`, false, "now", ""},
		"it is gone":                    {404, `{"message":"No such container"}`, false, "now", ""},
		"the engine cannot say":         {500, `{"message":"broken"}`, false, "", "broken"},
		"what answers is no engine":     {200, `<html>`, false, "", "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/containers/abc/json" {
					t.Errorf("asked for %s", r.URL)
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			before := time.Now()
			got, err := e.State(t.Context(), "abc")
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || got.Running != tt.running {
				t.Fatalf("got %+v, %v", got, err)
			}
			switch tt.ended {
			case "":
				if !got.Ended.IsZero() {
					t.Errorf("ended %s", got.Ended)
				}
			case "now":
				if got.Ended.Before(before) || got.Ended.After(time.Now()) {
					t.Errorf("ended %s", got.Ended)
				}
			default:
				if got.Ended.Format(time.RFC3339) != tt.ended {
					t.Errorf("ended %s, want %s", got.Ended, tt.ended)
				}
			}
		})
	}
}

func TestNoEngine(t *testing.T) {
	e := Dial(filepath.Join(t.TempDir(), "none.sock"))
	if _, err := e.State(t.Context(), "abc"); err == nil {
		t.Error("a socket that is not there answered")
	}
	if e.Own(t.Context(), "abc") || e.Own(t.Context(), "") {
		t.Error("it is said to run us")
	}
}

// Whoever listens at the socket and never answers has a moment, no more.
func TestEngineThatHangs(t *testing.T) {
	e := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	e.patience = time.Millisecond
	if _, err := e.State(t.Context(), "abc"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if e.Own(t.Context(), "abc") {
		t.Error("it is said to run us")
	}
}

func TestWait(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		body   string
		code   int
		err    string
	}{
		"it ended well":             {200, `{"StatusCode":0}`, 0, ""},
		"it was killed":             {200, `{"StatusCode":137,"Error":null}`, 137, ""},
		"it is gone":                {404, `{"message":"No such container"}`, 0, "No such container"},
		"what answers is no engine": {200, `{}`, 0, "no exit code"},
	} {
		e := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodPost || r.URL.Path != "/containers/abc/wait" {
				t.Errorf("%s: asked for %s %s", name, r.Method, r.URL)
			}
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		})
		code, err := e.Wait(t.Context(), "abc")
		if code != tt.code || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %d, %v", name, code, err)
		}
	}
}

func frame(stream byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{stream, 0, 0, 0}, uint32(len(text))), text...)
}

func TestFollow(t *testing.T) {
	e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/containers/abc/logs" || q.Get("follow") != "1" || q.Get("since") != "1700000000.500000000" {
			t.Errorf("asked for %s", r.URL)
		}
		w.Write(frame(1, "one\n"))
		w.(http.Flusher).Flush()
		w.Write(frame(2, "two\nthr"))
		w.Write(frame(1, "ee\n"))
	})
	var got bytes.Buffer
	err := e.Follow(t.Context(), "abc", time.Unix(1700000000, 5e8), &got)
	if err != nil || got.String() != "one\ntwo\nthree\n" {
		t.Errorf("got %q, %v", got.String(), err)
	}
}

func TestFollowEnds(t *testing.T) {
	t.Run("with its context", func(t *testing.T) {
		began := make(chan struct{})
		e := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Write(frame(1, "one\n"))
			w.(http.Flusher).Flush()
			close(began)
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-began; cancel() }()
		if err := e.Follow(ctx, "abc", time.Time{}, io.Discard); err != nil {
			t.Error(err)
		}
	})
	t.Run("at once when the container is gone", func(t *testing.T) {
		e := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
		if err := e.Follow(t.Context(), "abc", time.Time{}, io.Discard); err != nil {
			t.Error(err)
		}
	})
	t.Run("with an error when the answer is cut", func(t *testing.T) {
		e := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(frame(1, "one\n")[:10]) })
		if err := e.Follow(t.Context(), "abc", time.Time{}, io.Discard); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
	})
}
