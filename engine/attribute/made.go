package attribute

import (
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/partition"
)

// made puts an attribute together from the physical id.
func (r Row) made(name string) (string, bool) {
	id := r.PhysicalID
	if id == "" {
		return "", false
	}
	if isID[r.Type] == name {
		return id, true
	}
	if form, ok := arns[r.Type]; ok && (name == "Arn" || name == form.other) {
		if isARN(id) {
			return id, true
		}
		return r.arn(form.service, form.resource+id), true
	}
	switch r.Type {
	case "AWS::S3::Bucket":
		return r.bucket(name)
	case "AWS::IAM::Role", "AWS::IAM::User", "AWS::IAM::Group", "AWS::IAM::InstanceProfile":
		return r.iam(name)
	case "AWS::SQS::Queue":
		return r.queue(name)
	case "AWS::SNS::Topic":
		switch {
		case name == "TopicArn" && isARN(id):
			return id, true
		case name == "TopicArn":
			return r.arn("sns", id), true
		case name == "TopicName":
			return id[strings.LastIndexByte(id, ':')+1:], true
		}
	case "AWS::Events::Rule":
		return r.rule(name)
	case "AWS::Events::EventBus":
		if name == "Name" {
			return id[strings.LastIndexByte(id, '/')+1:], true
		}
	case "AWS::ECR::Repository":
		if name == "RepositoryUri" {
			return r.AccountID + ".dkr.ecr." + r.Region + "." + partition.URLSuffix(r.Region) + "/" + id, true
		}
	case "AWS::Logs::LogGroup":
		if name == "Arn" {
			return r.arn("logs", "log-group:"+id+":*"), true
		}
	case "AWS::ECS::Service":
		return r.service(name)
	case "AWS::EC2::VPC":
		if block := r.Properties.String("CidrBlock"); name == "CidrBlock" && block != "" {
			return block, true
		}
	}
	if name == "Arn" && isARN(id) && !strings.Contains(id, "|") {
		return id, true
	}
	return "", false
}

// isID are the attributes that are the physical id itself.
var isID = map[string]string{
	"AWS::IAM::AccessKey":                        "Id",
	"AWS::KMS::Key":                              "KeyId",
	"AWS::Cognito::UserPool":                     "UserPoolId",
	"AWS::EFS::FileSystem":                       "FileSystemId",
	"AWS::AppSync::GraphQLApi":                   "ApiId",
	"AWS::ServiceDiscovery::PrivateDnsNamespace": "Id",
	"AWS::ServiceDiscovery::PublicDnsNamespace":  "Id",
	"AWS::ServiceDiscovery::HttpNamespace":       "Id",
	"AWS::ServiceDiscovery::Service":             "Id",
	"AWS::SQS::Queue":                            "QueueUrl",
	"AWS::EC2::VPC":                              "VpcId",
	"AWS::EC2::SecurityGroup":                    "GroupId",
	"AWS::EC2::Subnet":                           "SubnetId",
	"AWS::EC2::LaunchTemplate":                   "LaunchTemplateId",
	"AWS::EC2::Instance":                         "InstanceId",
}

// arns are the types whose ARN is a fixed text and the id.
var arns = map[string]struct{ service, resource, other string }{
	"AWS::DynamoDB::Table":                       {"dynamodb", "table/", ""},
	"AWS::DynamoDB::GlobalTable":                 {"dynamodb", "table/", ""},
	"AWS::KMS::Key":                              {"kms", "key/", ""},
	"AWS::Cognito::UserPool":                     {"cognito-idp", "userpool/", ""},
	"AWS::Kinesis::Stream":                       {"kinesis", "stream/", ""},
	"AWS::EFS::FileSystem":                       {"elasticfilesystem", "file-system/", ""},
	"AWS::KinesisFirehose::DeliveryStream":       {"firehose", "deliverystream/", ""},
	"AWS::CodeBuild::Project":                    {"codebuild", "project/", ""},
	"AWS::Lambda::Function":                      {"lambda", "function:", ""},
	"AWS::ECS::Cluster":                          {"ecs", "cluster/", ""},
	"AWS::ECR::Repository":                       {"ecr", "repository/", ""},
	"AWS::Events::EventBus":                      {"events", "event-bus/", ""},
	"AWS::CloudTrail::Trail":                     {"cloudtrail", "trail/", ""},
	"AWS::AppSync::GraphQLApi":                   {"appsync", "apis/", ""},
	"AWS::ServiceDiscovery::PrivateDnsNamespace": {"servicediscovery", "namespace/", ""},
	"AWS::ServiceDiscovery::PublicDnsNamespace":  {"servicediscovery", "namespace/", ""},
	"AWS::ServiceDiscovery::HttpNamespace":       {"servicediscovery", "namespace/", ""},
	"AWS::ServiceDiscovery::Service":             {"servicediscovery", "service/", ""},
	"AWS::CloudWatch::Alarm":                     {"cloudwatch", "alarm:", ""},
	"AWS::CloudWatch::CompositeAlarm":            {"cloudwatch", "alarm:", ""},
	"AWS::RDS::DBInstance":                       {"rds", "db:", "DBInstanceArn"},
	"AWS::RDS::DBCluster":                        {"rds", "cluster:", "DBClusterArn"},
	"AWS::DocDB::DBInstance":                     {"rds", "db:", "DBInstanceArn"},
	"AWS::DocDB::DBCluster":                      {"rds", "cluster:", "DBClusterArn"},
	"AWS::Neptune::DBInstance":                   {"rds", "db:", "DBInstanceArn"},
	"AWS::Neptune::DBCluster":                    {"rds", "cluster:", "DBClusterArn"},
	"AWS::S3Express::DirectoryBucket":            {"s3express", "bucket/", ""},
}

func (r Row) arn(service, resource string) string {
	return strings.Join([]string{"arn", partition.Of(r.Region), service, r.Region, r.AccountID, resource}, ":")
}

// dashed are the regions whose website host has a dash before the region.
// https://docs.aws.amazon.com/general/latest/gr/s3.html#s3_website_region_endpoints
var dashed = []string{
	"ap-northeast-1", "ap-southeast-1", "ap-southeast-2", "eu-west-1", "sa-east-1",
	"us-east-1", "us-gov-west-1", "us-west-1", "us-west-2",
}

func (r Row) bucket(name string) (string, bool) {
	id, suffix := r.PhysicalID, partition.URLSuffix(r.Region)
	switch name {
	case "Arn":
		return "arn:" + partition.Of(r.Region) + ":s3:::" + id, true
	case "DomainName":
		return id + ".s3." + suffix, true
	case "RegionalDomainName":
		return id + ".s3." + r.Region + "." + suffix, true
	case "DualStackDomainName":
		return id + ".s3.dualstack." + r.Region + "." + suffix, true
	case "WebsiteURL":
		between := "."
		if slices.Contains(dashed, r.Region) {
			between = "-"
		}
		return "http://" + id + ".s3-website" + between + r.Region + "." + suffix, true
	}
	return "", false
}

// iam has the path in its ARNs, so it must be known.
func (r Row) iam(name string) (string, bool) {
	path, ok := r.Properties.Get("Path")
	if !ok {
		path = "/"
	}
	text, isText := path.(string)
	if name != "Arn" || !isText {
		return "", false
	}
	kind := map[string]string{
		"AWS::IAM::Role": "role", "AWS::IAM::User": "user", "AWS::IAM::Group": "group",
		"AWS::IAM::InstanceProfile": "instance-profile",
	}[r.Type]
	return "arn:" + partition.Of(r.Region) + ":iam::" + r.AccountID + ":" + kind + text + r.PhysicalID, true
}

// queue takes a queue's URL apart: https://host/account/name.
func (r Row) queue(name string) (string, bool) {
	parts := strings.Split(r.PhysicalID, "/")
	if len(parts) < 5 {
		return "", false
	}
	queue, account := parts[len(parts)-1], parts[len(parts)-2]
	switch name {
	case "QueueName":
		return queue, true
	case "Arn":
		return "arn:" + partition.Of(r.Region) + ":sqs:" + r.Region + ":" + account + ":" + queue, true
	}
	return "", false
}

func (r Row) rule(name string) (string, bool) {
	id := r.PhysicalID
	if name != "Arn" {
		return "", false
	}
	if isARN(id) {
		return id, true
	}
	if bus, rule, ok := strings.Cut(id, "|"); ok {
		return r.arn("events", "rule/"+bus+"/"+rule), true
	}
	bus := r.Properties.String("EventBusName")
	if bus = bus[strings.LastIndexByte(bus, '/')+1:]; bus != "" && bus != "default" {
		return r.arn("events", "rule/"+bus+"/"+id), true
	}
	return r.arn("events", "rule/"+id), true
}

// service takes an ECS service's id apart: <service ARN>|<cluster>, or
// <cluster ARN>|<service>.
func (r Row) service(name string) (string, bool) {
	first, second, ok := strings.Cut(r.PhysicalID, "|")
	if !ok {
		first = r.PhysicalID
	}
	arn := first
	if before, cluster, ok := strings.Cut(first, ":cluster/"); ok {
		arn = before + ":service/" + cluster + "/" + second
		if isARN(second) {
			arn = second
		}
	}
	if !isARN(arn) || !strings.Contains(arn, ":service/") {
		return "", false
	}
	switch name {
	case "ServiceArn":
		return arn, true
	case "Name":
		return arn[strings.LastIndexByte(arn, '/')+1:], true
	}
	return "", false
}
