package awssdk

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

const someTime = "2031-02-03T04:05:06Z"

// What the types' code decides by, or what a service wants although the schema
// does not.
var peculiarities = map[string]peculiar{
	"AWS::ApiGateway::Method": {fixed: map[string]fixed{
		"RequestParameters":                  marked(value.NewObject("method.request.header.sent", true), "method.request.header.sent"),
		"MethodResponses.ResponseParameters": marked(value.NewObject("method.response.header.sent", true), "method.response.header.sent"),
	}},
	"AWS::ApiGatewayV2::Route": {fixed: map[string]fixed{
		"RequestParameters": marked(value.NewObject("route.request.header.sent", value.NewObject("Required", true)), "route.request.header.sent"),
	}},
	"AWS::ApiGatewayV2::Stage": {fixed: map[string]fixed{
		"RouteSettings": marked(value.NewObject("GET /", value.NewObject("ThrottlingBurstLimit", "12321")), "12321"),
	}},
	"AWS::EC2::Instance": {stays: []string{"PropagateTagsToVolumeOnCreation"}, fixed: map[string]fixed{
		"NetworkInterfaces.DeviceIndex": exactly("12321"),
	}},
	"AWS::EC2::LaunchTemplate": {fixed: map[string]fixed{
		"LaunchTemplateData.InstanceMarketOptions.SpotOptions.ValidUntil": exactly(someTime),
	}},
	"AWS::EC2::SecurityGroup": {fixed: map[string]fixed{
		"SecurityGroupEgress.IpProtocol": either("tcp", "udp"), "SecurityGroupIngress.IpProtocol": either("tcp", "udp"),
	}},
	"AWS::EC2::SecurityGroupEgress":  {fixed: map[string]fixed{"IpProtocol": either("tcp", "udp")}},
	"AWS::EC2::SecurityGroupIngress": {fixed: map[string]fixed{"IpProtocol": either("tcp", "udp")}},
	"AWS::EC2::VPCGatewayAttachment": {needs: []string{"InternetGatewayId"}, fixed: map[string]fixed{"VpcId": exactly("vpc-of-gateway")}},
	"AWS::EC2::VPCEndpoint": {fixed: map[string]fixed{
		"DnsOptions.PrivateDnsOnlyForInboundResolverEndpoint": either("OnlyInboundResolver", "AllResolvers"),
	}},
	"AWS::ElasticLoadBalancingV2::Listener": {fixed: map[string]fixed{
		"DefaultActions.AuthenticateCognitoConfig.SessionTimeout": exactly("12321"),
		"DefaultActions.AuthenticateOidcConfig.SessionTimeout":    exactly("12322"),
	}},
	"AWS::Lambda::Function": {needs: []string{"Runtime"},
		fixed: map[string]fixed{"Runtime": exactly("nodejs22.x"), "Code.ZipFile": either("exports.a = 1", "exports.b = 1")},
	},
	"AWS::Route53::RecordSet": {needs: []string{"HostedZoneId", "HostedZoneName"}, fixed: map[string]fixed{
		"HostedZoneName": exactly("sent.example."), "TTL": exactly("12321"),
	}},
	"AWS::S3::Bucket": {without: s3Samples, fixed: map[string]fixed{
		"LoggingConfiguration.TargetObjectKeyFormat.SimplePrefix": {is: &value.Object{}},
		"LifecycleConfiguration.Rules.ObjectSizeGreaterThan":      exactly("12321"),
		"LifecycleConfiguration.Rules.ObjectSizeLessThan":         exactly("12322"),
		"LifecycleConfiguration.Rules.ExpirationDate":             exactly(someTime),
		"LifecycleConfiguration.Rules.Transition.TransitionDate":  exactly("2031-02-03T04:05:07Z"),
		"LifecycleConfiguration.Rules.Transitions.TransitionDate": exactly("2031-02-03T04:05:08Z"),
	}},
	"AWS::SNS::Topic": {fixed: map[string]fixed{"DeliveryStatusLogging.Protocol": either("lambda", "sqs")}},
	"AWS::SecretsManager::Secret": {
		fixed:   map[string]fixed{"GenerateSecretString.SecretStringTemplate": marked(`{"user": "sentTemplate"}`, "sentTemplate")},
		without: [][]string{{"SecretString"}, {"GenerateSecretString"}},
	},
	"AWS::StepFunctions::StateMachine": {needs: []string{"DefinitionString"},
		fixed: map[string]fixed{
			"DefinitionString":        marked(`{"Comment": "sentText ${A}"}`, "sentText"),
			"Definition":              marked(value.NewObject("Comment", "sentObject ${A}"), "sentObject"),
			"DefinitionSubstitutions": marked(value.NewObject("A", "sentSubstitution"), "sentSubstitution"),
		},
		without: [][]string{{"Definition", "DefinitionS3Location"}, {"DefinitionString", "DefinitionS3Location"}, {"Definition", "DefinitionString"}},
	},
	"AWS::CloudWatch::AnomalyDetector": {fixed: map[string]fixed{
		"Configuration.ExcludedTimeRanges.StartTime": marked("2031-02-03T04:05:06", "1.927857906e+09"),
		"Configuration.ExcludedTimeRanges.EndTime":   marked("2031-02-03T04:05:07", "1.927857907e+09"),
	}},
	"AWS::EC2::SubnetNetworkAclAssociation":     {fixed: map[string]fixed{"SubnetId": exactly("subnet-of-acl")}},
	"AWS::IAM::OIDCProvider":                    {needs: []string{"Url"}},
	"AWS::IAM::ServiceLinkedRole":               {needs: []string{"AWSServiceName"}},
	"AWS::Route53::HostedZone":                  {needs: []string{"Name"}},
	"AWS::ApiGateway::Stage":                    {needs: []string{"StageName", "DeploymentId"}},
	"AWS::ApiGatewayV2::Authorizer":             {needs: []string{"IdentitySource"}},
	"AWS::ElasticLoadBalancingV2::ListenerRule": {needs: []string{"ListenerArn"}},
	"AWS::ElasticLoadBalancingV2::LoadBalancer": {without: [][]string{{"SubnetMappings"}, {"Subnets"}}, needs: []string{"SecurityGroups"}},
	"AWS::ECS::TaskDefinition":                  {needs: []string{"ContainerDefinitions"}},
	"AWS::ApiGateway::Deployment":               {needs: []string{"StageName"}, stays: []string{"StageName"}},
	"AWS::IAM::Policy":                          {needs: []string{"Roles"}},
	"AWS::EC2::EIP": {stays: []string{"Domain", "PublicIpv4Pool"},
		without: [][]string{{"TransferAddress"}, {"Address", "Domain", "IpamPoolId", "NetworkBorderGroup", "PublicIpv4Pool"}}},
	"AWS::Lambda::EventSourceMapping": {stays: []string{"Queues", "Topics"}},
	"AWS::DynamoDB::Table":            {stays: []string{"LocalSecondaryIndexes"}},
	"AWS::DynamoDB::GlobalTable": {needs: []string{"KeySchema"}, fixed: map[string]fixed{
		"Replicas.Region": exactly("eu-west-1"), "GlobalSecondaryIndexes.IndexName": exactly("sent-index"), "Replicas.GlobalSecondaryIndexes.IndexName": exactly("sent-index"),
	}, without: [][]string{nil, {"Replicas.ReadOnDemandThroughputSettings", "Replicas.GlobalSecondaryIndexes.ReadOnDemandThroughputSettings"}}},
	"AWS::Logs::LogGroup":                      {stays: []string{"LogGroupClass"}},
	"AWS::Events::EventBus":                    {stays: []string{"EventSourceName"}},
	"AWS::KMS::Key":                            {stays: []string{"KeyUsage", "KeySpec", "MultiRegion", "Origin"}},
	"AWS::ElasticLoadBalancingV2::TargetGroup": {stays: []string{"TargetControlPort"}},
	"AWS::AutoScaling::AutoScalingGroup": {fixed: map[string]fixed{
		"Cooldown": exactly("12321"), "DesiredCapacity": exactly("12322"), "MaxSize": exactly("12323"), "MinSize": exactly("12324"),
	}},
	"AWS::CodeBuild::Project": {fixed: map[string]fixed{
		"Triggers.FilterGroups": marked([]any{[]any{value.NewObject("Type", "EVENT", "Pattern", "sentPattern")}}, "sentPattern"),
	}},
	"AWS::Cognito::UserPool": {
		fixed: map[string]fixed{"EnabledMfas": {is: list([]string{"SMS_MFA"}), or: list([]string{"SOFTWARE_TOKEN_MFA"})}},
		stays: []string{"AliasAttributes", "UsernameAttributes", "UsernameConfiguration"},
	},
	"AWS::KinesisFirehose::DeliveryStream": {fixed: map[string]fixed{
		"MSKSourceConfiguration.ReadFromTimestamp": marked(someTime, "1927857906"),
	}},
	"AWS::RDS::DBCluster": {stays: []string{"ReplicationSourceIdentifier"}, needs: []string{"Engine"}, fixed: map[string]fixed{"RestoreToTime": exactly(someTime)}, without: [][]string{
		{"SnapshotIdentifier", "SourceDBClusterIdentifier", "SourceDbClusterResourceId", "RestoreToTime", "RestoreType", "UseLatestRestorableTime"},
		{"SourceDBClusterIdentifier", "SourceDbClusterResourceId"}, {"SnapshotIdentifier"},
	}},
	"AWS::DocDB::DBCluster":   {stays: []string{"GlobalClusterIdentifier", "RestoreToTime", "RestoreType", "UseLatestRestorableTime"}, fixed: map[string]fixed{"RestoreToTime": exactly(someTime)}, without: relatedSamples},
	"AWS::Neptune::DBCluster": {fixed: map[string]fixed{"RestoreToTime": exactly(someTime)}, without: relatedSamples},
	"AWS::RDS::DBInstance": {needs: []string{"DBInstanceClass", "Engine"}, fixed: map[string]fixed{
		"RestoreTime": exactly(someTime), "AllocatedStorage": exactly("12321"), "Port": exactly("12322"),
		"AdditionalStorageVolumes.AllocatedStorage": exactly("12323"),
	}, without: [][]string{
		{"DBSnapshotIdentifier", "DBClusterSnapshotIdentifier", "RestoreTime", "UseLatestRestorableTime", "SourceDbiResourceId", "SourceDBInstanceAutomatedBackupsArn", "SourceDBInstanceIdentifier", "SourceDBClusterIdentifier"},
		{"RestoreTime", "UseLatestRestorableTime", "SourceDbiResourceId", "SourceDBInstanceAutomatedBackupsArn", "SourceDBInstanceIdentifier", "SourceDBClusterIdentifier"},
		{"DBSnapshotIdentifier", "DBClusterSnapshotIdentifier", "SourceDBClusterIdentifier"},
		{"DBSnapshotIdentifier", "DBClusterSnapshotIdentifier", "RestoreTime", "UseLatestRestorableTime", "SourceDbiResourceId", "SourceDBInstanceAutomatedBackupsArn"},
	}},
	"AWS::CertificateManager::Certificate": {fixed: map[string]fixed{"DomainValidationOptions.DomainName": exactly("sent.example")}},
	"AWS::EFS::AccessPoint": {fixed: map[string]fixed{
		"PosixUser.Gid": exactly("12321"), "PosixUser.Uid": exactly("12322"), "PosixUser.SecondaryGids": marked([]any{"12323"}, "12323"),
		"RootDirectory.CreationInfo.OwnerGid": exactly("12324"), "RootDirectory.CreationInfo.OwnerUid": exactly("12325"),
	}},
	"AWS::ElastiCache::CacheCluster": {stays: []string{"TransitEncryptionEnabled", "PreferredAvailabilityZone"}},
	"AWS::ServiceDiscovery::Service": {needs: []string{"Name"}},
	"AWS::WAFv2::WebACL":             {fixed: searches(), without: [][]string{pathsEnding("AWS::WAFv2::WebACL", ".SearchStringBase64"), pathsEnding("AWS::WAFv2::WebACL", ".SearchString")}},
	"AWS::Scheduler::Schedule": {fixed: map[string]fixed{
		"StartDate": marked(someTime, "1927857906"), "EndDate": marked("2031-02-03T04:05:07Z", "1927857907"),
	}},
	"AWS::Glue::Database":      {without: [][]string{{"DatabaseName"}, {"DatabaseInput.Name"}}},
	"AWS::Glue::Table":         {needs: []string{"TableInput"}, stays: []string{"OpenTableFormatInput"}},
	"AWS::AppSync::GraphQLApi": {stays: []string{"ApiType", "Visibility"}},
	"AWS::AppSync::DataSource": {fixed: map[string]fixed{
		"DynamoDBConfig.DeltaSyncConfig.BaseTableTTL": exactly("12321"), "DynamoDBConfig.DeltaSyncConfig.DeltaSyncTableTTL": exactly("12322"),
	}},
	"AWS::AppSync::GraphQLSchema": {fixed: map[string]fixed{
		"Definition": either("type A { a: Int }", "type B { b: Int }"), "DefinitionS3Location": marked("s3://bucket/sentDefinition", "sentDefinition"),
	}},
	"AWS::AppSync::Resolver":              codeInBuckets,
	"AWS::AppSync::FunctionConfiguration": codeInBuckets,
}

var codeInBuckets = peculiar{fixed: map[string]fixed{
	"CodeS3Location":                    marked("s3://bucket/sentCode", "sentCode"),
	"RequestMappingTemplateS3Location":  marked("s3://bucket/sentRequest", "sentRequest"),
	"ResponseMappingTemplateS3Location": marked("s3://bucket/sentResponse", "sentResponse"),
}, without: [][]string{{"CodeS3Location", "RequestMappingTemplateS3Location", "ResponseMappingTemplateS3Location"}, {"Code", "RequestMappingTemplate", "ResponseMappingTemplate"}}}

// pathsEnding are the paths of a type's samples that end so.
func pathsEnding(typ, end string) (paths []string) {
	t, _ := schema.Lookup(typ)
	for _, l := range (&sampler{typ: t}).sample().leaves {
		if strings.HasSuffix(l.path, end) {
			paths = append(paths, l.path)
		}
	}
	return paths
}

// searches are the texts that a web ACL's statements search for: they go as
// base64.
func searches() map[string]fixed {
	values := map[string]fixed{}
	for i, path := range pathsEnding("AWS::WAFv2::WebACL", ".SearchString") {
		text := fmt.Sprintf("search%d", 100000+i)
		values[path] = marked(text, base64.StdEncoding.EncodeToString([]byte(text)))
	}
	// Of these the presence is what is sent.
	for _, end := range strings.Fields(".OverrideAction.Count .OverrideAction.None .AllQueryArguments .MatchPattern.All .FieldToMatch.Method .FieldToMatch.QueryString .FieldToMatch.UriPath .CustomKeys.ASN .CustomKeys.ForwardedIP .CustomKeys.HTTPMethod .CustomKeys.IP") {
		for _, path := range pathsEnding("AWS::WAFv2::WebACL", end) {
			values[path] = fixed{is: &value.Object{}}
		}
	}
	return values
}

// A cluster is made anew, from a snapshot, or as another was.
var relatedSamples = [][]string{
	{"SnapshotIdentifier", "SourceDBClusterIdentifier", "RestoreToTime", "RestoreType", "UseLatestRestorableTime"},
	{"SourceDBClusterIdentifier"}, {"SnapshotIdentifier"},
}

// Old spellings of a rule say the same as new ones, which win.
var s3Samples = [][]string{nil, {"LifecycleConfiguration.Rules.NoncurrentVersionExpirationInDays"}}

// leftOut are the properties that no call here sends: they take their resource
// to Cloud Control.
var leftOut = map[string]string{
	"AWS::CloudFront::Distribution DistributionConfig.CNAMEs":                                      "an old spelling that the API does not have: use Aliases",
	"AWS::CloudFront::Distribution DistributionConfig.CustomOrigin":                                "an old spelling that the API does not have: use Origins",
	"AWS::CloudFront::Distribution DistributionConfig.S3Origin":                                    "an old spelling that the API does not have: use Origins",
	"AWS::DynamoDB::GlobalTable GlobalTableSourceArn":                                              "joins a table in another account",
	"AWS::DynamoDB::GlobalTable GlobalTableWitnesses":                                              "for a table in several regions",
	"AWS::DynamoDB::GlobalTable MultiRegionConsistency":                                            "for a table in several regions",
	"AWS::DynamoDB::GlobalTable ReadProvisionedThroughputSettings":                                 "provisioned capacity is scaled by another service",
	"AWS::DynamoDB::GlobalTable WriteProvisionedThroughputSettings":                                "provisioned capacity is scaled by another service",
	"AWS::DynamoDB::GlobalTable GlobalSecondaryIndexes.ReadProvisionedThroughputSettings":          "provisioned capacity is scaled by another service",
	"AWS::DynamoDB::GlobalTable GlobalSecondaryIndexes.WriteProvisionedThroughputSettings":         "provisioned capacity is scaled by another service",
	"AWS::DynamoDB::GlobalTable Replicas.GlobalSecondaryIndexes.ContributorInsightsSpecification":  "set by index, by a call that wants the index made",
	"AWS::DynamoDB::GlobalTable Replicas.GlobalSecondaryIndexes.ReadProvisionedThroughputSettings": "provisioned capacity is scaled by another service",
	"AWS::DynamoDB::GlobalTable Replicas.GlobalTableSettingsReplicationMode":                       "for a table in several regions",
	"AWS::DynamoDB::GlobalTable Replicas.ReadProvisionedThroughputSettings":                        "provisioned capacity is scaled by another service",
	"AWS::DynamoDB::GlobalTable Replicas.ReplicaStreamSpecification":                               "the policy of the stream, a resource of its own in the API",
	"AWS::DynamoDB::Table GlobalSecondaryIndexes.ContributorInsightsSpecification":                 "set by index, by a call that wants the index made",
	"AWS::DynamoDB::Table ImportSourceSpecification":                                               "makes the table by an import, which takes hours",
	"AWS::DynamoDB::Table StreamSpecification.ResourcePolicy":                                      "the policy of the stream, a resource of its own in the API",
	"AWS::KinesisFirehose::DeliveryStream DatabaseSourceConfiguration.Digest":                      "the SDK's call has no such member",
	"AWS::KinesisFirehose::DeliveryStream DatabaseSourceConfiguration.PublicCertificate":           "the SDK's call has no such member",
	"AWS::RDS::DBInstance AutomaticBackupReplicationKmsKeyId":                                      "set by calls in another region",
	"AWS::RDS::DBInstance AutomaticBackupReplicationRegion":                                        "set by calls in another region",
	"AWS::RDS::DBInstance AutomaticBackupReplicationRetentionPeriod":                               "set by calls in another region",
	"AWS::Neptune::DBInstance DBSnapshotIdentifier":                                                "Neptune has no call that restores an instance",
	"AWS::S3::Bucket BucketNamePrefix":                                                             "Cloud Control makes the rest of the name",
}

// elsewhere are the properties that are used, but not by the calls of a create
// or delete that succeed at once.
var elsewhere = map[string]string{
	"AWS::EC2::Instance BlockDeviceMappings.NoDevice":                                       "its presence is what is sent",
	"AWS::EC2::NatGateway MaxDrainDurationSeconds":                                          "for updates that take addresses away",
	"AWS::IAM::AccessKey Serial":                                                            "a higher one makes another key",
	"AWS::DocDB::DBCluster RotateMasterUserPassword":                                        "for updates",
	"AWS::DocDB::DBInstance CertificateRotationRestart":                                     "for updates",
	"AWS::Neptune::DBCluster DBInstanceParameterGroupName":                                  "for updates to another major version",
	"AWS::Neptune::DBInstance AllowMajorVersionUpgrade":                                     "for updates",
	"AWS::RDS::DBCluster DBInstanceParameterGroupName":                                      "for updates to another major version",
	"AWS::RDS::DBInstance AllowMajorVersionUpgrade":                                         "for updates",
	"AWS::RDS::DBInstance ApplyImmediately":                                                 "for updates",
	"AWS::RDS::DBInstance CertificateRotationRestart":                                       "for updates",
	"AWS::SSM::Document UpdateMethod":                                                       "an update makes a version in any case",
	"AWS::ECS::Service ForceNewDeployment":                                                  "for updates: a new service has a new deployment",
	"AWS::ElasticLoadBalancingV2::LoadBalancer EnableCapacityReservationProvisionStabilize": "says what to wait for",
}
