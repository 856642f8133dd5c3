package provider

import (
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
)

// A Session is the AWS account and region that a stack's resources are in. Its
// clients are made when first used and shared by everything in the run.
type Session struct {
	Config aws.Config // region and credentials set

	clients sync.Map // by client type, and whether it is a once client
}

// Client returns the session's client of one service, made by its
// NewFromConfig, with opts applied when it is made:
//
//	client := provider.Client(r.Session, sqs.NewFromConfig)
func Client[C, O any](s *Session, make func(aws.Config, ...func(*O)) *C, opts ...func(*O)) *C {
	type key struct{ _ *C }
	return client(s, key{}, func() *C { return make(s.Config, opts...) })
}

// OnceClient is Client for creates that are not safe to send twice: it repeats
// only what was throttled. Every other failure reaches the engine, which looks
// for what the failed attempt may have made before it sends another.
func OnceClient[C, O any](s *Session, make func(aws.Config, ...func(*O)) *C, opts ...func(*O)) *C {
	type key struct{ _ *C }
	return client(s, key{}, func() *C {
		cfg := s.Config.Copy()
		cfg.Retryer = func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.Retryables = []retry.IsErrorRetryable{retry.RetryableErrorCode{Codes: retry.DefaultThrottleErrorCodes}}
			})
		}
		return make(cfg, opts...)
	})
}

func client[C any](s *Session, key any, make func() *C) *C {
	if c, ok := s.clients.Load(key); ok {
		return c.(*C)
	}
	c, _ := s.clients.LoadOrStore(key, make())
	return c.(*C)
}
