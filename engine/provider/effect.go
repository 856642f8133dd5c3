package provider

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/middleware"
)

// An Effect tells whether the calls of an operation may have changed something,
// also of one that failed: a resource takes several calls, and Cloud Control
// fails what it has accepted.
type Effect struct{ had atomic.Bool }

// Had tells whether a call that is not a mere read was answered with success, or
// with nothing that rules it out.
func (e *Effect) Had() bool { return e.had.Load() }

type effectKey struct{}

// Observing has e told of the calls made with the context, by clients whose
// configuration was passed to ObserveEffects.
func Observing(ctx context.Context, e *Effect) context.Context {
	return context.WithValue(ctx, effectKey{}, e)
}

// ObserveEffects lets calls made with a configuration be observed.
func ObserveEffects(config *aws.Config) {
	config.APIOptions = append(config.APIOptions[:len(config.APIOptions):len(config.APIOptions)], func(stack *middleware.Stack) error {
		if reads(stack.ID()) {
			return nil
		}
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("ObserveEffect",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleInitialize(ctx, in)
				if e, ok := ctx.Value(effectKey{}).(*Effect); ok && (err == nil || Ambiguous(err)) {
					e.had.Store(true)
				}
				return out, metadata, err
			}), middleware.After)
	})
}

// reads tells whether an operation changes nothing, by the names that AWS gives
// such operations.
func reads(operation string) bool {
	for _, verb := range []string{"Get", "List", "Describe", "Head", "BatchGet", "Search", "Lookup"} {
		if strings.HasPrefix(operation, verb) {
			return true
		}
	}
	return false
}
