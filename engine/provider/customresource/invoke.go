package customresource

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/value"
)

// An undelivered request was refused before any handler could have it.
type undelivered struct {
	err   error
	again *retry.Schedule // by which it is worth sending again; nil: it is not
}

func (e *undelivered) Error() string { return e.err.Error() }
func (e *undelivered) Unwrap() error { return e.err }

// NothingSent tells provider.Ambiguous that a call cut off before the request
// went out leaves nothing open.
func (e *undelivered) NothingSent() bool { return true }

// refusal wraps an error that came before a request was accepted.
func refusal(err error) error {
	early := &undelivered{err: err}
	switch class := (retry.Classifier{}).Of(err); {
	case class == retry.Propagation, contains(err.Error(), "no identity-based policy allows", "not in the state functionactive") != "":
		early.again = &retry.PropagationProbe
	case class == retry.Throttle: // as CloudFormation, which queues what a busy function does not take
		early.again = &retry.Generic
	}
	return early
}

// An invocation is what an invoke returned at once.
type invocation struct {
	payload       []byte
	functionError string
	log           string // the tail, "" when there is none
}

func functions(r *provider.Request) *lambda.Client {
	return provider.Client(r.Session, lambda.NewFromConfig)
}

// throttledOnly repeats only what was throttled: everything else may have
// reached the handler.
func throttledOnly() aws.Retryer {
	return awsretry.NewStandard(func(s *awsretry.StandardOptions) {
		s.Retryables = []awsretry.IsErrorRetryable{awsretry.RetryableErrorCode{Codes: awsretry.DefaultThrottleErrorCodes}}
	})
}

// invoke waits until the function can run and runs it. An error that is not
// undelivered leaves open whether it ran.
func invoke(ctx context.Context, r *provider.Request, function string, body []byte) (*invocation, error) {
	if err := ready(ctx, r, function); err != nil {
		return nil, err
	}
	out, err := functions(r).Invoke(ctx, &lambda.InvokeInput{
		FunctionName:   &function,
		InvocationType: lambdatypes.InvocationTypeRequestResponse,
		LogType:        lambdatypes.LogTypeTail,
		Payload:        body,
	}, func(o *lambda.Options) { o.Retryer = throttledOnly() })
	if err != nil {
		err = fmt.Errorf("invoke the handler of %s (%s), %s: %w", r.LogicalID, r.Type, function, err)
		if provider.Ambiguous(err) {
			return nil, err
		}
		return nil, refusal(err)
	}
	said := &invocation{payload: out.Payload, functionError: aws.ToString(out.FunctionError)}
	if log, err := base64.StdEncoding.DecodeString(aws.ToString(out.LogResult)); err == nil {
		said.log = string(log)
	}
	return said, nil
}

// ready waits until the function is active and its last update is done. What a
// failure shows of the function is its states only.
func ready(ctx context.Context, r *provider.Request, function string) error {
	var update string
	read := func(ctx context.Context, _ *provider.Request) (string, string, error) {
		out, err := functions(r).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &function})
		if err != nil {
			return "", "", refusal(fmt.Errorf("look at the handler of %s (%s), %s: %w", r.LogicalID, r.Type, function, err))
		}
		update = string(out.LastUpdateStatus)
		return or(string(out.State), "Active"), aws.ToString(out.StateReason), nil
	}
	active := &provider.Waiter{What: "function " + function, Read: read, OK: []string{"Active", "Inactive"}, Failed: []string{"Failed"}, Cap: 5 * time.Second}
	updated := &provider.Waiter{What: "last update of function " + function, OK: []string{"Successful"}, Failed: []string{"Failed"}, Cap: 5 * time.Second,
		Read: func(ctx context.Context, r *provider.Request) (string, string, error) {
			if update == "InProgress" { // else as read just now
				if _, _, err := read(ctx, r); err != nil {
					return "", "", err
				}
			}
			return or(update, "Successful"), "", nil
		}}
	err := active.Wait(ctx, r)
	if err == nil {
		err = updated.Wait(ctx, r)
	}
	if errors.Is(err, provider.ErrDraining) {
		return &retry.InterruptedError{Last: err}
	}
	var early *undelivered
	if err != nil && !errors.As(err, &early) {
		err = &undelivered{err: err}
	}
	return err
}

func functionGone(ctx context.Context, r *provider.Request, function string) bool {
	_, err := functions(r).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &function})
	return provider.HasCode(err, "ResourceNotFoundException")
}

func publish(ctx context.Context, r *provider.Request, topic string, body []byte) error {
	_, err := provider.Client(r.Session, sns.NewFromConfig).Publish(ctx, &sns.PublishInput{TopicArn: &topic, Message: aws.String(string(body))},
		func(o *sns.Options) { o.Retryer = throttledOnly() })
	if err == nil {
		return nil
	}
	err = fmt.Errorf("publish the request of %s (%s) to %s: %w", r.LogicalID, r.Type, topic, err)
	if provider.Ambiguous(err) {
		return err
	}
	return refusal(err)
}

// budget is how to wait for the answer, by what the invocation itself returned.
// What a handler has put to its URL is its answer, whatever it returned or threw
// afterwards: CloudFormation reads nothing else.
func (i *invocation) budget(r *provider.Request, b budget) budget {
	if i.functionError != "" {
		b.limit, b.otherwise = 0, &outcome{err: &FunctionError{
			LogicalID: r.LogicalID, Type: r.Type, Kind: i.functionError, Payload: cut(string(i.payload), 2000), Log: i.tail(),
		}}
		return b
	}
	v, err := value.Parse(i.payload)
	o, _ := v.(*value.Object)
	switch {
	case err != nil, o.Len() == 0: // asynchronous
	case o.String("Status") == "SUCCESS", o.String("Status") == "FAILED":
		a, err := read(r, "", o)
		b.limit, b.otherwise = 0, &outcome{a, err}
	case o.Has("PhysicalResourceId"), o.Has("Data"):
		b.limit, b.steady, b.otherwise = 2*time.Second, true, &outcome{answer: parse(r, o)}
	case !b.declared:
		b.limit, b.steady = 30*time.Second, true
	}
	return b
}

// tail is the end of the log that the handler itself wrote.
func (i *invocation) tail() string {
	if i == nil {
		return ""
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(i.log), "\n"), func(l string) bool {
		return strings.TrimSpace(l) == "" || platformLine.MatchString(l)
	})
	text := []rune(strings.Join(lines, "\n"))
	return string(text[max(0, len(text)-2000):])
}

var platformLine = regexp.MustCompile(`^(START|END|REPORT|INIT_START|INIT_REPORT|XRAY) `)

// Signals of a denial that may pass: in a reason, and in the log only.
var (
	deniedReasons = []string{"not authorized to perform", "no identity-based policy allows", "not in the state functionactive", "cannot be assumed", "is unable to assume"}
	deniedLogs    = []string{"an error occurred (403)", "accessdenied", "access denied"}
)

// denied returns the signal of a denial that may pass, "" for none.
func denied(reason string, i *invocation) (signal string, inLog bool) {
	if s := contains(reason, deniedReasons...); s != "" {
		return s, false
	}
	if i == nil {
		return "", false
	}
	return contains(i.log, slices.Concat(deniedReasons, deniedLogs)...), true
}

func contains(text string, patterns ...string) string {
	text = strings.ToLower(text)
	for _, p := range patterns {
		if strings.Contains(text, p) {
			return p
		}
	}
	return ""
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
