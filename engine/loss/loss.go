// Package loss finds in a plan what data could be gone when it is carried out:
// with a resource that holds some, because something keeps it for a shorter time,
// or because what protected it is taken away.
//
// It goes by types and properties alone, asks nobody, and errs on the side of
// telling: it is for those who want to be asked before data goes.
package loss

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/value"
)

// A Loss is one change after which data may be gone.
type Loss struct {
	Change *plan.Change
	Why    string // such as "may hold data: delete"
}

// Of lists the losses of a plan, without those of its nested stacks.
func Of(p *plan.Plan) (all []Loss) {
	for _, c := range p.Changes {
		for _, why := range reasons(c) {
			all = append(all, Loss{c, why})
		}
	}
	return all
}

func reasons(c *plan.Change) (why []string) {
	switch {
	case c.Action == plan.Delete, (c.Action == plan.Replace || c.Action == plan.MayReplace) && !plan.Keeps(c.UpdateReplacePolicy):
		if Holds(c.Type) {
			return []string{fmt.Sprintf("may hold data: %s", c.Action)}
		}
	case c.Action == plan.Create:
		return nil
	}
	for _, a := range c.Attributes {
		if Holds(c.Type) && plan.Keeps(a.Old) && !plan.Keeps(a.New) {
			why = append(why, fmt.Sprintf("may hold data, and loses its %s %s", a.Name, a.Old))
		}
	}
	for _, p := range c.Properties {
		if reason := shorter(c.Type, p); reason != "" {
			why = append(why, reason)
		}
	}
	return why
}

// others hold data, too, or are the only way to it. A replacement of theirs is
// not refused, as one of plan.Stateful is.
var others = []string{
	"AWS::AmazonMQ::Broker",
	"AWS::Backup::BackupVault",
	"AWS::Cassandra::Table",
	"AWS::CloudTrail::EventDataStore",
	"AWS::EC2::Instance",
	"AWS::ElastiCache::CacheCluster",
	"AWS::ElastiCache::ReplicationGroup",
	"AWS::ElastiCache::ServerlessCache",
	"AWS::KMS::Key",
	"AWS::KMS::ReplicaKey",
	"AWS::MSK::Cluster",
	"AWS::MemoryDB::Cluster",
	"AWS::OpenSearchServerless::Collection",
	"AWS::Redshift::Cluster",
	"AWS::RedshiftServerless::Namespace",
	"AWS::S3Express::DirectoryBucket",
	"AWS::S3Tables::Table",
	"AWS::SQS::Queue",
	"AWS::Timestream::Table",
}

// Holds tells whether resources of a type hold data, or are the only way to it.
func Holds(typ string) bool { return plan.Stateful(typ) || slices.Contains(others, typ) }

// forever is how long something keeps without a limit of its own.
const forever = 1 << 52

// times are how long a property keeps what is stored, and how long without it, in
// the property's unit; each is from the type's page of the CloudFormation
// reference.
var times = map[string]float64{
	"AWS::Logs::LogGroup RetentionInDays":                       forever,
	"AWS::SQS::Queue MessageRetentionPeriod":                    345600,
	"AWS::Kinesis::Stream RetentionPeriodHours":                 24,
	"AWS::CloudTrail::EventDataStore RetentionPeriod":           2557,
	"AWS::RDS::DBInstance BackupRetentionPeriod":                1,
	"AWS::RDS::DBCluster BackupRetentionPeriod":                 1,
	"AWS::DocDB::DBCluster BackupRetentionPeriod":               1,
	"AWS::Neptune::DBCluster BackupRetentionPeriod":             1,
	"AWS::KMS::Key PendingWindowInDays":                         30,
	"AWS::ElastiCache::ReplicationGroup SnapshotRetentionLimit": 0,
}

// ends are properties that say what is deleted by itself, and when.
var ends = []string{
	"AWS::S3::Bucket LifecycleConfiguration",
	"AWS::DynamoDB::Table TimeToLiveSpecification",
	"AWS::DynamoDB::GlobalTable TimeToLiveSpecification",
	"AWS::ECR::Repository LifecyclePolicy",
	"AWS::Timestream::Table RetentionProperties",
}

// guards are properties that protect data while they are true.
var guards = []string{"DeletionProtection", "DeletionProtectionEnabled"}

func shorter(typ string, p plan.PropertyChange) string {
	name := typ + " " + p.Path
	if standard, ok := times[name]; ok {
		old, new := length(p.Old, p.HasOld, standard), length(p.New, p.HasNew, standard)
		if p.Unresolved || new < old {
			return fmt.Sprintf("%s may keep data for a shorter time", p.Path)
		}
	}
	if slices.Contains(ends, name) && p.HasNew {
		return fmt.Sprintf("%s may delete data by itself", p.Path)
	}
	if on(p.Old) && !on(p.New) && slices.Contains(guards, p.Path) {
		return fmt.Sprintf("may hold data, and loses its %s", p.Path)
	}
	if name == "AWS::S3::Bucket VersioningConfiguration" && versioned(p.Old) && !versioned(p.New) {
		return "keeps no versions any more of what is overwritten"
	}
	return ""
}

func length(v any, there bool, standard float64) float64 {
	text, _ := value.Text(v)
	n, err := strconv.ParseFloat(text, 64)
	if !there || err != nil {
		return standard
	}
	return n
}

func on(v any) bool {
	text, _ := value.Text(v)
	return strings.EqualFold(text, "true")
}

func versioned(v any) bool {
	o, _ := v.(*value.Object)
	return o.String("Status") == "Enabled"
}
