package retry

import (
	"errors"
	"fmt"
	"testing"
)

func TestClasses(t *testing.T) {
	me := Classifier{Caller: "arn:aws:sts::1:assumed-role/ci/run", Made: func(arn string) bool { return arn == "arn:aws:iam::1:role/mine" }}
	for _, c := range []struct {
		rule string
		c    Classifier
		err  error
		want Class
	}{
		{"throttle code (T-901)", Classifier{}, awsError("RequestLimitExceeded", "", 400), Throttle},
		{"429 without a code we know (T-901)", Classifier{}, awsError("Whatever", "", 429), Throttle},
		{"503 counts as a server error (T-903)", Classifier{}, awsError("SlowDown2", "", 503), Server},
		{"501 is not transient (T-903)", Classifier{}, awsError("NotImplemented", "", 501), Final},
		{"a quota is final (T-902)", Classifier{}, awsError("LimitExceededException", "Maximum number of roles reached", 409), Final},
		{"a rate is not a quota (T-902)", Classifier{}, awsError("LimitExceededException", "Too many concurrent table operations", 400), Throttle},
		{"the code counts, not only the message (T-905)", Classifier{}, awsError("DependencyViolation", "resource has a dependent object", 400), Transient},
		{"another operation on the same resource", Classifier{}, awsError("ConcurrentOperationException", "There is already one", 400), Transient},
		{"does not exist: on create (T-909)", Classifier{}, awsError("InvalidParameterValue", "The role does not exist", 400), Transient},
		{"does not exist: not code in S3", Classifier{}, awsError("InvalidParameterValueException", "Error occurred while GetObject. S3 Error Code: NoSuchKey. S3 Error Message: The specified key does not exist.", 400), Final},
		{"does not exist: not on delete (T-909)", Classifier{Deleting: true}, awsError("InvalidParameterValue", "The role does not exist", 400), Final},
		{"trust policy, of the function of a custom resource too (T-647, T-906)", Classifier{}, awsError("InvalidParameterValueException", "The role defined for the function cannot be assumed by Lambda.", 400), Propagation},
		{"log destination (T-907)", Classifier{}, awsError("AccessDeniedException", "The state machine IAM Role is not authorized to access the Log Destination", 400), Propagation},
		{"patterns are case-sensitive (T-906)", Classifier{}, awsError("X", "Cannot Be Assumed", 400), Final},
		{"cooldown in words (T-908)", Classifier{}, awsError("X", "You must wait 60 seconds after deleting", 400), Cooldown},
		{"cooldown of a bucket (T-908)", Classifier{}, awsError("OperationAborted", "A conflicting conditional operation is currently in progress", 409), Cooldown},
		{"our own words are not matched (T-909)", Classifier{}, errors.New("stack cannot be assumed: does not exist"), Final},
		{"our words around an AWS error neither (T-909)", Classifier{}, fmt.Errorf("role of cannot be assumed: %w", awsError("V", "no", 400)), Final},
		{"a throttle below another failure counts first (T-900)", Classifier{}, fmt.Errorf("%w: %w", awsError("X", "cannot be assumed", 400), awsError("Throttling", "", 400)), Throttle},
		{"a server error counts before what it says (T-900)", Classifier{}, awsError("X", "cannot be assumed", 500), Server},
		{"a throttle in words (T-915a)", Classifier{Deleting: true}, awsError("X", "Too Many Requests", 400), Throttle},
		{"marked terminal (T-900)", Classifier{}, fmt.Errorf("x: %w", Terminal(awsError("Throttling", "", 400))), Final},
		{"beside another error (T-900)", Classifier{}, errors.Join(errors.New("a"), awsError("Throttling", "", 400)), Throttle},
		{"my own denial is final (T-910)", me, awsError("AccessDenied", "User: arn:aws:sts::1:assumed-role/ci/run is not authorized to perform: sqs:CreateQueue on resource: arn:q", 403), Final},
		{"another's denial may pass (T-910)", me, awsError("AccessDenied", "arn:aws:sts::1:assumed-role/other/x is not authorized to perform: sqs:SendMessage", 403), Propagation},
		{"passing a role of this run may pass (T-910)", me, awsError("AccessDenied", "User: arn:aws:sts::1:assumed-role/ci/run is not authorized to perform: iam:PassRole on resource: arn:aws:iam::1:role/mine because", 403), Propagation},
		{"passing a foreign role will not (T-910)", me, awsError("AccessDenied", "User: arn:aws:sts::1:assumed-role/ci/run is not authorized to perform: iam:PassRole on resource: arn:aws:iam::1:role/theirs", 403), Final},
		{"a taken name (T-832)", Classifier{}, awsError("EntityAlreadyExists", "Role with name x already exists.", 409), Collision},
		{"must already exist is no collision (T-832)", Classifier{}, awsError("V", "The bucket must already exist", 400), Final},
		{"the name already exists (T-832)", Classifier{}, awsError("V", "a queue already exists with this name", 400), Collision},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if got := c.c.Of(c.err); got != c.want {
				t.Errorf("%v: want %s, got %s", c.err, c.want, got)
			}
		})
	}
}

// Every code and text that is known to pass has its class, as a code of its own or
// within a longer message.
func TestEveryPattern(t *testing.T) {
	for _, tt := range []struct {
		rule  string
		class Class
		codes []string // else texts
		texts []string
	}{
		{rule: "throttling (T-901)", class: Throttle, codes: []string{
			"BandwidthLimitExceeded",
			"EC2ThrottledException",
			"PriorRequestNotComplete",
			"ProvisionedThroughputExceededException",
			"RequestLimitExceeded",
			"RequestThrottled",
			"RequestThrottledException",
			"SlowDown",
			"ThrottledException",
			"Throttling",
			"ThrottlingException",
			"TooManyRequestsException",
			"TransactionInProgressException",
		}},
		{rule: "passing states (T-905)", class: Transient, texts: []string{
			"currently in the following state: Pending",
			"has dependencies and cannot be deleted",
			"can't be deleted since it has",
			"DependencyViolation",
			"does not exist",
			"Schema is currently being altered",
			"scheduled for deletion",
			"Could not deliver test message",
			"concurrent update operation",
			"because it is in use",
			"Rate exceeded",
			"is marked disabled for mutation",
			"There is an operation running on the Cluster",
			"Unable to complete operation due to concurrent modification",
		}},
		{rule: "IAM propagation (T-906, T-907)", class: Propagation, texts: []string{
			"cannot be assumed",
			"Firehose is unable to assume role",
			"is unable to assume provided role",
			"is unable to assume the role",
			"security token included in the request is invalid. (Service:",
			"role defined for the function",
			"not authorized to perform",
			"execution role",
			"trust policy",
			"Role validation failed",
			"does not have required permissions",
			"Trusted Entity",
			"Invalid principal in policy",
			"Verify in IAM that the role has adequate trust relationships",
			"The user with name",
			"Policy Error: PrincipalNotFound",
			"Invalid value for the parameter Policy",
			"required permissions for: ENHANCED_MONITORING",
			"Caught ServiceAccessDeniedException",
			"permissions required to assume the role",
			"authorized to assume the provided role",
			"Cannot access stream",
			"Please ensure the role can perform",
			"KMS key is invalid for CreateGrant",
			"Policy contains a statement with one or more invalid principals",
			"Invalid IAM Instance Profile",
			"Invalid InstanceProfile",
			"Failed to authorize instance profile",
			"is not a valid role to allow SNS",
			"not authorized to access the Log Destination",
			"does not have a trust relationship allowing",
		}},
		{rule: "name cooldown (T-908)", class: Cooldown, codes: []string{"QueueDeletedRecently", "StateMachineDeleting"}, texts: []string{
			"wait 60 seconds", "conflicting conditional operation",
		}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			for _, code := range tt.codes {
				if got := (Classifier{}).Of(fmt.Errorf("create Res: %w", awsError(code, "no", 400))); got != tt.class {
					t.Errorf("code %s is %s", code, got)
				}
			}
			for _, text := range tt.texts {
				if got := (Classifier{}).Of(awsError("InvalidRequest", "It is so: "+text+" (Service: X)", 400)); got != tt.class {
					t.Errorf("%q is %s", text, got)
				}
			}
		})
	}
}
