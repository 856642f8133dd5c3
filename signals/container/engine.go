package container

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Socket is where the runner mounts the engine's socket.
const Socket = "/var/run/docker.sock"

// An Engine is a Docker engine behind a socket. A few of its calls are all that
// is wanted, so there is no client library: it would be larger than the program.
type Engine struct {
	client   *http.Client
	patience time.Duration // with a socket behind which nobody answers
}

// Dial returns the engine behind a socket. It sends no request.
func Dial(socket string) *Engine {
	return &Engine{patience: 10 * time.Second, client: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}}
}

// Close closes what is kept open.
func (e *Engine) Close() { e.client.CloseIdleConnections() }

// A State is what an engine knows of a container.
type State struct {
	Running bool
	// Ended is when it ended. Of a container that is gone it is when that was
	// seen.
	Ended time.Time
}

// Own tells whether this is the engine that runs the container self, so that
// what it does not know is gone.
func (e *Engine) Own(ctx context.Context, self string) bool {
	if self == "" {
		return false
	}
	s, err := e.State(ctx, self)
	return err == nil && s.Running
}

// State asks for the state of a container. One that the engine does not know
// does not run.
func (e *Engine) State(ctx context.Context, id string) (State, error) {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(ctx, e.patience)
	defer cancel()
	res, err := e.get(ctx, id, "json", nil)
	if err != nil {
		return State{}, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotFound {
		return State{Ended: asked}, nil
	}
	var c struct {
		State struct {
			Status     string
			Running    bool
			FinishedAt time.Time
		}
	}
	if err := decode(res, &c); err != nil {
		return State{}, fmt.Errorf("ask for the state of container %.12s: %w", id, err)
	}
	// One that was made and not started runs none of our code, and may yet.
	s := State{Running: c.State.Running || c.State.Status == "created" || c.State.Status == "restarting"}
	if s.Running {
		return s, nil
	}
	if s.Ended = c.State.FinishedAt; s.Ended.IsZero() || s.Ended.Year() < 2000 {
		s.Ended = asked
	}
	return s, nil
}

// Follow passes on what a container prints, from a moment on, until it ends or
// ctx does. A zero moment is its beginning.
func (e *Engine) Follow(ctx context.Context, id string, since time.Time, to io.Writer) error {
	query := url.Values{"stdout": {"1"}, "stderr": {"1"}, "follow": {"1"}}
	if !since.IsZero() {
		query.Set("since", fmt.Sprintf("%d.%09d", since.Unix(), since.Nanosecond()))
	}
	res, err := e.get(ctx, id, "logs", query)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		err = demultiplex(res.Body, to)
	case http.StatusNotFound: // gone meanwhile
		return nil
	default:
		err = decode(res, nil)
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("read the log of container %.12s: %w", id, err)
	}
	return nil
}

// Wait waits until a container has ended, and returns what it exited with.
func (e *Engine) Wait(ctx context.Context, id string) (code int, err error) {
	res, err := e.ask(ctx, http.MethodPost, id, "wait", nil)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var end struct{ StatusCode *int }
	if err := decode(res, &end); err != nil {
		return 0, fmt.Errorf("wait for container %.12s: %w", id, err)
	}
	if end.StatusCode == nil {
		return 0, fmt.Errorf("wait for container %.12s: the answer has no exit code", id)
	}
	return *end.StatusCode, nil
}

func (e *Engine) get(ctx context.Context, id, what string, query url.Values) (*http.Response, error) {
	return e.ask(ctx, http.MethodGet, id, what, query)
}

func (e *Engine) ask(ctx context.Context, method, id, what string, query url.Values) (*http.Response, error) {
	// Without a version the engine answers by the newest that it knows.
	u := url.URL{Scheme: "http", Host: "docker", Path: "/containers/" + id + "/" + what, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	res, err := e.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the Docker engine about container %.12s: %w", id, err)
	}
	return res, nil
}

func decode(res *http.Response, into any) error {
	const most = 4 << 20
	body := io.LimitReader(res.Body, most)
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(body, 500)) // said as far as it was read
		return errors.New(strconv.Itoa(res.StatusCode) + " " + strings.TrimSpace(string(text)))
	}
	return json.NewDecoder(body).Decode(into)
}

// demultiplex takes the two streams of a container apart, which come in frames
// of a header of eight bytes (stream, three zeros, length) and that many bytes,
// and passes on both.
func demultiplex(from io.Reader, to io.Writer) error {
	in := bufio.NewReader(from)
	var header [8]byte
	for {
		if _, err := io.ReadFull(in, header[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if _, err := io.CopyN(to, in, int64(binary.BigEndian.Uint32(header[4:]))); err != nil {
			return err
		}
	}
}
