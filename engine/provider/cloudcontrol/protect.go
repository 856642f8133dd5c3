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
// value that does not.
var protections = map[string]map[string]any{
	"AWS::CloudTrail::Dashboard":            {"TerminationProtectionEnabled": false},
	"AWS::CloudTrail::EventDataStore":       {"TerminationProtectionEnabled": false},
	"AWS::Cognito::UserPool":                {"DeletionProtection": "INACTIVE"},
	"AWS::DSQL::Cluster":                    {"DeletionProtectionEnabled": false},
	"AWS::DocDB::DBCluster":                 {"DeletionProtection": false},
	"AWS::DocDB::GlobalCluster":             {"DeletionProtection": false},
	"AWS::DynamoDB::Table":                  {"DeletionProtectionEnabled": false},
	"AWS::EC2::Instance":                    {"DisableApiTermination": false},
	"AWS::EKS::Cluster":                     {"DeletionProtection": false},
	"AWS::Logs::LogGroup":                   {"DeletionProtectionEnabled": false},
	"AWS::Neptune::DBCluster":               {"DeletionProtection": false},
	"AWS::Neptune::GlobalCluster":           {"DeletionProtection": false},
	"AWS::NeptuneGraph::Graph":              {"DeletionProtection": false},
	"AWS::NetworkFirewall::Firewall":        {"DeleteProtection": false},
	"AWS::QLDB::Ledger":                     {"DeletionProtection": false},
	"AWS::RDS::DBCluster":                   {"DeletionProtection": false},
	"AWS::RDS::DBInstance":                  {"DeletionProtection": false},
	"AWS::RDS::GlobalCluster":               {"DeletionProtection": false},
	"AWS::SMSVOICE::PhoneNumber":            {"DeletionProtectionEnabled": false},
	"AWS::SMSVOICE::Pool":                   {"DeletionProtectionEnabled": false},
	"AWS::SMSVOICE::ProtectConfiguration":   {"DeletionProtectionEnabled": false},
	"AWS::SMSVOICE::SenderId":               {"DeletionProtectionEnabled": false},
	"AWS::SSMIncidents::ReplicationSet":     {"DeletionProtected": false},
	"AWS::VerifiedPermissions::PolicyStore": {"DeletionProtection": map[string]any{"Mode": "DISABLED"}},
	"AWS::WellArchitected::AgentProfile":    {"DeletionProtection": false},
}

// Protects tells whether a type has deletion protection that is switched off
// through Cloud Control.
func Protects(typ string) bool { return protections[typ] != nil }

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
