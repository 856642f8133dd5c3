package sandbox

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
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
	if err := u.withoutContainers(ctx); err != nil {
		stop()
		return nil, err
	}
	return u, nil
}

// withoutContainers tells moto not to run the functions that its own services
// call (by a topic, a queue).
func (u *upstream) withoutContainers(ctx context.Context) error {
	const config = `{"lambda":{"use_docker":false},"batch":{"use_docker":false}}`
	out, err := u.ask(ctx, http.MethodPost, "/moto-api/config", "", "us-east-1", []byte(config))
	if err == nil && out.status >= 300 {
		err = fmt.Errorf("%d %s", out.status, out.body.String())
	}
	if err != nil {
		return fmt.Errorf("configure moto_server: %w", err)
	}
	return nil
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

// mirrorAll copies what S3 has to moto's own: what a template names there cannot
// be told before it is evaluated.
func (s *Sandbox) mirrorAll(ctx context.Context) error {
	for _, bucket := range s.S3.Buckets() {
		if err := s.mirrorPut(ctx, "/"+bucket, nil); err != nil {
			return err
		}
		for _, o := range s.S3.Objects(bucket) {
			if err := s.mirrorObject(ctx, bucket, o.Key, o.Body); err != nil {
				return err
			}
		}
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
