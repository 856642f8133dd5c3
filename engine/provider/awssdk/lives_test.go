package awssdk

import (
	"fmt"
	"testing"

	"github.com/org/cdkd-action/engine/provider"
)

// made makes what a test needs of another type, through its own driver, and
// returns the id.
func made(t *testing.T, s *provider.Session, typ, name, props string) string {
	t.Helper()
	created, err := provider.Drive(describe(t, typ), nil).Create(t.Context(), &provider.Request{
		Session: s, Stack: stack, LogicalID: "Needed", Type: typ, Name: name, Properties: object(t, props), Token: name,
	})
	if err != nil {
		t.Fatalf("make a %s first: %v", typ, err)
	}
	return created.PhysicalID
}

// These types are created, read back, changed, read back again and deleted
// twice. What an emulator cannot do stands beside the step, in its own words.
func TestLives(t *testing.T) {
	s := emulated(t)
	pool := made(t, s, "AWS::Cognito::UserPool", "lives-pool", `{}`)
	database := made(t, s, "AWS::Glue::Database", "", `{"CatalogId": "123456789012", "DatabaseInput": {"Name": "tables"}}`)
	bucket := made(t, s, "AWS::S3::Bucket", "lives-trail", `{}`)
	subnet := made(t, s, "AWS::EC2::Subnet", "", fmt.Sprintf(`{"VpcId": %q, "CidrBlock": "10.9.0.0/24"}`,
		made(t, s, "AWS::EC2::VPC", "", `{"CidrBlock": "10.9.0.0/16"}`)))
	for name, l := range map[string]life{
		"user pool": {typ: "AWS::Cognito::UserPool", physical: "pool", unread: []string{"EnabledMfas", "UserPoolTags", "Policies", "AdminCreateUserConfig"}, steps: []step{
			{name: "with a policy and second factors", props: `{"UserPoolName": "pool", "AutoVerifiedAttributes": ["email"],
				"Policies": {"PasswordPolicy": {"MinimumLength": 12}}, "EnabledMfas": ["SOFTWARE_TOKEN_MFA"], "MfaConfiguration": "ON", "UserPoolTags": {"a": "1"}}`},
			{name: "without", props: `{"UserPoolName": "pool", "AdminCreateUserConfig": {"AllowAdminCreateUserOnly": true}, "UserPoolTags": {"a": "2"}}`},
		}},
		"user pool client": {typ: "AWS::Cognito::UserPoolClient", steps: []step{
			{name: "with scopes", props: fmt.Sprintf(`{"UserPoolId": %q, "ClientName": "web", "CallbackURLs": ["https://example.com"], "AllowedOAuthFlows": ["code"], "AllowedOAuthScopes": ["openid"], "AllowedOAuthFlowsUserPoolClient": true}`, pool)},
			{name: "with another URL", props: fmt.Sprintf(`{"UserPoolId": %q, "ClientName": "web", "CallbackURLs": ["https://example.org"], "AllowedOAuthFlows": ["code"], "AllowedOAuthScopes": ["openid"], "AllowedOAuthFlowsUserPoolClient": true}`, pool)},
		}},
		"user pool domain": {typ: "AWS::Cognito::UserPoolDomain", id: pool + "|shop-domain", steps: []step{
			{name: "of a prefix", props: fmt.Sprintf(`{"UserPoolId": %q, "Domain": "shop-domain"}`, pool)},
		}},
		// The emulator ignores the tags of a create.
		"stream": {typ: "AWS::Kinesis::Stream", noFind: true, unread: []string{"DesiredShardLevelMetrics", "Tags"}, physical: "stream", id: "stream", attributes: map[string]string{"Arn": "arn:aws:kinesis:eu-west-1:123456789012:stream/stream"}, steps: []step{
			{name: "of one shard", props: `{"Name": "stream", "ShardCount": 1, "RetentionPeriodHours": 48, "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "of two, with a key", props: `{"Name": "stream", "ShardCount": 2, "RetentionPeriodHours": 24, "StreamEncryption": {"EncryptionType": "KMS", "KeyId": "alias/aws/kinesis"}, "DesiredShardLevelMetrics": ["IncomingBytes"], "Tags": [{"Key": "a", "Value": "2"}]}`},
			{name: "on demand", props: `{"Name": "stream", "StreamModeDetails": {"StreamMode": "ON_DEMAND"}}`},
		}},
		"delivery stream": {typ: "AWS::KinesisFirehose::DeliveryStream", physical: "delivery", id: "delivery", noRead: true, steps: []step{
			{name: "to a bucket", props: `{"ExtendedS3DestinationConfiguration": {"BucketARN": "arn:aws:s3:::b", "RoleARN": "arn:aws:iam::123456789012:role/r", "Prefix": "a/"}, "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "under another prefix", props: `{"ExtendedS3DestinationConfiguration": {"BucketARN": "arn:aws:s3:::b", "RoleARN": "arn:aws:iam::123456789012:role/r", "Prefix": "b/"}, "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		"repository": {typ: "AWS::ECR::Repository", unread: []string{"EmptyOnDelete"}, physical: "repository", id: "repository", attributes: map[string]string{
			"Arn": "arn:aws:ecr:eu-west-1:123456789012:repository/repository", "RepositoryUri": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/repository",
		}, steps: []step{
			{name: "that scans", props: `{"RepositoryName": "repository", "ImageTagMutability": "IMMUTABLE", "ImageScanningConfiguration": {"ScanOnPush": true}, "RepositoryPolicyText": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "ecr:GetDownloadUrlForLayer"}]}, "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "that does not", props: `{"RepositoryName": "repository", "EmptyOnDelete": true, "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		"schedule": {typ: "AWS::Scheduler::Schedule", unread: []string{"Target"}, id: "nightly", deletedOnce: true, steps: []step{
			{name: "at night", props: `{"Name": "nightly", "ScheduleExpression": "rate(1 day)", "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": {"Arn": "arn:aws:sqs:eu-west-1:123456789012:q", "RoleArn": "arn:aws:iam::123456789012:role/r"}}`},
			{name: "hourly", props: `{"Name": "nightly", "ScheduleExpression": "rate(1 hour)", "Description": "d", "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": {"Arn": "arn:aws:sqs:eu-west-1:123456789012:q", "RoleArn": "arn:aws:iam::123456789012:role/r"}}`},
		}},
		"Glue database": {typ: "AWS::Glue::Database", id: "lives", unread: []string{"CatalogId"}, steps: []step{
			{name: "described", props: `{"CatalogId": "123456789012", "DatabaseInput": {"Name": "lives", "Description": "one"}}`},
			{name: "described otherwise", props: `{"CatalogId": "123456789012", "DatabaseInput": {"Name": "lives", "Description": "two", "Parameters": {"k": "v"}}}`},
		}},
		"Glue table": {typ: "AWS::Glue::Table", id: "orders", unread: []string{"CatalogId", "TableInput"}, steps: []step{
			{name: "of one column", props: fmt.Sprintf(`{"CatalogId": "123456789012", "DatabaseName": %q, "TableInput": {"Name": "orders", "StorageDescriptor": {"Columns": [{"Name": "id", "Type": "string"}]}}}`, database)},
			{name: "of two", props: fmt.Sprintf(`{"CatalogId": "123456789012", "DatabaseName": %q, "TableInput": {"Name": "orders", "StorageDescriptor": {"Columns": [{"Name": "id", "Type": "string"}, {"Name": "at", "Type": "date"}]}}}`, database)},
		}},
		"trail": {typ: "AWS::CloudTrail::Trail", physical: "trail", unread: []string{"EventSelectors"}, steps: []step{
			{name: "that logs", props: fmt.Sprintf(`{"TrailName": "trail", "S3BucketName": %q, "IsLogging": true, "EventSelectors": [{"ReadWriteType": "WriteOnly"}], "Tags": [{"Key": "a", "Value": "1"}]}`, bucket)},
			{name: "that does not", props: fmt.Sprintf(`{"TrailName": "trail", "S3BucketName": %q, "IsLogging": false, "IsMultiRegionTrail": true, "Tags": [{"Key": "a", "Value": "2"}]}`, bucket)},
		}},
		"GraphQL API": {typ: "AWS::AppSync::GraphQLApi", deletedOnce: true, steps: []step{
			{name: "with keys", props: `{"Name": "api", "AuthenticationType": "API_KEY", "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "with roles", props: `{"Name": "api", "AuthenticationType": "AWS_IAM", "XrayEnabled": true, "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		// The emulator forgets a group that it modifies.
		"database subnet group": {typ: "AWS::RDS::DBSubnetGroup", physical: "subnets", id: "subnets", steps: []step{
			{name: "of a subnet", props: fmt.Sprintf(`{"DBSubnetGroupName": "subnets", "DBSubnetGroupDescription": "one", "SubnetIds": [%q], "Tags": [{"Key": "a", "Value": "1"}]}`, subnet)},
			{name: "tagged otherwise", props: fmt.Sprintf(`{"DBSubnetGroupName": "subnets", "DBSubnetGroupDescription": "one", "SubnetIds": [%q], "Tags": [{"Key": "a", "Value": "2"}]}`, subnet)},
		}},
		"database cluster": {typ: "AWS::RDS::DBCluster", physical: "cluster", id: "cluster", unread: []string{"MasterUserPassword"}, steps: []step{
			{name: "of Aurora", props: `{"DBClusterIdentifier": "cluster", "Engine": "aurora-postgresql", "MasterUsername": "root", "MasterUserPassword": "not-a-secret", "BackupRetentionPeriod": 2, "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "with longer backups", props: `{"DBClusterIdentifier": "cluster", "Engine": "aurora-postgresql", "MasterUsername": "root", "MasterUserPassword": "not-a-secret", "BackupRetentionPeriod": 3, "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		"database": {typ: "AWS::RDS::DBInstance", physical: "database", id: "database", unread: []string{"MasterUserPassword", "AllocatedStorage"}, steps: []step{
			{name: "small", props: `{"DBInstanceIdentifier": "database", "DBInstanceClass": "db.t3.micro", "Engine": "postgres", "AllocatedStorage": "20", "MasterUsername": "root", "MasterUserPassword": "not-a-secret", "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "larger", props: `{"DBInstanceIdentifier": "database", "DBInstanceClass": "db.t3.small", "Engine": "postgres", "AllocatedStorage": "30", "MasterUsername": "root", "MasterUserPassword": "not-a-secret", "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
	} {
		t.Run(name, func(t *testing.T) { l.run(t, s) })
	}
}
