package cloudcontrol

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// protections are the properties that protect a type from deletion, with the
// value that stops it.
var protections = map[string]map[string]any{
	"AWS::DSQL::Cluster":                    {"DeletionProtectionEnabled": false},
	"AWS::NeptuneGraph::Graph":              {"DeletionProtection": false},
	"AWS::SMSVOICE::ProtectConfiguration":   {"DeletionProtectionEnabled": false},
	"AWS::VerifiedPermissions::PolicyStore": {"DeletionProtection": map[string]any{"Mode": "DISABLED"}},
	"AWS::EKS::Cluster":                     {"DeletionProtection": false},
	"AWS::RDS::GlobalCluster":               {"DeletionProtection": false},
	"AWS::EC2::Instance":                    {"DisableApiTermination": false},
	"AWS::DocDB::GlobalCluster":             {"DeletionProtection": false},
}

// Unprotect switches deletion protection off. Types without any are left alone.
func (p *Provider) Unprotect(ctx context.Context, r *provider.Request) error {
	off := protections[r.Type]
	var ops []any
	for _, name := range slices.Sorted(maps.Keys(off)) {
		v, err := value.From(off[name])
		if err != nil {
			return err
		}
		ops = append(ops, operation("add", "/"+name, v))
	}
	if ops == nil {
		return nil
	}
	brief := *r
	brief.Token = ""
	ctx = withAllowance(ctx, protectionAllowance)
	for attempt := 1; ; attempt++ {
		_, err := p.patch(ctx, &brief, ops)
		// An instance may refuse it for a moment, while it changes state.
		if err == nil || r.Type != "AWS::EC2::Instance" || attempt == 5 {
			return err
		}
		if err := provider.Sleep(ctx, r.Draining, time.Duration(attempt)*3*time.Second); err != nil {
			return err
		}
	}
}
