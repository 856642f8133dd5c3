package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/schema"
)

// describeTypes asks for the types of a run that only AWS knows, by region.
func (e *Engine) describeTypes(ctx context.Context, sel *selected, router *provider.Router) map[string]map[string]provider.Description {
	described := map[string]map[string]provider.Description{}
	asked := map[[2]string]bool{}
	var mu sync.Mutex
	var wg routine.Group
	ctx, cancel := e.config.Window.Interruptible(ctx)
	defer cancel()
	for _, t := range sel.targets {
		for _, r := range declared(t) {
			question := [2]string{t.Region, r.Type}
			if asked[question] || !router.Unknown(r.Type) {
				continue
			}
			asked[question] = true
			wg.Go(func() {
				d := e.describeType(ctx, t.Region, r.Type)
				mu.Lock()
				defer mu.Unlock()
				if described[t.Region] == nil {
					described[t.Region] = map[string]provider.Description{}
				}
				described[t.Region][r.Type] = d
			})
		}
	}
	wg.Wait()
	return described
}

// describeType asks AWS for a type's schema, and whether it can be managed. Where
// that cannot be told, a type of AWS is tried, and its properties are all taken for
// such as change in place.
func (e *Engine) describeType(ctx context.Context, region, typ string) (d provider.Description) {
	client := provider.Client(e.session(region).provider, cloudformation.NewFromConfig)
	out, err := client.DescribeType(ctx, &cloudformation.DescribeTypeInput{Type: cfntypes.RegistryTypeResource, TypeName: &typ})
	ours := strings.HasPrefix(typ, "AWS::")
	switch {
	case errors.As(err, new(*cfntypes.TypeNotFoundException)):
		d.Refuse = fmt.Sprintf("there is no such type in %s; check its spelling", region)
		if !ours {
			d.Refuse = fmt.Sprintf("it is not a type of AWS, and the account has none of that name in %s; activate the extension there", region)
		}
		return d
	case err == nil && out.ProvisioningType == cfntypes.ProvisioningTypeNonProvisionable:
		d.Refuse = "Cloud Control cannot manage it"
		return d
	case err == nil:
		d.Schema, err = schema.Parse(typ, []byte(aws.ToString(out.Schema)), true)
	}
	switch {
	case err == nil:
	case ours:
		e.observe(Event{Kind: Warning, Region: region, Text: fmt.Sprintf(
			"type %s is younger than this release, and its schema cannot be read (cloudformation:DescribeType), so that no change is known to replace: %v", typ, err)})
	default:
		d.Refuse = fmt.Sprintf("it is not a type of AWS, and what the account has of it cannot be read (cloudformation:DescribeType): %v", err)
	}
	return d
}
