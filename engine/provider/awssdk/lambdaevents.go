package awssdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var addPermissionInput = provider.Bind[lambda.AddPermissionInput](
	provider.Finish(func(r *provider.Request, in *lambda.AddPermissionInput) error {
		in.StatementId = aws.String(statementID(r))
		return nil
	}))

var notInStatementID = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// statementID names the statement by stack, logical id and content: another
// stack's permission on the same function does not collide with it, nor does
// the statement that a changed one replaces, and a create that is sent twice
// does.
func statementID(r *provider.Request) string {
	const longest = 100
	content := r.Properties.Clone()
	content.Delete("EventSourceToken") // may be a secret
	sum := sha256.Sum256([]byte(r.Stack.Name + "\x00" + r.LogicalID + "\x00" + value.JSON(content)))
	hash := hex.EncodeToString(sum[:4])
	name := notInStatementID.ReplaceAllString(r.Stack.Name+"-"+r.LogicalID, "-")
	return name[:min(len(name), longest-1-len(hash))] + "-" + hash
}

// A permission is one statement of a function's policy. Its physical id is the
// statement's id; records made through Cloud Control have the function and a
// bar before it.
func permission() provider.Resource {
	return provider.Resource{
		Type:   "AWS::Lambda::Permission",
		Inputs: []provider.Input{addPermissionInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			_, err := provider.Invoke(ctx, r, lambdaOnce, (*lambda.Client).AddPermission, addPermissionInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: statementID(r)}, nil
		},
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			s, err := statementOf(ctx, r, statementID(r))
			if s == nil || err != nil {
				return "", err
			}
			return statementID(r), nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := lambdaClient(r.Session).RemovePermission(ctx, &lambda.RemovePermissionInput{
				FunctionName: aws.String(text(r.Properties, "FunctionName")), StatementId: aws.String(lastSegment(r.PhysicalID, "|")),
			})
			return err
		},
		Gone: lambdaGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Id", lastSegment(r.PhysicalID, "|"))
		},
		Read: readPermission,
		Identifier: func(r *provider.Request) string {
			if strings.Contains(r.PhysicalID, "|") {
				return r.PhysicalID
			}
			return text(r.Properties, "FunctionName") + "|" + r.PhysicalID
		},
	}
}

// statementOf reads one statement of the function's policy, nil when it is not
// there.
func statementOf(ctx context.Context, r *provider.Request, id string) (*value.Object, error) {
	out, err := lambdaClient(r.Session).GetPolicy(ctx, &lambda.GetPolicyInput{FunctionName: aws.String(text(r.Properties, "FunctionName"))})
	if provider.HasCode(err, lambdaGone...) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	policy, err := value.ParseObject([]byte(aws.ToString(out.Policy)))
	if err != nil {
		return nil, err
	}
	for _, v := range policy.List("Statement") {
		if s, ok := v.(*value.Object); ok && s.String("Sid") == id {
			return s, nil
		}
	}
	return nil, nil
}

func readPermission(ctx context.Context, r *provider.Request) (*value.Object, error) {
	s, err := statementOf(ctx, r, lastSegment(r.PhysicalID, "|"))
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, provider.ErrNotFound
	}
	props := value.NewObject("FunctionName", r.Properties.Value("FunctionName"), "Action", s.Value("Action"))
	switch p := s.Value("Principal").(type) {
	case string:
		props.Set("Principal", p)
	case *value.Object: // by kind: {"Service": …}, {"AWS": …}
		_, who, _ := p.Sole()
		if account, ok := who.(string); ok && strings.HasSuffix(account, ":root") && text(r.Properties, "Principal") == strings.Split(account, ":")[4] {
			who = r.Properties.Value("Principal") // an account is written as its root
		}
		props.Set("Principal", who)
	}
	conditions := map[string]string{
		"aws:sourcearn": "SourceArn", "aws:sourceaccount": "SourceAccount", "aws:principalorgid": "PrincipalOrgID",
		"lambda:eventsourcetoken": "EventSourceToken", "lambda:functionurlauthtype": "FunctionUrlAuthType",
	}
	for _, tests := range s.Object("Condition").All() {
		o, _ := tests.(*value.Object)
		for key, v := range o.All() {
			key = strings.ToLower(key)
			if property, ok := conditions[key]; ok {
				props.Set(property, v)
			} else if key == "lambda:invokedviafunctionurl" {
				on, _ := value.Text(v)
				props.Set("InvokedViaFunctionUrl", on == "true")
			}
		}
	}
	return props, nil
}

var (
	createMappingInput = provider.Bind[lambda.CreateEventSourceMappingInput]()
	updateMappingInput = provider.Bind[lambda.UpdateEventSourceMappingInput](
		provider.ID("UUID"),
		provider.Clear{
			"BisectBatchOnFunctionError":     "false",
			"DestinationConfig":              value.NewObject("OnFailure", &value.Object{}),
			"Enabled":                        "true",
			"FilterCriteria":                 &value.Object{},
			"FunctionResponseTypes":          []any{},
			"KmsKeyArn":                      "",
			"MaximumBatchingWindowInSeconds": "0",
			"MaximumRecordAgeInSeconds":      "-1",
			"MaximumRetryAttempts":           "-1",
			"MetricsConfig":                  value.NewObject("Metrics", []any{}),
			"ParallelizationFactor":          "1",
			"ProvisionedPollerConfig":        &value.Object{},
			"ScalingConfig":                  &value.Object{},
			"SourceAccessConfigurations":     []any{},
			"TumblingWindowInSeconds":        "0",
		},
		provider.Finish(func(r *provider.Request, in *lambda.UpdateEventSourceMappingInput) error {
			if r.Previous.Has("BatchSize") && in.BatchSize == nil {
				in.BatchSize = aws.Int32(100)
				if strings.Contains(text(r.Properties, "EventSourceArn"), ":sqs:") {
					in.BatchSize = aws.Int32(10)
				}
			}
			return nil
		}))
)

// An event source mapping is known by its UUID. Its create is not idempotent:
// what an unanswered one made is found by function and source.
func eventSourceMapping() provider.Resource {
	return provider.Resource{
		Type:    "AWS::Lambda::EventSourceMapping",
		Inputs:  []provider.Input{createMappingInput},
		Updates: []provider.Input{updateMappingInput},
		Tags:    lambdaTags(func(r *provider.Request) string { return arn(r, "lambda", "event-source-mapping:"+r.PhysicalID) }),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, lambdaOnce, (*lambda.Client).CreateEventSourceMapping, createMappingInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.UUID}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			_, err := provider.Invoke(ctx, r, lambdaClient, (*lambda.Client).UpdateEventSourceMapping, updateMappingInput)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := lambdaClient(r.Session).DeleteEventSourceMapping(ctx, &lambda.DeleteEventSourceMappingInput{UUID: &r.PhysicalID})
			return err
		},
		Gone: lambdaGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Id", r.PhysicalID, "EventSourceMappingArn", arn(r, "lambda", "event-source-mapping:"+r.PhysicalID))
		},
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			source := text(r.Properties, "EventSourceArn")
			if source == "" {
				return "", nil // self-managed sources have no key to ask by
			}
			out, err := lambdaClient(r.Session).ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{
				FunctionName: aws.String(text(r.Properties, "FunctionName")), EventSourceArn: &source,
			})
			if err != nil || len(out.EventSourceMappings) != 1 {
				return "", err
			}
			return aws.ToString(out.EventSourceMappings[0].UUID), nil
		},
	}
}

var publishLayerInput = provider.Bind[lambda.PublishLayerVersionInput]()

// A layer version is known by its ARN, which ends in a number that the service
// chooses. Nothing of it can change.
func layerVersion() provider.Resource {
	return provider.Resource{
		Type:   "AWS::Lambda::LayerVersion",
		Name:   "LayerName",
		Inputs: []provider.Input{publishLayerInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, lambdaOnce, (*lambda.Client).PublishLayerVersion, publishLayerInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.LayerVersionArn}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			layer, number, err := splitLayer(r.PhysicalID)
			if err != nil {
				return err
			}
			_, err = lambdaClient(r.Session).DeleteLayerVersion(ctx, &lambda.DeleteLayerVersionInput{LayerName: &layer, VersionNumber: &number})
			return err
		},
		Gone: lambdaGone,
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("LayerVersionArn", r.PhysicalID)
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			layer, number, err := splitLayer(r.PhysicalID)
			if err != nil {
				return nil, err
			}
			out, err := lambdaClient(r.Session).GetLayerVersion(ctx, &lambda.GetLayerVersionInput{LayerName: &layer, VersionNumber: &number})
			if provider.HasCode(err, lambdaGone...) {
				return nil, provider.ErrNotFound
			} else if err != nil {
				return nil, err
			}
			props := value.NewObject("LayerName", lastSegment(layer, ":"))
			if d := aws.ToString(out.Description); d != "" {
				props.Set("Description", d)
			}
			if l := aws.ToString(out.LicenseInfo); l != "" {
				props.Set("LicenseInfo", l)
			}
			var runtimes, architectures []string
			for _, rt := range out.CompatibleRuntimes {
				runtimes = append(runtimes, string(rt))
			}
			for _, a := range out.CompatibleArchitectures {
				architectures = append(architectures, string(a))
			}
			if len(runtimes) > 0 {
				props.Set("CompatibleRuntimes", list(runtimes))
			}
			if len(architectures) > 0 {
				props.Set("CompatibleArchitectures", list(architectures))
			}
			if c, ok := r.Properties.Get("Content"); ok {
				props.Set("Content", c) // where it was uploaded from is not kept by the service
			}
			return props, nil
		},
		SDKOnly: "Cloud Control cannot read layer versions",
	}
}

func splitLayer(versionARN string) (layer string, number int64, err error) {
	number, err = strconv.ParseInt(lastSegment(versionARN, ":"), 10, 64)
	return strings.TrimSuffix(versionARN, ":"+lastSegment(versionARN, ":")), number, err
}

var (
	createURLInput = provider.Bind[lambda.CreateFunctionUrlConfigInput](provider.Rename{"TargetFunctionArn": "FunctionName"})
	updateURLInput = provider.Bind[lambda.UpdateFunctionUrlConfigInput](
		provider.Rename{"TargetFunctionArn": "FunctionName"},
		provider.Clear{"Cors": &value.Object{}, "InvokeMode": "BUFFERED"})
)

// A function's URL is known by the function's ARN.
func functionURL() provider.Resource {
	target := func(r *provider.Request) (name, qualifier *string) {
		name = &r.PhysicalID
		if t := text(r.Properties, "TargetFunctionArn"); t != "" {
			name = &t
		}
		if q := text(r.Properties, "Qualifier"); q != "" {
			qualifier = &q
		}
		return name, qualifier
	}
	return provider.Resource{
		Type:    "AWS::Lambda::Url",
		Inputs:  []provider.Input{createURLInput},
		Updates: []provider.Input{updateURLInput},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, lambdaOnce, (*lambda.Client).CreateFunctionUrlConfig, createURLInput)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{
				PhysicalID: *out.FunctionArn,
				Attributes: value.NewObject("FunctionArn", *out.FunctionArn, "FunctionUrl", aws.ToString(out.FunctionUrl)),
			}, nil
		},
		Update: func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
			_, err := provider.Invoke(ctx, r, lambdaClient, (*lambda.Client).UpdateFunctionUrlConfig, updateURLInput)
			return provider.Updated{}, err
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			name, qualifier := target(r)
			_, err := lambdaClient(r.Session).DeleteFunctionUrlConfig(ctx, &lambda.DeleteFunctionUrlConfigInput{FunctionName: name, Qualifier: qualifier})
			return err
		},
		Gone: lambdaGone,
		Find: func(ctx context.Context, r *provider.Request) (string, error) {
			name, qualifier := target(r)
			out, err := lambdaClient(r.Session).GetFunctionUrlConfig(ctx, &lambda.GetFunctionUrlConfigInput{FunctionName: name, Qualifier: qualifier})
			if provider.HasCode(err, lambdaGone...) {
				return "", nil
			} else if err != nil {
				return "", err
			}
			return aws.ToString(out.FunctionArn), nil
		},
		Attributes: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			if r.Attributes.Has("FunctionUrl") {
				return nil, nil // the create's answer had it, and it never changes
			}
			name, qualifier := target(r)
			out, err := lambdaClient(r.Session).GetFunctionUrlConfig(ctx, &lambda.GetFunctionUrlConfigInput{FunctionName: name, Qualifier: qualifier})
			if err != nil {
				return nil, err
			}
			return value.NewObject("FunctionArn", aws.ToString(out.FunctionArn), "FunctionUrl", aws.ToString(out.FunctionUrl)), nil
		},
	}
}
