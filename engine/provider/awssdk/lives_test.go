package awssdk

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	dns "github.com/aws/aws-sdk-go-v2/service/route53/types"

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
	vpc := made(t, s, "AWS::EC2::VPC", "", `{"CidrBlock": "10.9.0.0/16"}`)
	subnet := made(t, s, "AWS::EC2::Subnet", "", fmt.Sprintf(`{"VpcId": %q, "CidrBlock": "10.9.0.0/24"}`, vpc))
	var groups []string
	for _, name := range []string{"lives-one", "lives-two"} {
		groups = append(groups, made(t, s, "AWS::EC2::SecurityGroup", name, fmt.Sprintf(`{"GroupName": %q, "GroupDescription": "d", "VpcId": %q}`, name, vpc)))
	}
	files := made(t, s, "AWS::EFS::FileSystem", "lives-files", `{}`)
	namespace := made(t, s, "AWS::ServiceDiscovery::HttpNamespace", "lives-namespace", `{"Name": "lives-services"}`)
	zone := made(t, s, "AWS::Route53::HostedZone", "lives-zone", `{"Name": "lives.example"}`)
	api := made(t, s, "AWS::ApiGateway::RestApi", "", `{"Name": "lives"}`)
	key := made(t, s, "AWS::ApiGateway::ApiKey", "", `{"Name": "lives"}`)
	plan := made(t, s, "AWS::ApiGateway::UsagePlan", "", `{"UsagePlanName": "lives"}`)
	acl := made(t, s, "AWS::EC2::NetworkAcl", "", fmt.Sprintf(`{"VpcId": %q}`, vpc))
	made(t, s, "AWS::ECS::Cluster", "lives", `{}`)
	launch := made(t, s, "AWS::EC2::LaunchTemplate", "lives-launch", fmt.Sprintf(`{"LaunchTemplateName": "lives-launch", "LaunchTemplateData": {"ImageId": %q, "InstanceType": "t3.micro"}}`, anImage))
	made(t, s, "AWS::Neptune::DBCluster", "lives-graphs", `{}`)
	global := func(table string) func(context.Context, string) (any, error) {
		return func(ctx context.Context, id string) (any, error) {
			out, err := describeTable(ctx, &provider.Request{Session: s}, table)
			if err != nil {
				return nil, err
			}
			tags, err := dynamoClient(s).ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: out.TableArn})
			if err != nil {
				return nil, err
			}
			all := map[string]string{}
			for _, tag := range tags.Tags {
				all[*tag.Key] = *tag.Value
			}
			owner := ""
			if all[provider.OwnerTagKey] != "" {
				owner = " owned"
			}
			return fmt.Sprint(aws.ToBool(out.DeletionProtectionEnabled), " a="+all["a"]+owner), nil
		}
	}
	for name, l := range map[string]life{
		"usage plan": {typ: "AWS::ApiGateway::UsagePlan", deletedOnce: true, steps: []step{
			{name: "of a stage", props: fmt.Sprintf(`{"UsagePlanName": "plan", "ApiStages": [{"ApiId": %q, "Stage": "one"}], "Quota": {"Limit": 5, "Offset": 0, "Period": "DAY"}, "Throttle": {"BurstLimit": 3, "RateLimit": 2}, "Tags": [{"Key": "a", "Value": "1"}]}`, api)},
			{name: "of another", props: fmt.Sprintf(`{"UsagePlanName": "plan", "ApiStages": [{"ApiId": %q, "Stage": "two"}], "Description": "d", "Quota": {"Limit": 5, "Offset": 0, "Period": "DAY"}, "Tags": [{"Key": "a", "Value": "1"}]}`, api)},
		}},
		"usage plan key": {typ: "AWS::ApiGateway::UsagePlanKey", id: key + ":" + plan, deletedOnce: true, steps: []step{
			{name: "of a key", props: fmt.Sprintf(`{"KeyId": %q, "KeyType": "API_KEY", "UsagePlanId": %q}`, key, plan)},
		}},
		"API key": {typ: "AWS::ApiGateway::ApiKey", unread: []string{"Value"}, steps: []step{
			{name: "in use", props: `{"Name": "key", "Enabled": true, "Description": "one", "Value": "abcdefghijklmnopqrstuvwxyz", "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "out of use", props: `{"Name": "key", "Enabled": false, "Description": "two", "Value": "abcdefghijklmnopqrstuvwxyz", "Tags": [{"Key": "a", "Value": "1"}]}`},
		}},
		"API model": {typ: "AWS::ApiGateway::Model", id: api + "|order", steps: []step{
			{name: "of an object", props: fmt.Sprintf(`{"RestApiId": %q, "Name": "order", "ContentType": "application/json", "Schema": {"type": "object"}}`, api)},
		}},
		"request validator": {typ: "AWS::ApiGateway::RequestValidator", deletedOnce: true, steps: []step{
			{name: "of bodies", props: fmt.Sprintf(`{"RestApiId": %q, "Name": "bodies", "ValidateRequestBody": true, "ValidateRequestParameters": false}`, api)},
			{name: "of parameters, too", props: fmt.Sprintf(`{"RestApiId": %q, "Name": "bodies", "ValidateRequestBody": true, "ValidateRequestParameters": true}`, api)},
		}},
		"network ACL": {typ: "AWS::EC2::NetworkAcl", owner: "lives-acl", steps: []step{
			{name: "tagged", props: fmt.Sprintf(`{"VpcId": %q, "Tags": [{"Key": "a", "Value": "1"}]}`, vpc)},
			{name: "tagged otherwise", props: fmt.Sprintf(`{"VpcId": %q, "Tags": [{"Key": "a", "Value": "2"}]}`, vpc)},
		}},
		"network ACL entry": {typ: "AWS::EC2::NetworkAclEntry", id: acl + "|100|false", deletedOnce: true, steps: []step{
			{name: "that lets in", props: fmt.Sprintf(`{"NetworkAclId": %q, "RuleNumber": 100, "Protocol": 6, "RuleAction": "allow", "CidrBlock": "10.0.0.0/8", "PortRange": {"From": 80, "To": 80}}`, acl)},
			{name: "that keeps out", props: fmt.Sprintf(`{"NetworkAclId": %q, "RuleNumber": 100, "Protocol": 6, "RuleAction": "deny", "CidrBlock": "10.0.0.0/8", "PortRange": {"From": 80, "To": 90}}`, acl)},
		}},
		"network ACL association": {typ: "AWS::EC2::SubnetNetworkAclAssociation", steps: []step{
			{name: "of a subnet", props: fmt.Sprintf(`{"NetworkAclId": %q, "SubnetId": %q}`, acl, subnet)},
		}},
		"egress-only gateway": {typ: "AWS::EC2::EgressOnlyInternetGateway", owner: "lives-egress", deletedOnce: true, steps: []step{
			{name: "tagged", props: fmt.Sprintf(`{"VpcId": %q, "Tags": [{"Key": "a", "Value": "1"}]}`, vpc)},
			{name: "tagged otherwise", props: fmt.Sprintf(`{"VpcId": %q, "Tags": [{"Key": "a", "Value": "2"}]}`, vpc)},
		}},
		"block of a VPC": {typ: "AWS::EC2::VPCCidrBlock", deletedOnce: true, steps: []step{
			{name: "of IPv4", props: fmt.Sprintf(`{"VpcId": %q, "CidrBlock": "10.10.0.0/16"}`, vpc)},
		}},
		"IPv6 block of a VPC": {typ: "AWS::EC2::VPCCidrBlock", deletedOnce: true, noFind: true, steps: []step{
			{name: "that AWS chooses", props: fmt.Sprintf(`{"VpcId": %q, "AmazonProvidedIpv6CidrBlock": true}`, vpc)},
		}},
		"document": {typ: "AWS::SSM::Document", physical: "Shop-Script", id: "Shop-Script", steps: []step{
			{name: "of one step", props: `{"Name": "Shop-Script", "DocumentType": "Command", "DocumentFormat": "JSON", "Content": {"schemaVersion": "2.2", "description": "one", "mainSteps": []}, "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "described otherwise", props: `{"Name": "Shop-Script", "DocumentType": "Command", "DocumentFormat": "JSON", "Content": {"schemaVersion": "2.2", "description": "two", "mainSteps": []}, "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		"capacity of a cluster": {typ: "AWS::ECS::ClusterCapacityProviderAssociations", id: "lives", steps: []step{
			{name: "on Fargate", props: `{"Cluster": "lives", "CapacityProviders": ["FARGATE"], "DefaultCapacityProviderStrategy": [{"CapacityProvider": "FARGATE", "Base": 0, "Weight": 1}]}`},
			{name: "at spot prices", props: `{"Cluster": "lives", "CapacityProviders": ["FARGATE", "FARGATE_SPOT"], "DefaultCapacityProviderStrategy": [{"CapacityProvider": "FARGATE_SPOT", "Base": 0, "Weight": 1}]}`},
		}},
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
			{name: "at night", props: `{"Name": "nightly", "State": "ENABLED", "ScheduleExpression": "rate(1 day)", "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": {"Arn": "arn:aws:sqs:eu-west-1:123456789012:q", "RoleArn": "arn:aws:iam::123456789012:role/r"}}`},
			{name: "hourly", props: `{"Name": "nightly", "State": "ENABLED", "ScheduleExpression": "rate(1 hour)", "Description": "d", "FlexibleTimeWindow": {"Mode": "OFF"}, "Target": {"Arn": "arn:aws:sqs:eu-west-1:123456789012:q", "RoleArn": "arn:aws:iam::123456789012:role/r"}}`},
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
		"file system": {typ: "AWS::EFS::FileSystem", unread: []string{"FileSystemPolicy"}, steps: []step{
			{name: "that is encrypted", props: `{"Encrypted": true, "PerformanceMode": "generalPurpose", "LifecyclePolicies": [{"TransitionToIA": "AFTER_30_DAYS"}], "FileSystemTags": [{"Key": "a", "Value": "1"}]}`},
			{name: "tagged otherwise", props: `{"Encrypted": true, "PerformanceMode": "generalPurpose", "FileSystemTags": [{"Key": "a", "Value": "2"}]}`},
		}},
		"mount target": {typ: "AWS::EFS::MountTarget", steps: []step{
			{name: "in a group", props: fmt.Sprintf(`{"FileSystemId": %q, "SubnetId": %q, "SecurityGroups": [%q]}`, files, subnet, groups[0])},
			{name: "in another", props: fmt.Sprintf(`{"FileSystemId": %q, "SubnetId": %q, "SecurityGroups": [%q]}`, files, subnet, groups[1])},
		}},
		"access point": {typ: "AWS::EFS::AccessPoint", steps: []step{
			{name: "of a user", props: fmt.Sprintf(`{"FileSystemId": %q, "PosixUser": {"Uid": "7", "Gid": "8"}, "AccessPointTags": [{"Key": "a", "Value": "1"}]}`, files)},
			{name: "tagged otherwise", props: fmt.Sprintf(`{"FileSystemId": %q, "PosixUser": {"Uid": "7", "Gid": "8"}, "AccessPointTags": [{"Key": "a", "Value": "2"}]}`, files)},
		}},
		"cache subnet group": {typ: "AWS::ElastiCache::SubnetGroup", physical: "cached", id: "cached", undeleted: "it answers the call with status 500", steps: []step{
			{name: "of a subnet", props: fmt.Sprintf(`{"CacheSubnetGroupName": "cached", "Description": "one", "SubnetIds": [%q], "Tags": [{"Key": "a", "Value": "1"}]}`, subnet)},
		}},
		"cache cluster": {typ: "AWS::ElastiCache::CacheCluster", physical: "cache", id: "cache", undeleted: "it stays in the state deleting", steps: []step{
			{name: "of one node", props: `{"ClusterName": "cache", "Engine": "redis", "CacheNodeType": "cache.t3.micro", "NumCacheNodes": 1, "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "tagged otherwise", props: `{"ClusterName": "cache", "Engine": "redis", "CacheNodeType": "cache.t3.micro", "NumCacheNodes": 1, "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		"private namespace": {typ: "AWS::ServiceDiscovery::PrivateDnsNamespace", steps: []step{
			{name: "of a network", props: fmt.Sprintf(`{"Name": "lives.internal", "Vpc": %q, "Description": "one", "Tags": [{"Key": "a", "Value": "1"}]}`, vpc)},
			{name: "described otherwise", props: fmt.Sprintf(`{"Name": "lives.internal", "Vpc": %q, "Description": "two", "Tags": [{"Key": "a", "Value": "2"}]}`, vpc)},
		}},
		"HTTP namespace": {typ: "AWS::ServiceDiscovery::HttpNamespace", refused: map[string]string{"described otherwise": "GetOperationInput.OperationId"}, steps: []step{
			{name: "described", props: `{"Name": "lives-http", "Description": "one", "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "described otherwise", props: `{"Name": "lives-http", "Description": "two", "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		"discovery service": {typ: "AWS::ServiceDiscovery::Service", steps: []step{
			{name: "described", props: fmt.Sprintf(`{"Name": "orders", "NamespaceId": %q, "Description": "one", "Tags": [{"Key": "a", "Value": "1"}]}`, namespace)},
			{name: "described otherwise", props: fmt.Sprintf(`{"Name": "orders", "NamespaceId": %q, "Description": "two", "Tags": [{"Key": "a", "Value": "2"}]}`, namespace)},
		}},
		"web ACL": {typ: "AWS::WAFv2::WebACL", physical: "shield", steps: []step{
			{name: "that lets through", props: `{"Name": "shield", "Scope": "REGIONAL", "DefaultAction": {"Allow": {}}, "VisibilityConfig": {"CloudWatchMetricsEnabled": true, "MetricName": "m", "SampledRequestsEnabled": true}, "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "that blocks a word", props: `{"Name": "shield", "Scope": "REGIONAL", "DefaultAction": {"Block": {}}, "VisibilityConfig": {"CloudWatchMetricsEnabled": true, "MetricName": "m", "SampledRequestsEnabled": true},
				"Rules": [{"Name": "word", "Priority": 0, "Action": {"Block": {}}, "VisibilityConfig": {"CloudWatchMetricsEnabled": true, "MetricName": "w", "SampledRequestsEnabled": true},
					"Statement": {"ByteMatchStatement": {"SearchString": "badbot", "FieldToMatch": {"SingleHeader": {"Name": "user-agent"}}, "PositionalConstraint": "CONTAINS", "TextTransformations": [{"Priority": 0, "Type": "NONE"}]}}}], "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		// Its certificates are issued after a minute.
		"certificate": {typ: "AWS::CertificateManager::Certificate", wait: provider.WaitNone, steps: []step{
			{name: "proved in a zone", seen: func(ctx context.Context, id string) (any, error) { return unproved(ctx, s, zone, id) }, want: []string(nil), props: fmt.Sprintf(`{"DomainName": "lives.example", "SubjectAlternativeNames": ["*.lives.example"], "ValidationMethod": "DNS", "DomainValidationOptions": [{"DomainName": "lives.example", "HostedZoneId": %[1]q}, {"DomainName": "*.lives.example", "HostedZoneId": %[1]q}], "Tags": [{"Key": "a", "Value": "1"}]}`, zone)},
			{name: "tagged otherwise", props: fmt.Sprintf(`{"DomainName": "lives.example", "SubjectAlternativeNames": ["*.lives.example"], "ValidationMethod": "DNS", "DomainValidationOptions": [{"DomainName": "lives.example", "HostedZoneId": %[1]q}, {"DomainName": "*.lives.example", "HostedZoneId": %[1]q}], "Tags": [{"Key": "a", "Value": "2"}]}`, zone)},
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
		"global table of one region": {typ: "AWS::DynamoDB::GlobalTable", physical: "everywhere", id: "everywhere", owner: "lives-global", noRead: true, noWalk: true, attributes: map[string]string{"Arn": "arn:aws:dynamodb:eu-west-1:123456789012:table/everywhere"}, steps: []step{
			{name: "protected", seen: global("everywhere"), want: "true a=1 owned", props: `{"TableName": "everywhere", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
				"Replicas": [{"Region": "eu-west-1", "DeletionProtectionEnabled": true, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}, "Tags": [{"Key": "a", "Value": "1"}]}]}`},
			{name: "not protected", seen: global("everywhere"), want: "false a=2 owned", props: `{"TableName": "everywhere", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
				"Replicas": [{"Region": "eu-west-1", "Tags": [{"Key": "a", "Value": "2"}]}], "TimeToLiveSpecification": {"AttributeName": "t", "Enabled": true}}`},
		}},
		"public namespace": {typ: "AWS::ServiceDiscovery::PublicDnsNamespace", steps: []step{
			{name: "described", props: `{"Name": "public.example", "Description": "one", "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "tagged otherwise", props: `{"Name": "public.example", "Description": "one", "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		"auto scaling group": {typ: "AWS::AutoScaling::AutoScalingGroup", noWalk: true, unread: []string{"Cooldown", "LaunchTemplate"}, undeleted: "TargetGroupNotFound: of one that it refused", physical: "lives-group", id: "lives-group", steps: []step{
			{name: "of none", props: fmt.Sprintf(`{"AutoScalingGroupName": "lives-group", "MinSize": "0", "MaxSize": "1", "LaunchTemplate": {"LaunchTemplateId": %q, "Version": "1"}, "AvailabilityZones": ["eu-west-1a"], "Cooldown": "60", "Tags": [{"Key": "a", "Value": "1", "PropagateAtLaunch": false}]}`, launch)},
			{name: "of more at most", props: fmt.Sprintf(`{"AutoScalingGroupName": "lives-group", "MinSize": "0", "MaxSize": "2", "LaunchTemplate": {"LaunchTemplateId": %q, "Version": "1"}, "AvailabilityZones": ["eu-west-1a"], "Cooldown": "90", "Tags": [{"Key": "a", "Value": "2", "PropagateAtLaunch": false}]}`, launch)},
		}},
		"graph cluster": {typ: "AWS::Neptune::DBCluster", physical: "graphs", id: "graphs", steps: []step{
			{name: "with backups", props: `{"DBClusterIdentifier": "graphs", "BackupRetentionPeriod": 2, "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "with longer ones", props: `{"DBClusterIdentifier": "graphs", "BackupRetentionPeriod": 3, "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		"graph instance": {typ: "AWS::Neptune::DBInstance", physical: "graph", id: "graph", steps: []step{
			{name: "small", props: `{"DBInstanceIdentifier": "graph", "DBClusterIdentifier": "lives-graphs", "DBInstanceClass": "db.t4g.medium", "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "larger", props: `{"DBInstanceIdentifier": "graph", "DBClusterIdentifier": "lives-graphs", "DBInstanceClass": "db.r6g.large", "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
		"database": {typ: "AWS::RDS::DBInstance", physical: "database", id: "database", unread: []string{"MasterUserPassword", "AllocatedStorage"}, steps: []step{
			{name: "small", props: `{"DBInstanceIdentifier": "database", "DBInstanceClass": "db.t3.micro", "Engine": "postgres", "AllocatedStorage": "20", "MasterUsername": "root", "MasterUserPassword": "not-a-secret", "Tags": [{"Key": "a", "Value": "1"}]}`},
			{name: "larger", props: `{"DBInstanceIdentifier": "database", "DBInstanceClass": "db.t3.small", "Engine": "postgres", "AllocatedStorage": "30", "MasterUsername": "root", "MasterUserPassword": "not-a-secret", "Tags": [{"Key": "a", "Value": "2"}]}`},
		}},
	} {
		t.Run(name, func(t *testing.T) { l.run(t, s) })
	}
}

// unproved are the records that a certificate asks for and that are not in the
// zone.
func unproved(ctx context.Context, s *provider.Session, zone, certificate string) (missing []string, err error) {
	c, err := describeCertificate(ctx, &provider.Request{Session: s, PhysicalID: certificate})
	if err != nil {
		return nil, err
	}
	if len(c.DomainValidationOptions) == 0 {
		return []string{"it asks for none"}, nil
	}
	records, err := route53Client(s).ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})
	if err != nil {
		return nil, err
	}
	there := map[string]string{}
	for _, r := range records.ResourceRecordSets {
		if r.Type == dns.RRTypeCname {
			there[strings.TrimSuffix(aws.ToString(r.Name), ".")] = aws.ToString(r.ResourceRecords[0].Value)
		}
	}
	for _, v := range c.DomainValidationOptions {
		name := strings.TrimSuffix(aws.ToString(v.ResourceRecord.Name), ".")
		if there[name] != aws.ToString(v.ResourceRecord.Value) {
			missing = append(missing, name)
		}
	}
	return missing, nil
}
