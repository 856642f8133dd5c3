package plan

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/value"
)

var stateful = []string{
	"AWS::CloudFront::Distribution",
	"AWS::Cognito::UserPool",
	"AWS::DocDB::DBCluster",
	"AWS::DocDB::DBInstance",
	"AWS::DynamoDB::GlobalTable",
	"AWS::DynamoDB::Table",
	"AWS::EC2::Volume",
	"AWS::ECR::Repository",
	"AWS::EFS::FileSystem",
	"AWS::Elasticsearch::Domain",
	"AWS::FSx::FileSystem",
	"AWS::Glue::Database",
	"AWS::Glue::Table",
	"AWS::Kinesis::Stream",
	"AWS::Logs::LogGroup",
	"AWS::Neptune::DBCluster",
	"AWS::Neptune::DBInstance",
	"AWS::OpenSearchService::Domain",
	"AWS::RDS::DBCluster",
	"AWS::RDS::DBInstance",
	"AWS::S3::Bucket",
	"AWS::SecretsManager::Secret",
	"AWS::SSM::Parameter",
}

// Stateful tells whether replacing a resource of this type loses what it holds.
// A log group counts whether or not it has a retention: without one it keeps
// everything for ever, which is the stronger promise.
func Stateful(typ string) bool { return slices.Contains(stateful, typ) }

var snapshotTypes = []string{
	"AWS::DocDB::DBCluster",
	"AWS::EC2::Volume",
	"AWS::ElastiCache::CacheCluster",
	"AWS::ElastiCache::ReplicationGroup",
	"AWS::Neptune::DBCluster",
	"AWS::RDS::DBCluster",
	"AWS::RDS::DBInstance",
	"AWS::Redshift::Cluster",
}

// TakesFinalSnapshot tells whether the policy Snapshot can be honoured for a
// type.
func TakesFinalSnapshot(typ string) bool { return slices.Contains(snapshotTypes, typ) }

// FinalSnapshotName is the name of the snapshot that a delete at that time
// leaves: letters, digits and single hyphens, beginning with a letter.
func FinalSnapshotName(typ, physicalID string, at time.Time) string {
	max := 255
	if strings.HasPrefix(typ, "AWS::ElastiCache::") {
		max = 50
	}
	end := "-final-" + at.UTC().Format("20060102-150405")
	name := strings.Trim(notInSnapshotNames.ReplaceAllString(physicalID, "-"), "-")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "s-" + name
	}
	return strings.TrimRight(name[:min(len(name), max-len(end))], "-") + end
}

var notInSnapshotNames = regexp.MustCompile(`[^A-Za-z0-9]+`)

// DeletionPolicy returns the policy that counts for a recorded resource: the
// declared one, or the default, which is Delete but for databases that would
// take their data with them.
func DeletionPolicy(typ string, properties *value.Object, declared string) string {
	switch {
	case declared != "":
		return declared
	case typ == "AWS::RDS::DBCluster",
		typ == "AWS::RDS::DBInstance" && !properties.Has("DBClusterIdentifier"):
		return "Snapshot"
	}
	return "Delete"
}

// Keeps tells whether a deletion policy leaves the resource in AWS.
func Keeps(policy string) bool { return policy == "Retain" || policy == "RetainExceptOnCreate" }
