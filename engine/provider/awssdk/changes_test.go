package awssdk

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
)

// What an update asks for, where that is not the same as what a create does.
func TestChanges(t *testing.T) {
	rec := startRecorder(t)
	for name, test := range map[string]struct {
		typ, before, after string
		want               []string
	}{
		"of a bucket's metadata tables only the changed one is changed": {"AWS::S3::Bucket",
			`{"MetadataConfiguration": {"JournalTableConfiguration": {"RecordExpiration": {"Expiration": "DISABLED"}}, "InventoryTableConfiguration": {"ConfigurationState": "ENABLED"}}}`,
			`{"MetadataConfiguration": {"JournalTableConfiguration": {"RecordExpiration": {"Expiration": "ENABLED", "Days": 9}}, "InventoryTableConfiguration": {"ConfigurationState": "ENABLED"}}}`,
			[]string{"UpdateBucketMetadataJournalTableConfiguration"}},
		"an inventory that is no longer named is switched off": {"AWS::S3::Bucket",
			`{"MetadataConfiguration": {"JournalTableConfiguration": {}, "InventoryTableConfiguration": {"ConfigurationState": "ENABLED"}}}`,
			`{"MetadataConfiguration": {"JournalTableConfiguration": {}}}`,
			[]string{"UpdateBucketMetadataInventoryTableConfiguration"}},
		"metadata tables that are no longer named go": {"AWS::S3::Bucket",
			`{"MetadataConfiguration": {"JournalTableConfiguration": {}}}`, `{}`,
			[]string{"DeleteBucketMetadataConfiguration"}},
		"the older metadata table is made again": {"AWS::S3::Bucket",
			`{"MetadataTableConfiguration": {"S3TablesDestination": {"TableBucketArn": "arn", "TableName": "a"}}}`,
			`{"MetadataTableConfiguration": {"S3TablesDestination": {"TableBucketArn": "arn", "TableName": "b"}}}`,
			[]string{"CreateBucketMetadataTableConfiguration", "DeleteBucketMetadataTableConfiguration"}},
		"an association with other parameters is another one": {"AWS::EC2::Instance",
			`{"SsmAssociations": [{"DocumentName": "d", "AssociationParameters": [{"Key": "k", "Value": ["1"]}]}]}`,
			`{"SsmAssociations": [{"DocumentName": "d", "AssociationParameters": [{"Key": "k", "Value": ["2"]}]}]}`,
			[]string{"DescribeInstances", "CreateAssociation", "DeleteAssociation"}},
		"bounds of a function that are no longer named are taken away": {"AWS::Lambda::Function",
			`{"FunctionScalingConfig": {"MinExecutionEnvironments": 1}}`, `{}`,
			[]string{"PutFunctionScalingConfig"}},
	} {
		t.Run(name, func(t *testing.T) {
			rec.take()
			_, err := provider.Drive(describe(t, test.typ), nil).Update(t.Context(), &provider.Request{
				Session: rec.session(), Stack: stack, LogicalID: "Res", Type: test.typ, PhysicalID: "made",
				Previous: object(t, test.before), Properties: object(t, test.after),
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, operations(rec.take())); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// A database is deleted with the snapshot that it was asked for, and with none
// otherwise; one in a cluster leaves it to the cluster (T-836).
func TestFinalSnapshot(t *testing.T) {
	rec := startRecorder(t)
	for name, test := range map[string]struct{ typ, props, snapshot, want string }{
		"a database's":         {"AWS::RDS::DBInstance", `{}`, "db-final", "FinalDBSnapshotIdentifier=db-final"},
		"a cluster's":          {"AWS::RDS::DBCluster", `{}`, "db-final", "FinalDBSnapshotIdentifier=db-final"},
		"none":                 {"AWS::RDS::DBInstance", `{}`, "", "SkipFinalSnapshot=true"},
		"a cluster's database": {"AWS::RDS::DBInstance", `{"DBClusterIdentifier": "c"}`, "db-final", "SkipFinalSnapshot=true"},
	} {
		t.Run(name, func(t *testing.T) {
			rec.take()
			rec.gone = "DBInstanceNotFound"
			_, err := provider.Drive(describe(t, test.typ), nil).Delete(t.Context(), &provider.Request{
				Session: rec.session(), Stack: stack, LogicalID: "Res", Type: test.typ, PhysicalID: "db",
				Properties: object(t, test.props), FinalSnapshot: test.snapshot,
			})
			if err != nil {
				t.Fatal(err)
			}
			if sent := joined(rec.take()); !strings.Contains(sent, test.want) {
				t.Errorf("sent\n%s\nwant %s", sent, test.want)
			}
		})
	}
}

// A database is changed at once, and to another major version only where the
// template allows that, for which clusters have no property.
func TestDatabasesAreChangedAtOnce(t *testing.T) {
	rec := startRecorder(t)
	for name, test := range map[string]struct {
		after, want string
		major       bool
	}{
		"a new version":             {`{"EngineVersion": "16.2"}`, "ApplyImmediately=true", false},
		"a major one, as allowed":   {`{"EngineVersion": "17.1", "AllowMajorVersionUpgrade": true}`, "ApplyImmediately=true", true},
		"in the maintenance window": {`{"EngineVersion": "16.2", "ApplyImmediately": false}`, "ApplyImmediately=false", false},
	} {
		for _, typ := range []string{"AWS::RDS::DBInstance", "AWS::RDS::DBCluster"} {
			if typ == "AWS::RDS::DBCluster" && (strings.Contains(test.after, "Apply") || test.major) {
				continue // clusters have neither property
			}
			t.Run(typ+" "+name, func(t *testing.T) {
				rec.take()
				_, err := provider.Drive(describe(t, typ), nil).Update(t.Context(), &provider.Request{
					Session: rec.session(), Stack: stack, LogicalID: "Res", Type: typ, PhysicalID: "db",
					Previous: object(t, `{"EngineVersion": "16.1"}`), Properties: object(t, test.after),
				})
				if err != nil {
					t.Fatal(err)
				}
				sent := joined(rec.take())
				major := test.major || typ == "AWS::RDS::DBCluster"
				if !strings.Contains(sent, test.want) || strings.Contains(sent, "AllowMajorVersionUpgrade=true") != major {
					t.Errorf("sent\n%s\nwant %s, major allowed %t", sent, test.want, major)
				}
			})
		}
	}
}
