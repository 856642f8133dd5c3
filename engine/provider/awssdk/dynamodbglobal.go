package awssdk

import (
	"context"
	"fmt"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// replicaRegion is where a recast global table keeps the region of its replica.
const replicaRegion = "ReplicaRegion"

// A global table with one replica, in the stack's region, is a table whose
// properties stand elsewhere, and is handled as one. Cloud Control makes those
// with several, which takes many minutes in any case, and those with provisioned
// capacity, which is scaled by another service.
func globalTable() provider.Resource {
	res := table("AWS::DynamoDB::GlobalTable")
	res.Recast = &provider.Recast{
		To: soleReplica,
		Lost: []string{
			"GlobalTableSourceArn", "GlobalTableWitnesses", "MultiRegionConsistency",
			"ReadProvisionedThroughputSettings", "WriteProvisionedThroughputSettings",
			"GlobalSecondaryIndexes.ReadProvisionedThroughputSettings", "GlobalSecondaryIndexes.WriteProvisionedThroughputSettings",
			"Replicas.GlobalSecondaryIndexes.ContributorInsightsSpecification", "Replicas.GlobalSecondaryIndexes.ReadProvisionedThroughputSettings",
			"Replicas.GlobalTableSettingsReplicationMode", "Replicas.ReadProvisionedThroughputSettings", "Replicas.ReplicaStreamSpecification",
		},
		Beyond: func(props *value.Object) []string {
			if len(props.List("Replicas")) == 1 {
				return nil
			}
			return []string{"Replicas"}
		},
	}
	create := res.Create
	res.Create = func(ctx context.Context, r *provider.Request) (provider.Created, error) {
		if region := text(r.Properties, replicaRegion); region != r.Stack.Region {
			return provider.Created{}, fmt.Errorf("its only replica is in %q, and must be in the region of the stack, %s", region, r.Stack.Region)
		}
		return create(ctx, r)
	}
	return res
}

// soleReplica arranges the properties of a global table with one replica as those
// of a table.
func soleReplica(props *value.Object) *value.Object {
	if props == nil {
		return nil
	}
	var replica *value.Object
	if replicas := props.List("Replicas"); len(replicas) > 0 {
		replica, _ = replicas[0].(*value.Object)
	}
	out := part(props, "AttributeDefinitions", "BillingMode", "KeySchema", "LocalSecondaryIndexes",
		"StreamSpecification", "TableName", "TimeToLiveSpecification", "WarmThroughput")
	for name, v := range part(replica, "ContributorInsightsSpecification", "DeletionProtectionEnabled", "KinesisStreamSpecification",
		"PointInTimeRecoverySpecification", "ResourcePolicy", "TableClass", "Tags").All() {
		out.Set(name, v)
	}
	if replica.Has("Region") {
		out.Set(replicaRegion, replica.Value("Region"))
	}
	if sse := props.Object("SSESpecification"); sse != nil {
		sse = sse.Clone()
		if key := replica.Object("SSESpecification"); key.Has("KMSMasterKeyId") {
			sse.Set("KMSMasterKeyId", key.Value("KMSMasterKeyId"))
		}
		out.Set("SSESpecification", sse)
	}
	limitUnits(out, props, replica)
	ofReplica := indexes(replica)
	var all []any
	for name, v := range indexes(props).All() {
		index, _ := v.(*value.Object)
		i := part(index, "IndexName", "KeySchema", "Projection", "WarmThroughput")
		limitUnits(i, index, ofReplica.Object(name))
		all = append(all, i)
	}
	if len(all) > 0 {
		out.Set("GlobalSecondaryIndexes", all)
	}
	return out
}

// limitUnits sets the limits of a table or an index that is billed by request:
// what the replica says of reads goes before what holds for all of them.
func limitUnits(out, global, replica *value.Object) {
	limits := value.NewObject()
	for _, s := range []*value.Object{
		global.Object("ReadOnDemandThroughputSettings"), replica.Object("ReadOnDemandThroughputSettings"), global.Object("WriteOnDemandThroughputSettings"),
	} {
		for name, v := range s.All() {
			limits.Set(name, v)
		}
	}
	if limits.Len() > 0 {
		out.Set("OnDemandThroughput", limits)
	}
}
