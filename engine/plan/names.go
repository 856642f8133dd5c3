package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// A Name is the physical name that a resource is created under.
type Name struct {
	Property  string // the property that declares it; "" for types that have none here
	Value     string // "" when AWS makes it up, or when a declared one cannot be told yet
	Generated bool
}

// PhysicalName returns the name that a resource is created under. A declared
// name is taken exactly as it is: if AWS does not like it, that is the error.
// Otherwise the name is made of the stack's and the logical id, without a random
// part, so that a run that was cut short finds its own resources again.
//
// Names are the identity of what cdkd's records describe; the rules here may
// not change.
func PhysicalName(stack, logicalID, typ string, properties *value.Object) Name {
	r, ok := names[typ]
	if !ok {
		return Name{}
	}
	if declared, ok := properties.Get(r.Property); ok && !noValue(declared) {
		text, _ := declared.(string)
		return Name{Property: r.Property, Value: text}
	}
	if fifo, _ := value.Text(properties.Value(r.fifo)); fifo == "true" {
		r.Suffix = ".fifo"
	}
	return Name{Property: r.Property, Value: r.Generate(stack, logicalID), Generated: true}
}

// A NameRule says what names of a type may look like.
type NameRule struct {
	Property string
	Max      int
	Lower    bool
	Also     string // allowed beside letters, digits and "-"
	Letter   bool   // must start with a letter
	Suffix   string // counted in Max

	fifo     string   // the property that makes it a FIFO resource
	reserved []string // beginnings that AWS keeps for itself, in lower case
}

// Generate makes a name of a stack's name and a logical id. What is too long is
// cut, and told apart by the start of a hash of the whole.
func (r NameRule) Generate(stack, logicalID string) string {
	full := stack + "-" + logicalID
	name := r.clean(full)
	if slices.ContainsFunc(r.reserved, func(s string) bool { return strings.HasPrefix(strings.ToLower(name), s) }) {
		name = "CFN-" + name // CloudFormation's own way out
	}
	limit := r.Max - len(r.Suffix)
	if len(name) > limit {
		h := sha256.Sum256([]byte(full))
		name = strings.TrimRight(name[:limit-9], "-") + "-" + hex.EncodeToString(h[:4])
	}
	return name + r.Suffix
}

func (r NameRule) clean(name string) string {
	if r.Lower {
		name = strings.ToLower(name)
	}
	var b strings.Builder
	dash := true // a leading one is dropped
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c < 0x80 && strings.ContainsRune(r.Also, c):
			b.WriteRune(c)
			dash = false
		case !dash:
			b.WriteByte('-')
			dash = true
		}
	}
	name = strings.TrimRight(b.String(), "-")
	if r.Letter && name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "r" + name
	}
	return name
}

// LooksGenerated tells whether an id could be the name that Generate made. It
// is a guess, good for messages only.
func LooksGenerated(id, stack, logicalID string) bool {
	want := alphanumeric(stack + logicalID)
	if alphanumeric(id) == want {
		return true
	}
	i := strings.LastIndexByte(id, '-')
	if i < 0 || len(id)-i != 9 {
		return false
	}
	if _, err := hex.DecodeString(id[i+1:]); err != nil {
		return false
	}
	rest := alphanumeric(id[:i])
	return rest != "" && strings.HasPrefix(want, rest)
}

func alphanumeric(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return -1
	}, strings.ToLower(s))
}

// NameRuleOf returns the rule of a type; ok is false for types whose names are
// left to AWS.
func NameRuleOf(typ string) (r NameRule, ok bool) {
	r, ok = names[typ]
	return r, ok
}

var names = map[string]NameRule{
	"AWS::CloudWatch::CompositeAlarm":           {Property: "AlarmName", Max: 255},
	"AWS::CloudWatch::Dashboard":                {Property: "DashboardName", Max: 255},
	"AWS::Cognito::UserPoolGroup":               {Property: "GroupName", Max: 128},
	"AWS::Logs::LogStream":                      {Property: "LogStreamName", Max: 512},
	"AWS::AutoScaling::LifecycleHook":           {Property: "LifecycleHookName", Max: 255},
	"AWS::Scheduler::ScheduleGroup":             {Property: "Name", Max: 64},
	"AWS::CloudWatch::Alarm":                    {Property: "AlarmName", Max: 256},
	"AWS::CodeBuild::Project":                   {Property: "Name", Max: 255},
	"AWS::Cognito::UserPool":                    {Property: "UserPoolName", Max: 128},
	"AWS::DocDB::DBCluster":                     {Property: "DBClusterIdentifier", Max: 63, Lower: true, Letter: true},
	"AWS::DocDB::DBInstance":                    {Property: "DBInstanceIdentifier", Max: 63, Lower: true, Letter: true},
	"AWS::DocDB::DBSubnetGroup":                 {Property: "DBSubnetGroupName", Max: 255, Lower: true, Letter: true},
	"AWS::DynamoDB::GlobalTable":                {Property: "TableName", Max: 255},
	"AWS::DynamoDB::Table":                      {Property: "TableName", Max: 255},
	"AWS::AutoScaling::AutoScalingGroup":        {Property: "AutoScalingGroupName", Max: 255},
	"AWS::ECR::Repository":                      {Property: "RepositoryName", Max: 256, Lower: true},
	"AWS::ECS::Cluster":                         {Property: "ClusterName", Max: 255},
	"AWS::ECS::Service":                         {Property: "ServiceName", Max: 255},
	"AWS::ElastiCache::CacheCluster":            {Property: "ClusterName", Max: 40, Lower: true, Letter: true},
	"AWS::ElastiCache::SubnetGroup":             {Property: "CacheSubnetGroupName", Max: 255, Lower: true},
	"AWS::ElasticLoadBalancingV2::LoadBalancer": {Property: "Name", Max: 32},
	"AWS::ElasticLoadBalancingV2::TargetGroup":  {Property: "Name", Max: 32},
	"AWS::Events::EventBus":                     {Property: "Name", Max: 256},
	"AWS::Events::Rule":                         {Property: "Name", Max: 64},
	"AWS::KinesisFirehose::DeliveryStream":      {Property: "DeliveryStreamName", Max: 64},
	"AWS::IAM::Group":                           {Property: "GroupName", Max: 128},
	"AWS::IAM::InstanceProfile":                 {Property: "InstanceProfileName", Max: 128},
	"AWS::IAM::ManagedPolicy":                   {Property: "ManagedPolicyName", Max: 128},
	"AWS::IAM::Policy":                          {Property: "PolicyName", Max: 64},
	"AWS::IAM::Role":                            {Property: "RoleName", Max: 64},
	"AWS::IAM::User":                            {Property: "UserName", Max: 64},
	"AWS::Kinesis::Stream":                      {Property: "Name", Max: 128},
	"AWS::Lambda::Function":                     {Property: "FunctionName", Max: 64},
	"AWS::Lambda::LayerVersion":                 {Property: "LayerName", Max: 64},
	"AWS::Logs::LogGroup":                       {Property: "LogGroupName", Max: 512},
	"AWS::Neptune::DBCluster":                   {Property: "DBClusterIdentifier", Max: 63, Lower: true, Letter: true},
	"AWS::Neptune::DBInstance":                  {Property: "DBInstanceIdentifier", Max: 63, Lower: true, Letter: true},
	"AWS::Neptune::DBSubnetGroup":               {Property: "DBSubnetGroupName", Max: 255, Lower: true, Letter: true},
	"AWS::RDS::DBCluster":                       {Property: "DBClusterIdentifier", Max: 63, Lower: true, Letter: true},
	"AWS::RDS::DBInstance":                      {Property: "DBInstanceIdentifier", Max: 63, Lower: true, Letter: true},
	"AWS::RDS::DBSubnetGroup":                   {Property: "DBSubnetGroupName", Max: 255, Lower: true, Letter: true},
	"AWS::S3::Bucket":                           {Property: "BucketName", Max: 63, Lower: true},
	"AWS::S3Express::DirectoryBucket":           {Property: "BucketName", Max: 63, Lower: true},
	"AWS::SecretsManager::Secret":               {Property: "Name", Max: 512, Also: "/_"},
	"AWS::SNS::Topic":                           {Property: "TopicName", Max: 256, fifo: "FifoTopic"},
	"AWS::SQS::Queue":                           {Property: "QueueName", Max: 80, fifo: "FifoQueue"},
	"AWS::SSM::Parameter":                       {Property: "Name", Max: 2048, reserved: []string{"aws", "ssm"}},
	"AWS::SSM::Document":                        {Property: "Name", Max: 128, reserved: []string{"aws", "amazon", "amzn"}},
	"AWS::StepFunctions::StateMachine":          {Property: "StateMachineName", Max: 80},
	"AWS::WAFv2::WebACL":                        {Property: "Name", Max: 128},
}
