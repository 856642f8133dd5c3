package sandbox

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"time"
)

// MotoAvailable reports whether moto_server is installed.
func MotoAvailable() bool {
	_, err := exec.LookPath("moto_server")
	return err == nil
}

var motoAddress = regexp.MustCompile(`Running on (http://127\.0\.0\.1:\d+)`)

// motoProgram is moto_server, but for what it adds.
//
//go:embed divisible.py
var motoProgram string

// startMoto runs moto as a child process and waits until it answers.
func startMoto(ctx context.Context) (*upstream, error) {
	cmd := exec.Command("python3", "-c", motoProgram)
	// Without them AttachRolePolicy fails for every policy of AWS's.
	cmd.Env = append(os.Environ(), "MOTO_IAM_LOAD_MANAGED_POLICIES=true", "PYTHONUNBUFFERED=1")
	at, stop, err := launch(ctx, cmd, motoAddress)
	if err != nil {
		return nil, fmt.Errorf("start moto: %w", err)
	}
	if err := answers(ctx, at+"/moto-api/"); err != nil {
		stop()
		return nil, fmt.Errorf("wait for moto at %s: %w", at, err)
	}
	u := &upstream{Handler: proxyTo(at), url: at, stop: stop}
	if err := u.containers(ctx, false); err != nil {
		stop()
		return nil, err
	}
	return u, nil
}

// containers tells moto whether to run in containers the functions that its own
// services call (by a topic, a queue). They do nothing if not.
func (u *upstream) containers(ctx context.Context, run bool) error {
	config := fmt.Sprintf(`{"lambda":{"use_docker":%t},"batch":{"use_docker":%t}}`, run, run)
	out, err := u.ask(ctx, http.MethodPost, "/moto-api/config", "", "us-east-1", []byte(config))
	if err == nil && out.status >= 300 {
		err = fmt.Errorf("%d %s", out.status, out.body.String())
	}
	if err != nil {
		return fmt.Errorf("configure moto_server: %w", err)
	}
	return nil
}

// forwardLambda lets moto answer a call of Lambda. With and without containers
// moto has two Lambdas; the one without looks for the layers of functions in
// the one with, so that changes of layers go to both.
func (s *Sandbox) forwardLambda(w http.ResponseWriter, c *call) {
	if c.Action != "PublishLayerVersion" && c.Action != "DeleteLayerVersion" {
		s.layers.RLock()
		defer s.layers.RUnlock()
		s.forward(w, c)
		return
	}
	s.layers.Lock()
	defer s.layers.Unlock()
	ctx := context.WithoutCancel(c.http.Context()) // containers must be off again
	err := s.upstream.containers(ctx, true)
	if err == nil {
		s.forward(newAnswer(), c)
		err = s.upstream.containers(ctx, false)
	}
	if err != nil {
		refuse(w, c, http.StatusInternalServerError, "InternalFailure", err.Error())
		return
	}
	c.http.Body = io.NopCloser(bytes.NewReader(c.body))
	s.forward(w, c)
}

// answers waits until a GET is answered with 200.
func answers(ctx context.Context, address string) error {
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(res.Status)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// mirror makes the buckets that a call mentions in moto's own S3, where its
// services look references up.
func (s *Sandbox) mirror(c *call) error {
	for _, bucket := range s.S3.Buckets() {
		if !bytes.Contains(c.body, []byte(bucket)) {
			continue
		}
		s.mu.Lock()
		done := s.mirrored[bucket]
		s.mu.Unlock()
		if done {
			continue
		}
		if err := s.mirrorPut(c.http.Context(), "/"+bucket, nil); err != nil {
			return err
		}
		s.mu.Lock()
		s.mirrored[bucket] = true
		s.mu.Unlock()
	}
	return nil
}

// mirrorObject makes an object that a call needs in moto's own S3.
func (s *Sandbox) mirrorObject(ctx context.Context, bucket, key string, body []byte) error {
	return s.mirrorPut(ctx, "/"+bucket+"/"+(&url.URL{Path: key}).EscapedPath(), body)
}

func (s *Sandbox) mirrorPut(ctx context.Context, path string, body []byte) error {
	// In us-east-1 a bucket may be made twice.
	out, err := s.upstream.ask(ctx, http.MethodPut, path, "s3", "us-east-1", body)
	if err == nil && out.status != http.StatusOK {
		err = fmt.Errorf("%d %s", out.status, out.body.String())
	}
	if err != nil {
		return fmt.Errorf("copy %s to moto's S3: %w", path, err)
	}
	return nil
}
