package engine

import (
	"context"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/org/cdkd-action/engine/cloudformation"
	"github.com/org/cdkd-action/engine/provider"
)

// cloudFormation is that of a stack's region.
func (e *Engine) cloudFormation(d *deployment) *cloudformation.Client {
	return &cloudformation.Client{
		API:     provider.Client(e.session(d.t.Region).provider, sdk.NewFromConfig),
		Lend:    e.lender(d.store, func(text string) { d.warn("%s", text) }),
		Wait:    func(ctx context.Context, t time.Duration) error { return provider.Sleep(ctx, nil, t) },
		Observe: func(text string) { d.observe(Event{Kind: Notice, Text: text}) },
	}
}
