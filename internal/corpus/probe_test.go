package corpus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// A probe says how the aws command line sees the resources of a type.
type probe struct {
	// list prints all resources of the type in a region, those that every
	// account has left out. Types without one hang on others, and are gone with
	// them.
	list []string
	// key is the member of what is listed that identifies it; "": it is listed
	// as text.
	key string
	// global types are the same in all regions.
	global bool
	// id is how list names a resource, "" for one that it does not list; nil:
	// by its physical id.
	id func(resource) string
	// want is what the listed thing must hold.
	want func(resource) any
	// show asks for one resource's details.
	show func(resource) []check
}

// A check is one question to the command line and what its answer must hold.
type check struct {
	args []string
	want any
}

// probes are those of the types with a direct provider. The others are asked
// of Cloud Control.
var probes = map[string]probe{
	"AWS::IAM::Role": {
		global: true, list: args("iam list-roles --query Roles"), key: "RoleName",
		want: picks("Path", "AssumeRolePolicyDocument"),
		show: func(r resource) []check {
			if !r.has("ManagedPolicyArns") {
				return nil
			}
			return []check{{args("iam list-attached-role-policies --query AttachedPolicies[].PolicyArn --role-name", r.id()), r.property("ManagedPolicyArns")}}
		},
	},
	"AWS::IAM::Policy": {show: func(r resource) (checks []check) {
		for property, kind := range map[string]string{"Roles": "role", "Users": "user", "Groups": "group"} {
			for _, holder := range r.texts(property) {
				checks = append(checks, check{
					args("iam get-"+kind+"-policy --query PolicyDocument --policy-name", r.text("PolicyName"), "--"+kind+"-name", holder),
					r.property("PolicyDocument"),
				})
			}
		}
		return checks
	}},
	"AWS::IAM::ManagedPolicy": {
		global: true, list: args("iam list-policies --scope Local --query Policies"), key: "Arn",
		show: func(r resource) []check {
			return []check{{args("iam get-policy-version --version-id v1 --query PolicyVersion.Document --policy-arn", r.id()), r.property("PolicyDocument")}}
		},
	},
	"AWS::IAM::InstanceProfile": {
		global: true, list: args("iam list-instance-profiles --query InstanceProfiles"), key: "InstanceProfileName",
		want: func(r resource) any {
			var roles []any
			for _, name := range r.texts("Roles") {
				roles = append(roles, value.NewObject("RoleName", name))
			}
			return value.NewObject("Roles", roles)
		},
	},
	"AWS::IAM::User":  {global: true, list: args("iam list-users --query Users"), key: "UserName", want: picks("Path")},
	"AWS::IAM::Group": {global: true, list: args("iam list-groups --query Groups"), key: "GroupName", want: picks("Path")},

	"AWS::Lambda::Function": {
		list: args("lambda list-functions --query Functions"), key: "FunctionName",
		want: picks("Runtime", "Handler", "Timeout", "MemorySize", "Role", "Description", "Environment", "Architectures"),
	},
	"AWS::Lambda::Permission": {show: func(r resource) []check {
		return []check{{args("lambda get-policy --query Policy --function-name", r.text("FunctionName")),
			value.NewObject("Statement", []any{value.NewObject("Sid", r.id(), "Action", r.property("Action"))})}}
	}},
	"AWS::Lambda::EventSourceMapping": {
		list: args("lambda list-event-source-mappings --query EventSourceMappings"), key: "UUID",
		want: picks("BatchSize", "EventSourceArn", "StartingPosition"),
	},
	"AWS::Lambda::LayerVersion": {
		list: args("lambda list-layers --query Layers[].LatestMatchingVersion"), key: "LayerVersionArn",
		want: picks("CompatibleRuntimes", "Description"),
	},
	"AWS::Lambda::Url": {show: func(r resource) []check {
		return []check{{args("lambda get-function-url-config --function-name", r.text("TargetFunctionArn")), r.pick("AuthType")}}
	}},
	"AWS::Lambda::Version": {show: func(r resource) []check {
		return []check{{args("lambda list-versions-by-function --query Versions[].FunctionArn --function-name", r.text("FunctionName")), []any{r.id()}}}
	}},
	"AWS::Lambda::Alias": {show: func(r resource) []check {
		return []check{{args("lambda list-aliases --query Aliases[].AliasArn --function-name", r.text("FunctionName")), []any{r.id()}}}
	}},
	"AWS::Lambda::EventInvokeConfig": {show: func(r resource) []check {
		return []check{{args("lambda get-function-event-invoke-config --function-name", r.text("FunctionName"), "--qualifier", r.text("Qualifier")),
			r.pick("MaximumRetryAttempts", "MaximumEventAgeInSeconds")}}
	}},

	"AWS::SQS::Queue": {
		list: args("sqs list-queues --query QueueUrls"),
		show: func(r resource) []check {
			return []check{{args("sqs get-queue-attributes --attribute-names All --query Attributes --queue-url", r.id()),
				r.pick("VisibilityTimeout", "DelaySeconds", "MessageRetentionPeriod", "KmsMasterKeyId", "FifoQueue", "RedrivePolicy")}}
		},
	},
	"AWS::SQS::QueuePolicy": {show: func(r resource) (checks []check) {
		for _, url := range r.texts("Queues") {
			checks = append(checks, check{args("sqs get-queue-attributes --attribute-names Policy --query Attributes.Policy --queue-url", url), r.property("PolicyDocument")})
		}
		return checks
	}},
	"AWS::SNS::Topic": {
		list: args("sns list-topics --query Topics"), key: "TopicArn",
		show: func(r resource) []check {
			return []check{{args("sns get-topic-attributes --query Attributes --topic-arn", r.id()), r.pick("DisplayName", "KmsMasterKeyId", "FifoTopic")}}
		},
	},
	"AWS::SNS::Subscription": {
		list: args("sns list-subscriptions --query Subscriptions"), key: "SubscriptionArn",
		want: picks("Protocol", "Endpoint", "TopicArn"),
		show: func(r resource) []check {
			return []check{{args("sns get-subscription-attributes --query Attributes --subscription-arn", r.id()), r.pick("FilterPolicy", "RawMessageDelivery")}}
		},
	},
	"AWS::SNS::TopicPolicy": {show: func(r resource) (checks []check) {
		for _, topic := range r.texts("Topics") {
			checks = append(checks, check{args("sns get-topic-attributes --query Attributes.Policy --topic-arn", topic), r.property("PolicyDocument")})
		}
		return checks
	}},

	"AWS::S3::Bucket": {
		global: true, list: args("s3api list-buckets --query Buckets"), key: "Name",
		show: func(r resource) (checks []check) {
			if r.has("PublicAccessBlockConfiguration") {
				checks = append(checks, check{args("s3api get-public-access-block --bucket", r.id()), r.pick("PublicAccessBlockConfiguration")})
			}
			if r.has("VersioningConfiguration") {
				checks = append(checks, check{args("s3api get-bucket-versioning --bucket", r.id()), r.property("VersioningConfiguration")})
			}
			return checks
		},
	},
	"AWS::S3::BucketPolicy": {show: func(r resource) []check {
		return []check{{args("s3api get-bucket-policy --query Policy --bucket", r.text("Bucket")), r.property("PolicyDocument")}}
	}},
	"AWS::DynamoDB::Table": {
		list: args("dynamodb list-tables --query TableNames"),
		show: func(r resource) []check {
			return []check{{args("dynamodb describe-table --query Table --table-name", r.id()), r.pick("KeySchema", "AttributeDefinitions")}}
		},
	},
	"AWS::Logs::LogGroup": {
		list: args("logs describe-log-groups --query logGroups"), key: "logGroupName",
		want: func(r resource) any { return value.NewObject("retentionInDays", r.property("RetentionInDays")) },
	},
	"AWS::Logs::MetricFilter": {
		list: args("logs describe-metric-filters --query metricFilters[].merge(@,{id:join('|',[logGroupName,filterName])})"), key: "id",
		want: func(r resource) any {
			return value.NewObject("logGroupName", r.property("LogGroupName"), "filterPattern", r.property("FilterPattern"))
		},
	},
	"AWS::Logs::SubscriptionFilter": {show: func(r resource) []check {
		return []check{{args("logs describe-subscription-filters --query subscriptionFilters --log-group-name", r.text("LogGroupName")),
			[]any{value.NewObject("destinationArn", r.property("DestinationArn"), "filterPattern", r.property("FilterPattern"))}}}
	}},
	"AWS::Logs::LogStream": {show: func(r resource) []check {
		return []check{{args("logs describe-log-streams --query logStreams[].logStreamName --log-group-name", r.text("LogGroupName")), []any{lastOf(r.id())}}}
	}},
	"AWS::Events::Rule": {
		list: args("events list-rules --query Rules"), key: "Arn",
		id: func(r resource) string {
			if bus, _ := ruleName(r); bus != "default" {
				return "" // the list is of the default bus
			}
			return r.id()
		},
		show: func(r resource) []check {
			bus, name := ruleName(r)
			checks := []check{{args("events describe-rule --name", name, "--event-bus-name", bus), r.pick("ScheduleExpression", "State", "EventPattern", "Description")}}
			if r.has("Targets") {
				checks = append(checks, check{args("events list-targets-by-rule --query Targets --rule", name, "--event-bus-name", bus), r.only("Targets", "Id", "Arn")})
			}
			return checks
		},
	},
	"AWS::Events::EventBus": {list: args("events list-event-buses --query EventBuses[?Name!='default']"), key: "Name"},
	"AWS::SSM::Parameter": {
		list: args("ssm describe-parameters --query Parameters"), key: "Name",
		want: picks("Type", "Description"),
		show: func(r resource) []check {
			return []check{{args("ssm get-parameter --query Parameter --name", r.id()), r.pick("Value")}}
		},
	},
	"AWS::StepFunctions::StateMachine": {
		list: args("stepfunctions list-state-machines --query stateMachines"), key: "stateMachineArn",
		show: func(r resource) []check {
			return []check{{args("stepfunctions describe-state-machine --state-machine-arn", r.id()),
				value.NewObject("roleArn", r.property("RoleArn"), "definition", r.property("DefinitionString"))}}
		},
	},
	"AWS::CloudWatch::Alarm": {
		list: args("cloudwatch describe-alarms --query MetricAlarms"), key: "AlarmName",
		want: picks("Threshold", "EvaluationPeriods", "ComparisonOperator", "MetricName", "Namespace", "Statistic", "TreatMissingData"),
	},
	"AWS::SecretsManager::Secret": {
		list: args("secretsmanager list-secrets --query SecretList"), key: "ARN",
		want: picks("Name", "Description", "KmsKeyId"),
	},
	// Keys wait for their deletion, and are listed meanwhile.
	"AWS::KMS::Key": {show: func(r resource) []check {
		return []check{{args("kms get-key-policy --policy-name default --query Policy --key-id", r.id()), r.property("KeyPolicy")}}
	}},
	"AWS::KMS::Alias": {list: args("kms list-aliases --query Aliases[?TargetKeyId&&!starts_with(AliasName,'alias/aws/')]"), key: "AliasName"},
}

// lastOf is the last part of an id with bars.
func lastOf(id string) string { return id[strings.LastIndexByte(id, '|')+1:] }

// ruleName splits the ARN of a rule.
func ruleName(r resource) (bus, name string) {
	_, name, _ = strings.Cut(r.id(), ":rule/")
	if bus, name, ok := strings.Cut(name, "/"); ok {
		return bus, name
	}
	return "default", name
}

// args splits a command line; what follows is taken as it is.
func args(words string, more ...string) []string { return append(strings.Fields(words), more...) }

// cloudControl is the probe of a type that Cloud Control provisions.
func cloudControl(typ string) probe {
	return probe{list: args("cloudcontrol list-resources --query ResourceDescriptions[].Identifier --type-name", typ)}
}

// picks wants some properties as they were sent.
func picks(names ...string) func(resource) any {
	return func(r resource) any { return r.pick(names...) }
}

// holds says where an answer lacks what is wanted, "" when it has it: of an
// object every wanted member, of a list every wanted element, in any order.
// Scalars are compared as text, since the APIs disagree about their types;
// documents may be text.
func holds(want, got any) string {
	if want == nil {
		return ""
	}
	if text, ok := got.(string); ok {
		if _, scalar := value.Text(want); !scalar {
			o, err := value.Parse([]byte(text))
			if err != nil {
				return fmt.Sprintf("want %s, got %q", value.JSON(want), text)
			}
			got = o
		}
	}
	switch want := want.(type) {
	case *value.Object:
		o, ok := got.(*value.Object)
		if !ok {
			return fmt.Sprintf("want %s, got %s", value.JSON(want), value.JSON(got))
		}
		for name, w := range want.All() {
			if fault := holds(w, o.Value(name)); fault != "" {
				return name + ": " + fault
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok {
			list = []any{got}
		}
		for _, w := range want {
			if !slices.ContainsFunc(list, func(g any) bool { return holds(w, g) == "" }) {
				return fmt.Sprintf("want %s among %s", value.JSON(w), value.JSON(got))
			}
		}
		return ""
	}
	if list, ok := got.([]any); ok && len(list) == 1 {
		got = list[0]
	}
	w, _ := value.Text(want)
	g, ok := value.Text(got)
	if !ok || !sameText(w, g) {
		if o, err := value.Parse([]byte(w)); err == nil && !ok {
			return holds(o, got)
		}
		return fmt.Sprintf("want %q, got %s", w, value.JSON(got))
	}
	return ""
}
