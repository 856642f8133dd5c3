// Package reference answers the references of a template that lead out of its
// stack: availability zones, parameter store, secrets, and exports of stacks
// that CloudFormation itself deployed.
//
// Every answer is asked for once a run and region. A throttle is waited out;
// nothing else is retried here but by the SDK.
package reference

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/value"
)

// A Resolver answers references with the credentials and region of a
// configuration. It is safe for concurrent use.
type Resolver struct {
	// Warn, when set, is told what a deploy should know of a value.
	Warn   func(text string)
	config aws.Config

	mu     sync.Mutex
	asked  map[string]*answer
	region map[string]*Resolver
}

type answer struct {
	done   chan struct{}
	value  any
	secret bool
	err    error
}

// New returns a resolver for the region of config.
func New(config aws.Config) *Resolver {
	return &Resolver{config: config, asked: map[string]*answer{}, region: map[string]*Resolver{}}
}

// An Error says that what a template refers to could not be had.
type Error struct {
	Doing string
	Err   error
}

func (e *Error) Error() string { return e.Doing + ": " + e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// once asks a question that others may be asking at the same time. An error is
// not remembered: its cause may pass. That of a throttle is waited out.
func (r *Resolver) once(ctx context.Context, question string, ask func() (any, bool, error)) (any, bool, error) {
	r.mu.Lock()
	a, ok := r.asked[question]
	if !ok {
		a = &answer{done: make(chan struct{})}
		r.asked[question] = a
	}
	r.mu.Unlock()
	if ok {
		select {
		case <-a.done:
			return a.value, a.secret, a.err
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
	a.err = retry.Do(ctx, retry.ForReading(), retry.Task{Name: question}, func(context.Context) (err error) {
		a.value, a.secret, err = ask()
		return err
	})
	if a.err != nil {
		r.mu.Lock()
		delete(r.asked, question)
		r.mu.Unlock()
	}
	close(a.done)
	return a.value, a.secret, a.err
}

// in returns the resolver of another region.
func (r *Resolver) in(region string) *Resolver {
	if region == "" || region == r.config.Region {
		return r
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if o, ok := r.region[region]; ok {
		return o
	}
	config := r.config.Copy()
	config.Region = region
	o := New(config)
	o.Warn = r.Warn
	r.region[region] = o
	return o
}

// regionName is what may become part of a host name.
var regionName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,30}$`)

// AvailabilityZones lists the zones of a region that every account may use, by
// name, sorted, as Fn::GetAZs does: no local and no wavelength zones.
func (r *Resolver) AvailabilityZones(ctx context.Context, region string) ([]string, error) {
	region = strings.ToLower(region)
	if !regionName.MatchString(region) {
		return nil, fmt.Errorf("%q is not the name of a region", region)
	}
	r = r.in(region)
	v, _, err := r.once(ctx, "zones", func() (any, bool, error) {
		out, err := ec2.NewFromConfig(r.config).DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{
			Filters: []ec2types.Filter{
				{Name: aws.String("region-name"), Values: []string{region}},
				{Name: aws.String("state"), Values: []string{"available"}},
			},
		})
		if err != nil {
			return nil, false, fmt.Errorf("list the availability zones of %s: %w", region, err)
		}
		var zones []string
		for _, z := range out.AvailabilityZones {
			standard := z.ZoneType == nil || *z.ZoneType == "availability-zone"
			if standard && (z.OptInStatus == "" || z.OptInStatus == ec2types.AvailabilityZoneOptInStatusOptInNotRequired) {
				zones = append(zones, aws.ToString(z.ZoneName))
			}
		}
		if len(zones) == 0 {
			return nil, false, fmt.Errorf("%s has no availability zones that this account can use", region)
		}
		slices.Sort(zones)
		return zones, false, nil
	})
	if err != nil {
		return nil, err
	}
	return slices.Clone(v.([]string)), nil
}

// SSMParameters reads plain parameters, as AWS::SSM::Parameter::Value<…> does.
// A SecureString is refused, like one that does not exist.
func (r *Resolver) SSMParameters(ctx context.Context, names []string) (map[string]string, error) {
	values := map[string]string{}
	for group := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(names))), 10) { // the API's limit
		out, err := retry.Read(ctx, retry.Task{}, func(ctx context.Context) (*ssm.GetParametersOutput, error) {
			return ssm.NewFromConfig(r.config).GetParameters(ctx, &ssm.GetParametersInput{Names: group})
		})
		if err != nil {
			return nil, &Error{"read SSM parameters " + strings.Join(group, ", "), err}
		}
		for _, p := range out.Parameters {
			if p.Type == ssmtypes.ParameterTypeSecureString {
				return nil, &Error{"read SSM parameter " + aws.ToString(p.Name), errors.New("it is a SecureString, which a template parameter cannot take; use a dynamic reference")}
			}
			values[aws.ToString(p.Name)] = aws.ToString(p.Value)
			// A parameter asked for by version, label or ARN comes back under its name.
			if p.Selector != nil {
				values[aws.ToString(p.Name)+*p.Selector] = aws.ToString(p.Value)
			}
			if p.ARN != nil {
				values[*p.ARN] = aws.ToString(p.Value)
			}
		}
		var missing []string
		for _, name := range group {
			if _, ok := values[name]; !ok {
				missing = append(missing, name)
			}
		}
		if missing != nil {
			return nil, &Error{"read SSM parameters in " + r.config.Region, errors.New("there is no " + strings.Join(missing, ", "))}
		}
	}
	return values, nil
}

// Dynamic resolves {{resolve:service:reference}}. secret tells whether the text
// must never be shown or stored; it is true whenever that is in doubt.
func (r *Resolver) Dynamic(ctx context.Context, service, reference string) (text string, secret bool, err error) {
	v, secret, err := r.once(ctx, "resolve:"+service+":"+reference, func() (any, bool, error) {
		switch service {
		case "secretsmanager":
			text, err := r.secretsManager(ctx, reference)
			return text, true, err
		case "ssm", "ssm-secure":
			return r.parameter(ctx, service, reference, true)
		}
		return nil, false, errors.New("there is no such service; CloudFormation knows ssm, ssm-secure and secretsmanager")
	})
	if err != nil {
		return "", false, &Error{"resolve {{resolve:" + service + ":" + reference + "}}", err}
	}
	return v.(string), secret, nil
}

// DynamicIn is Dynamic in another region.
func (r *Resolver) DynamicIn(ctx context.Context, region, service, reference string) (text string, secret bool, err error) {
	if !regionName.MatchString(region) {
		return "", false, fmt.Errorf("%q is not the name of a region", region)
	}
	return r.in(region).Dynamic(ctx, service, reference)
}

// Plain reads a parameter of a region without decrypting it: whoever only looks
// at what would be done needs no key. plain is false for one that is not meant to
// be shown, of which nothing is returned.
func (r *Resolver) Plain(ctx context.Context, region, name string) (text string, plain bool, err error) {
	if region != "" && !regionName.MatchString(region) {
		return "", false, fmt.Errorf("%q is not the name of a region", region)
	}
	r = r.in(region)
	v, hidden, err := r.once(ctx, "plain:"+name, func() (any, bool, error) { return r.parameter(ctx, "ssm", name, false) })
	if err != nil || hidden {
		return "", false, err
	}
	return v.(string), true, nil
}

func (r *Resolver) parameter(ctx context.Context, service, name string, decrypt bool) (any, bool, error) {
	out, err := ssm.NewFromConfig(r.config).GetParameter(ctx, &ssm.GetParameterInput{Name: &name, WithDecryption: aws.Bool(decrypt)})
	if err != nil {
		return nil, false, err
	}
	kind := out.Parameter.Type
	if service == "ssm-secure" && kind != ssmtypes.ParameterTypeSecureString {
		return nil, false, errors.New("the parameter is no SecureString; use {{resolve:ssm:…}}")
	}
	public := kind == ssmtypes.ParameterTypeString || kind == ssmtypes.ParameterTypeStringList
	if !public && kind != ssmtypes.ParameterTypeSecureString && decrypt && r.Warn != nil {
		r.Warn(fmt.Sprintf("SSM parameter %s is of a type that is not known, %q: its value is taken for a secret", name, kind))
	}
	return aws.ToString(out.Parameter.Value), !public, nil
}

// secretsManager resolves id[:SecretString[:json-key[:version-stage[:version-id]]]],
// where id may be an ARN with colons of its own.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references-secretsmanager.html
func (r *Resolver) secretsManager(ctx context.Context, reference string) (string, error) {
	segments := strings.Split(reference, ":")
	id, part := reference, make([]string, 3)
	if i := slices.IndexFunc(segments, func(s string) bool { return s == "SecretString" || s == "SecretBinary" }); i >= 0 {
		if segments[i] == "SecretBinary" {
			return "", errors.New("only SecretString can be referred to")
		}
		if len(segments) > i+4 {
			return "", errors.New("after SecretString come a JSON key, a version stage and a version id, and nothing else")
		}
		id = strings.Join(segments[:i], ":")
		copy(part, segments[i+1:])
	}
	key, stage, version := part[0], part[1], part[2]
	if id == "" {
		return "", errors.New("it names no secret")
	}

	in := &secretsmanager.GetSecretValueInput{SecretId: &id}
	if stage != "" {
		in.VersionStage = &stage
	}
	if version != "" {
		in.VersionId = &version
	}
	from := r
	if f := strings.Split(id, ":"); f[0] == "arn" {
		// A secret's name has no colon, so that one of these means another form.
		if len(f) != 7 || !regionName.MatchString(f[3]) {
			return "", fmt.Errorf("%s is not the ARN of a secret", id)
		}
		from = r.in(f[3])
	} else if len(f) > 1 {
		return "", errors.New("what follows the secret's name has to be SecretString")
	}
	out, err := secretsmanager.NewFromConfig(from.config).GetSecretValue(ctx, in)
	if err != nil {
		return "", err
	}
	if out.SecretString == nil {
		return "", errors.New("the secret holds no text")
	}
	if key == "" {
		return *out.SecretString, nil
	}
	// What is wrong with the text must not be quoted: it is the secret.
	o, err := value.ParseObject([]byte(*out.SecretString))
	if err != nil {
		return "", fmt.Errorf("the secret is not a JSON object, so it has no key %s", key)
	}
	v, ok := o.Get(key)
	if !ok {
		return "", fmt.Errorf("the secret has no key %s", key)
	}
	if text, ok := value.Text(v); ok {
		return text, nil
	}
	return value.JSON(v), nil
}

// ErrNoExport says that CloudFormation has no such export either.
var ErrNoExport = errors.New("no such export")

// Export reads an export of a stack that CloudFormation deployed.
func (r *Resolver) Export(ctx context.Context, name string) (string, error) {
	v, _, err := r.once(ctx, "exports", func() (any, bool, error) {
		exports := map[string]string{}
		pages := cloudformation.NewListExportsPaginator(cloudformation.NewFromConfig(r.config), &cloudformation.ListExportsInput{})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, false, fmt.Errorf("list CloudFormation's exports in %s: %w", r.config.Region, err)
			}
			for _, e := range page.Exports {
				exports[aws.ToString(e.Name)] = aws.ToString(e.Value)
			}
		}
		return exports, false, nil
	})
	if err != nil {
		return "", err
	}
	text, ok := v.(map[string]string)[name]
	if !ok {
		return "", fmt.Errorf("export %s in %s: %w", name, r.config.Region, ErrNoExport)
	}
	return text, nil
}

// StackOutput reads an output of a stack that CloudFormation deployed.
func (r *Resolver) StackOutput(ctx context.Context, stack, output, region string) (string, error) {
	r = r.in(region)
	v, _, err := r.once(ctx, "stack:"+stack, func() (any, bool, error) {
		out, err := cloudformation.NewFromConfig(r.config).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stack})
		if err != nil {
			return nil, false, fmt.Errorf("describe CloudFormation stack %s in %s: %w", stack, r.config.Region, err)
		}
		outputs := map[string]string{}
		for _, s := range out.Stacks {
			for _, o := range s.Outputs {
				outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
			}
		}
		return outputs, false, nil
	})
	if err != nil {
		return "", err
	}
	text, ok := v.(map[string]string)[output]
	if !ok {
		return "", fmt.Errorf("stack %s in %s has no output %s: %w", stack, r.config.Region, output, ErrNoExport)
	}
	return text, nil
}
