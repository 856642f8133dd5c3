package awssdk

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/org/cdkd-action/engine/provider"
)

// aFunction makes a function that other resources of a test need.
func aFunction(t *testing.T, s *provider.Session, name string) (arn string) {
	t.Helper()
	zipped, err := zipInline("python3.13", "def handler(e, c): pass")
	if err != nil {
		t.Fatal(err)
	}
	out, err := lambda.NewFromConfig(s.Config).CreateFunction(t.Context(), &lambda.CreateFunctionInput{
		FunctionName: &name, Role: aws.String(aRole(t, s, name+"-role")), Runtime: types.RuntimePython313,
		Handler: aws.String("index.handler"), Code: &types.FunctionCode{ZipFile: zipped},
	})
	if err != nil {
		t.Fatal(err)
	}
	return *out.FunctionArn
}

func TestFunction(t *testing.T) {
	s := emulated(t)
	c := lambda.NewFromConfig(s.Config)
	role := aRole(t, s, "Shop-FnRole")
	var sha string
	seen := func(ctx context.Context, name string) (any, error) {
		out, err := c.GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: &name})
		if err != nil {
			return nil, err
		}
		f := out.Configuration
		sha = *f.CodeSha256
		var variables map[string]string
		if f.Environment != nil {
			variables = f.Environment.Variables
		}
		concurrency := int32(-1)
		if out.Concurrency != nil && out.Concurrency.ReservedConcurrentExecutions != nil {
			concurrency = *out.Concurrency.ReservedConcurrentExecutions
		}
		delete(out.Tags, provider.OwnerTagKey)
		return []any{aws.ToString(f.Description), *f.Timeout, *f.MemorySize, len(variables), concurrency, len(out.Tags)}, nil
	}
	base := `"Role": "` + role + `", "Runtime": "python3.13", "Handler": "index.handler"`
	code := func(text string) string { return `"Code": {"ZipFile": "def handler(e, c): return '` + text + `'"}` }
	var before string
	life{
		typ: "AWS::Lambda::Function", physical: "Shop-Fn", id: "Shop-Fn",
		attributes: map[string]string{"Arn": "arn:aws:lambda:eu-west-1:123456789012:function:Shop-Fn"},
		steps: []step{
			{"create", `{` + base + `, ` + code("a") + `, "Timeout": "10", "MemorySize": 256, "Description": "d", "Environment": {"Variables": {"A": "1", "B": 2}},
				"ReservedConcurrentExecutions": 5, "Tags": [{"Key": "k", "Value": "v"}], "Architectures": ["arm64"]}`, seen,
				[]any{"d", int32(10), int32(256), 2, int32(5), 1}},
			{"change configuration", `{` + base + `, ` + code("a") + `, "Timeout": 20, "MemorySize": 256, "Environment": {"Variables": {"A": "1"}},
				"ReservedConcurrentExecutions": 6, "Tags": [{"Key": "k", "Value": "w"}, {"Key": "l", "Value": "v"}], "Architectures": ["arm64"]}`,
				func(ctx context.Context, id string) (any, error) {
					before = sha
					got, err := seen(ctx, id)
					if err == nil && sha != before {
						err = errors.New("the code changed too")
					}
					return got, err
				},
				[]any{"", int32(20), int32(256), 1, int32(6), 2}},
			{"change code, remove the rest", `{` + base + `, ` + code("b") + `}`,
				func(ctx context.Context, id string) (any, error) {
					before = sha
					got, err := seen(ctx, id)
					if err == nil && sha == before {
						err = errors.New("the code did not change")
					}
					return got, err
				},
				[]any{"", int32(3), int32(128), 0, int32(-1), 0}},
		},
		gone: func(ctx context.Context, name string) error {
			_, err := c.GetFunction(ctx, &lambda.GetFunctionInput{FunctionName: &name})
			return err
		},
		noRead: true,
	}.run(t, s)
}

// The emulator ignores these resets.
func TestLambdaResets(t *testing.T) {
	r := &provider.Request{PhysicalID: "Shop-Fn", Previous: object(t, `{"Cors": {"AllowOrigins": ["*"]}, "TargetFunctionArn": "fn",
		"Architectures": ["arm64"], "LoggingConfig": {"LogGroup": "mine", "LogFormat": "JSON"}}`), Properties: object(t, `{"TargetFunctionArn": "fn"}`)}
	url, err := updateURLInput.Input(r)
	if err != nil {
		t.Fatal(err)
	}
	if url.Cors == nil || url.Cors.AllowOrigins != nil {
		t.Errorf("Cors is %+v, want it empty: an absent one is kept", url.Cors)
	}
	code, err := updateCodeInput.Input(r)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(code.Architectures, []types.Architecture{types.ArchitectureX8664}) {
		t.Errorf("architectures are %v, want the default", code.Architectures)
	}
	fn, err := updateFunctionInput.Input(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&types.LoggingConfig{LogFormat: types.LogFormatText, LogGroup: aws.String("/aws/lambda/Shop-Fn")}, fn.LoggingConfig,
		cmpopts.IgnoreUnexported(types.LoggingConfig{})); diff != "" {
		t.Errorf("logging (-want +got):\n%s", diff)
	}
}
