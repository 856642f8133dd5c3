package sandbox

import (
	"context"
	"fmt"
	"net/http"

	"github.com/org/cdkd-action/internal/sandbox/s3"
)

// Reset makes the account as empty as it was at the start, and forgets the log,
// faults, latencies and handlers. S3, CloudControl and CloudFormation are new
// ones afterwards.
// No call may be on its way meanwhile.
func (s *Sandbox) Reset(ctx context.Context) error {
	switch s.kind {
	case Moto:
		out, err := s.upstream.ask(ctx, http.MethodPost, "/moto-api/reset", "", s.region, nil)
		if err == nil && out.status != http.StatusOK {
			err = fmt.Errorf("%d %s", out.status, out.body.String())
		}
		if err != nil {
			return fmt.Errorf("reset moto: %w", err)
		}
	case Kumo: // cannot be reset
		fresh, err := startKumo(ctx, s.account)
		if err != nil {
			return fmt.Errorf("reset the sandbox: %w", err)
		}
		s.upstream.stop()
		s.upstream = fresh
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.S3 = s3.New(s3.Options{AccountID: s.account, Region: s.region, Stored: s.stored})
	s.CloudControl, s.CloudFormation = s.newCloudControl(), s.newCloudFormation()
	s.log, s.faults, s.latencies, s.handlers = nil, nil, nil, nil
	s.functions, s.mirrored = map[functionKey]*function{}, map[string]bool{}
	return nil
}
