package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"

	"github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
	"github.com/org/cdkd-action/internal/sandbox/s3"
)

// A Snapshot is what an account held at a moment. To go back to it costs
// milliseconds, whatever was needed to get there.
type Snapshot struct {
	s3        *s3.Server
	control   *cloudcontrol.Server
	moto      *upstream // that answers nobody any more; nil without an upstream
	functions map[functionKey]*function
	mirrored  map[string]bool
}

// Snapshot keeps what the account holds now. Kumo cannot be kept. No call may be
// on its way meanwhile, nor an operation of Cloud Control.
func (s *Sandbox) Snapshot(ctx context.Context) (*Snapshot, error) {
	if s.kind == Kumo {
		return nil, errors.New("snapshot: kumo cannot be copied, use moto")
	}
	control, err := s.CloudControl.Clone()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	kept := &Snapshot{
		s3: s.S3.Clone(), control: control, moto: s.upstream,
		functions: maps.Clone(s.functions), mirrored: maps.Clone(s.mirrored),
	}
	s.mu.Unlock()
	if s.upstream != nil {
		if s.upstream, err = kept.moto.divide(ctx); err != nil {
			s.upstream = kept.moto
			return nil, err
		}
	}
	return kept, nil
}

// Restore makes the account what it was, as often as wanted, and forgets the
// log, faults and latencies. S3 and CloudControl are new ones afterwards. No
// call may be on its way meanwhile.
func (s *Sandbox) Restore(ctx context.Context, to *Snapshot) error {
	if to.moto != nil {
		fresh, err := to.moto.divide(ctx)
		if err != nil {
			return err
		}
		if s.upstream.end != nil {
			s.upstream.end()
		}
		s.upstream = fresh
	}
	control, err := to.control.Clone()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.S3, s.CloudControl = to.s3.Clone(), control
	s.functions, s.mirrored = maps.Clone(to.functions), maps.Clone(to.mirrored)
	s.log, s.faults, s.latencies = nil, nil, nil
	return nil
}

// divide starts a copy of moto.
func (u *upstream) divide(ctx context.Context) (*upstream, error) {
	out, err := u.ask(ctx, http.MethodPost, "/moto-api/divide", "", "us-east-1", nil)
	if err != nil {
		return nil, fmt.Errorf("copy moto: %w", err)
	}
	var pid int
	var at string
	if _, err := fmt.Sscan(out.body.String(), &pid, &at); err != nil || out.status != http.StatusOK {
		return nil, fmt.Errorf("copy moto: %d %s", out.status, out.body.String())
	}
	end := func() {
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill() // or it has ended
		}
	}
	return &upstream{Handler: proxyTo(at), url: at, stop: u.stop, end: end}, nil
}
