package awssdk

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/smithy-go"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func TestWhenSettled(t *testing.T) {
	busy := &smithy.GenericAPIError{Code: "Busy"}
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		answers []error
		want    error
		waits   int
	}{
		"a call that is taken is not repeated":       {[]error{nil}, nil, 0},
		"a busy resource is waited for once":         {[]error{busy, nil}, nil, 1},
		"one that stays busy is left to the retries": {[]error{busy, busy}, busy, 1},
		"other failures are not waited for":          {[]error{failed}, failed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			waits := 0
			w := &provider.Waiter{What: "it", OK: []string{"ok"}, Read: func(context.Context, *provider.Request) (string, string, error) {
				waits++
				return "ok", "", nil
			}}
			calls := 0
			err := whenSettled(t.Context(), &provider.Request{}, w, "Busy", func() error {
				calls++
				return test.answers[calls-1]
			})
			if err != test.want || waits != test.waits || calls != len(test.answers) {
				t.Errorf("%v after %d calls and %d waits, want %v after %d and %d", err, calls, waits, test.want, len(test.answers), test.waits)
			}
		})
	}
}

// What is told before the create must be what the create will give.
func TestKnownBeforeTheCreate(t *testing.T) {
	for name, test := range map[string]struct {
		typ, name, props string
		attribute, want  string // "" wanted: not known yet
	}{
		"queue":                  {"AWS::SQS::Queue", "q", `{}`, "Arn", "arn:aws:sqs:eu-west-1:123456789012:q"},
		"queue's URL":            {"AWS::SQS::Queue", "q", `{}`, "QueueUrl", ""},
		"topic":                  {"AWS::SNS::Topic", "t", `{}`, "TopicArn", "arn:aws:sns:eu-west-1:123456789012:t"},
		"role":                   {"AWS::IAM::Role", "r", `{"Path": "/a/"}`, "Arn", "arn:aws:iam::123456789012:role/a/r"},
		"role of a path to come": {"AWS::IAM::Role", "r", `{"Path": {"Ref": "P"}}`, "Arn", ""},
		"rule":                   {"AWS::Events::Rule", "r", `{}`, "Arn", "arn:aws:events:eu-west-1:123456789012:rule/r"},
		"rule on a bus's ARN":    {"AWS::Events::Rule", "r", `{"EventBusName": "arn:aws:events:eu-west-1:1:event-bus/b"}`, "Arn", "arn:aws:events:eu-west-1:123456789012:rule/b/r"},
		"rule on a bus to come":  {"AWS::Events::Rule", "r", `{"EventBusName": {"Ref": "B"}}`, "Arn", ""},
		"parameter":              {"AWS::SSM::Parameter", "/a/p", `{"Value": {"Ref": "V"}}`, "Arn", "arn:aws:ssm:eu-west-1:123456789012:parameter/a/p"},
		"parameter's value":      {"AWS::SSM::Parameter", "/a/p", `{"Value": {"Ref": "V"}}`, "Value", ""},
		"permission":             {"AWS::Lambda::Permission", "", `{"FunctionName": {"Ref": "F"}}`, "Id", ""},
		"key":                    {"AWS::KMS::Key", "", `{}`, "Arn", ""},
	} {
		t.Run(name, func(t *testing.T) {
			known := provider.Drive(describe(t, test.typ), nil).Known(&provider.Request{
				Stack: stack, LogicalID: "Res", Type: test.typ, Name: test.name, Properties: object(t, test.props),
			})
			if got, _ := value.Text(known.Value(test.attribute)); got != test.want {
				t.Errorf("%s is %q, want %q", test.attribute, got, test.want)
			}
		})
	}
}

// An imported role may be in a path that its template does not name.
func TestKnownARNKeepsTheRecordedOne(t *testing.T) {
	r := &provider.Request{Stack: stack, PhysicalID: "r", Properties: object(t, `{}`), Attributes: object(t, `{"Arn": "arn:aws:iam::123456789012:role/x/r"}`)}
	if got := knownARN("role")(r).String("Arn"); got != "arn:aws:iam::123456789012:role/x/r" {
		t.Errorf("ARN is %s, want the recorded one", got)
	}
}
