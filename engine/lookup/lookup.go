// Package lookup answers what a CDK app asks about the account that it is to
// be deployed to: which VPC, which zones, which image.
//
// An app that misses an answer goes on with a dummy and lists the question in
// its assembly. Each provider here takes such a question and gives the value
// in the shape that the CDK library expects, which is also what ends up in
// cdk.context.json. A provider only reads, and asks as little as it can.
//
// Whatever could mean more than one thing is refused: a value that was picked
// at random would be committed and stay.
package lookup

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/sync/errgroup"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/value"
)

// parallel is how many questions are asked at once.
const parallel = 8

// A Source is where answers come from.
type Source struct {
	// Config gives the configuration for an account, which may be "", and a region.
	Config func(account, region string) aws.Config
	// Region is that of questions that name none; it may be "".
	Region string
}

// An Answer is what came of one question.
type Answer struct {
	assembly.Missing
	Value any // as in JSON, made of *value.Object, []any, string, bool and json.Number
	Err   error
}

// Answers answers each of the questions, in their order.
func (s *Source) Answers(ctx context.Context, questions []assembly.Missing) []Answer {
	answers := make([]Answer, len(questions))
	var all errgroup.Group
	all.SetLimit(parallel)
	for i, q := range questions {
		all.Go(func() error {
			answers[i].Missing = q
			answers[i].Err = routine.Try(func() (err error) {
				answers[i].Value, err = s.answer(ctx, q)
				return err
			})
			return nil
		})
	}
	_ = all.Wait() // each error is in its answer
	return answers
}

// A NotFoundError says that the account has nothing of the kind.
type NotFoundError struct{ What string }

func (e *NotFoundError) Error() string { return "there is no " + e.What }

// An UnknownError says that the app asks for what is not known here.
type UnknownError struct{ Provider string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("context provider %q is not known; update the action, or put the value into cdk.context.json", e.Provider)
}

// A provider answers one kind of question.
type provider func(ctx context.Context, cfg aws.Config, props *value.Object) (any, error)

func providerOf(name string) (provider, bool) {
	switch name {
	case "availability-zones":
		return zones, true
	case "ami":
		return image, true
	case "security-group":
		return securityGroup, true
	case "vpc-provider":
		return vpc, true
	case "endpoint-service-availability-zones":
		return endpointServiceZones, true
	case "ssm":
		return parameter, true
	case "hosted-zone":
		return hostedZone, true
	case "load-balancer":
		return loadBalancer, true
	case "load-balancer-listener":
		return listener, true
	case "key-provider":
		return key, true
	case "cc-api-provider":
		return resources, true
	case "plugin":
		return plugin, true
	}
	return nil, false
}

func (s *Source) answer(ctx context.Context, q assembly.Missing) (any, error) {
	ask, ok := providerOf(q.Provider)
	if !ok {
		return nil, &UnknownError{q.Provider}
	}
	region := q.Props.String("region")
	if region == "" {
		region = s.Region
	}
	if region == "" {
		return nil, errors.New("no region is known to look in; set the input region or AWS_REGION")
	}
	v, err := ask(ctx, s.Config(q.Props.String("account"), region), q.Props)
	if _, none := errors.AsType[*NotFoundError](err); none && q.Props.Value("ignoreErrorOnMissingContext") == true && q.Props.Has("dummyValue") {
		return q.Props.Value("dummyValue"), nil
	}
	if err != nil {
		return nil, err
	}
	return value.From(v)
}

// plugin refuses questions to plugins of the CDK command line, which are
// JavaScript in its process.
func plugin(_ context.Context, _ aws.Config, props *value.Object) (any, error) {
	return nil, fmt.Errorf("plugin %q belongs to the CDK command line and cannot be run here; put the value into cdk.context.json", props.String("pluginName"))
}

// required reads a property that a question has to have.
func required(props *value.Object, name string) (string, error) {
	v := props.String(name)
	if v == "" {
		return "", fmt.Errorf("the question has no %s", name)
	}
	return v, nil
}

// sole takes the only one of what was found.
func sole[T any](found []T, what string) (T, error) {
	var none T
	switch len(found) {
	case 0:
		return none, &NotFoundError{what}
	case 1:
		return found[0], nil
	}
	return none, fmt.Errorf("there are %d of %s, and only one is expected; describe it more closely", len(found), what)
}

// texts reads a string, or a list of strings.
func texts(v any) []string {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	var all []string
	list, _ := v.([]any)
	for _, member := range list {
		if s, ok := value.Text(member); ok {
			all = append(all, s)
		}
	}
	return all
}
