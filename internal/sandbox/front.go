package sandbox

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// An answer is a response that has not been sent yet, so that a fault can
// still take it away.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newAnswer() *answer { return &answer{header: http.Header{}, status: http.StatusOK} }

func (a *answer) Header() http.Header            { return a.header }
func (a *answer) WriteHeader(status int)         { a.status = status }
func (a *answer) Write(text []byte) (int, error) { return a.body.Write(text) }

func (a *answer) send(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.WriteHeader(a.status)
	w.Write(a.body.Bytes())
}

// ServeHTTP answers one AWS request, or one to the sandbox itself.
func (s *Sandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, controlPath) {
		s.control(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	// What was asked happens, also when the client does not wait for it.
	r = r.WithContext(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	c := identify(r, body)
	s.edit(func() {
		c.ID, c.State, c.Start = len(s.log)+1, Open, time.Now()
		if n := len(s.log); n > 0 {
			c.ID = s.log[n-1].ID + 1
		}
		s.log = append(s.log, &c.Request)
	})

	out, dropped := s.answer(c)
	if !dropped {
		out.send(w)
	}
	s.edit(func() {
		c.State, c.End = Done, time.Now()
		if !dropped {
			c.Status, c.Out = out.status, out.body.Len()
		}
	})
	if dropped {
		panic(http.ErrAbortHandler)
	}
}

// answer lets a call have its effect, and what was set up go wrong with it.
func (s *Sandbox) answer(c *call) (out *answer, dropped bool) {
	fault := s.faultFor(c)
	s.sleep(s.latencyOf(c))
	if fault != nil && !fault.After {
		if out, dropped := s.strike(c, fault); out != nil || dropped {
			return out, dropped
		}
	}
	out = newAnswer()
	s.backend(c).ServeHTTP(out, c.http)
	if fault != nil && fault.After {
		if instead, dropped := s.strike(c, fault); instead != nil || dropped {
			return instead, dropped
		}
	}
	if fault != nil && fault.Replace[0] != "" {
		text := strings.ReplaceAll(out.body.String(), fault.Replace[0], fault.Replace[1])
		out.body.Reset()
		out.body.WriteString(text)
		for _, h := range []string{"Content-Length", "X-Amz-Crc32"} {
			out.Header().Del(h)
		}
	}
	return out, false
}

// strike carries out a fault. It returns the answer to give in place of the
// real one, if any.
func (s *Sandbox) strike(c *call, f *fault) (instead *answer, dropped bool) {
	s.sleep(f.Delay)
	if f.Hold {
		s.edit(func() { c.State = Held })
		select {
		case <-f.released:
		case <-s.life.Done():
			return nil, true
		}
		s.edit(func() { c.State = Open })
	}
	if f.Drop {
		return nil, true
	}
	if f.Status == 0 {
		return nil, false
	}
	out := newAnswer()
	refuse(out, c, f.Status, f.Code, f.Message)
	return out, false
}

func (s *Sandbox) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.life.Done():
	}
}
