package plan

import (
	"slices"

	"github.com/org/cdkd-action/engine/value"
)

// A rule says for properties of one type what a change of them does, where the
// schema does not, or says something else than the service does.
type rule struct {
	replace []string                               // replace the resource
	butFor  []string                               // when set, all properties but these do
	update  []string                               // are changed in place
	when    map[string]func(old, new side) verdict // depends on what changed
}

func (r rule) replaces(property string) bool {
	if r.butFor != nil && !slices.Contains(r.butFor, property) {
		return true
	}
	return slices.Contains(r.replace, property)
}

func (r rule) inPlace(property string) bool { return slices.Contains(r.update, property) }

// rules by type. What follows the schema although it might be expected here:
// a role's Path replaces, a REST API's Name and an SSM parameter's Type do what
// the schema says, an instance's EbsOptimized may replace.
var rules = map[string]rule{
	"AWS::AppSync::GraphQLApi":         {replace: []string{"ApiType", "Visibility"}},
	"AWS::Budgets::Budget":             {when: map[string]func(old, new side) verdict{"Budget": whenMember("BudgetName")}},
	"AWS::CloudWatch::Alarm":           {replace: []string{"AlarmName"}},
	"AWS::CodeCommit::Repository":      {update: []string{"RepositoryName"}},
	"AWS::Cognito::UserPool":           {when: map[string]func(old, new side) verdict{"Schema": whenElement("Name", "", true)}},
	"AWS::DynamoDB::Table":             {replace: []string{"TableName", "KeySchema"}, when: map[string]func(old, new side) verdict{"AttributeDefinitions": whenElement("AttributeName", "AttributeType", false)}},
	"AWS::EC2::Instance":               {replace: []string{"AvailabilityZone", "ImageId", "SubnetId", "KeyName", "NetworkInterfaces"}},
	"AWS::EC2::Subnet":                 {replace: []string{"VpcId", "CidrBlock", "AvailabilityZone"}},
	"AWS::EC2::Volume":                 {replace: []string{"AvailabilityZone", "AvailabilityZoneId", "Encrypted", "KmsKeyId", "OutpostArn", "SnapshotId"}},
	"AWS::ECR::Repository":             {replace: []string{"RepositoryName"}},
	"AWS::ECS::TaskDefinition":         {butFor: []string{"Tags"}},
	"AWS::Events::Rule":                {replace: []string{"Name", "EventBusName"}},
	"AWS::IAM::Role":                   {replace: []string{"RoleName"}},
	"AWS::Kinesis::Stream":             {replace: []string{"Name"}},
	"AWS::Kinesis::StreamConsumer":     {butFor: []string{"Tags"}},
	"AWS::Lambda::EventInvokeConfig":   {replace: []string{"FunctionName", "Qualifier"}},
	"AWS::Lambda::Function":            {replace: []string{"FunctionName", "TenancyConfig"}, when: map[string]func(old, new side) verdict{"DurableConfig": whenPresence}},
	"AWS::Lambda::LayerVersion":        {butFor: []string{"Tags"}},
	"AWS::Lambda::Permission":          {butFor: []string{"Tags"}},
	"AWS::Lambda::Version":             {replace: []string{"CodeSha256", "Description", "FunctionName", "ProvisionedConcurrencyConfig", "RuntimePolicy"}},
	"AWS::Logs::LogGroup":              {replace: []string{"LogGroupName"}},
	"AWS::RDS::DBProxy":                {replace: []string{"DBProxyName", "EngineFamily", "VpcSubnetIds"}},
	"AWS::RDS::DBProxyEndpoint":        {replace: []string{"DBProxyName", "DBProxyEndpointName", "VpcSubnetIds", "TargetRole"}},
	"AWS::RDS::DBProxyTargetGroup":     {replace: []string{"DBProxyName", "TargetGroupName"}},
	"AWS::S3::Bucket":                  {replace: []string{"BucketName"}},
	"AWS::SecretsManager::Secret":      {replace: []string{"Name"}},
	"AWS::SNS::Topic":                  {replace: []string{"TopicName"}},
	"AWS::SQS::Queue":                  {replace: []string{"QueueName", "FifoQueue"}},
	"AWS::SSM::Parameter":              {replace: []string{"Name"}},
	"AWS::StepFunctions::StateMachine": {replace: []string{"StateMachineName", "StateMachineType"}},
}

// whenPresence replaces when a property appears or disappears.
func whenPresence(old, new side) verdict {
	if old.has != new.has {
		return replaces
	}
	return inPlace
}

// whenMember replaces when one member of the property differs.
func whenMember(name string) func(old, new side) verdict {
	return func(old, new side) verdict {
		if Intrinsic(new.v) {
			return mayReplace
		}
		a, b := old.member(name), new.member(name)
		switch {
		case a.has == b.has && Equal(nil, a.v, b.v):
			return inPlace
		case Unresolved(b.v):
			return mayReplace
		}
		return replaces
	}
}

// whenElement looks at elements that are on both sides, told apart by their
// member key: it replaces when one's member differs, and, if gone is set, when
// one is no longer there.
func whenElement(key, member string, gone bool) func(old, new side) verdict {
	return func(old, new side) verdict {
		if Unresolved(new.v) {
			return mayReplace
		}
		after := map[any]*value.Object{}
		list, _ := new.v.([]any)
		for _, v := range list {
			if o, ok := v.(*value.Object); ok {
				after[o.String(key)] = o
			}
		}
		list, _ = old.v.([]any)
		for _, v := range list {
			o, _ := v.(*value.Object)
			n, ok := after[o.String(key)]
			if !ok && gone || ok && member != "" && !Equal(nil, o.Value(member), n.Value(member)) {
				return replaces
			}
		}
		return inPlace
	}
}
