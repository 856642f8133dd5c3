package provider

import (
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// A Session is the AWS account and region that a stack's resources are in. Its
// clients are made when first used and shared by everything in the run.
type Session struct {
	Config aws.Config // region and credentials set

	clients sync.Map // by client constructor's type
}

// Client returns the session's client of one service, made by its
// NewFromConfig, with opts applied when it is made:
//
//	client := provider.Client(r.Session, sqs.NewFromConfig)
func Client[C, O any](s *Session, make func(aws.Config, ...func(*O)) *C, opts ...func(*O)) *C {
	type key struct{ c *C }
	if c, ok := s.clients.Load(key{}); ok {
		return c.(*C)
	}
	c, _ := s.clients.LoadOrStore(key{}, make(s.Config, opts...))
	return c.(*C)
}
