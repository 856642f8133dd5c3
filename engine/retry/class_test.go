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
