package awssdk

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
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

func TestPermission(t *testing.T) {
	s := emulated(t)
	c := lambda.NewFromConfig(s.Config)
	aFunction(t, s, "Shop-Permitted")
	props := `{"FunctionName": "Shop-Permitted", "Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com",
		"SourceArn": "arn:aws:s3:::bucket", "SourceAccount": "123456789012"}`
	life{
		typ: "AWS::Lambda::Permission",
		steps: []step{{"create", props, func(ctx context.Context, id string) (any, error) {
			out, err := c.GetPolicy(ctx, &lambda.GetPolicyInput{FunctionName: aws.String("Shop-Permitted")})
			if err != nil {
				return nil, err
			}
			return strings.Contains(*out.Policy, `"Sid": "`+id+`"`) || strings.Contains(*out.Policy, `"Sid":"`+id+`"`), nil
		}, true}},
	}.run(t, s)

	d := provider.Drive(describe(t, "AWS::Lambda::Permission"), nil)
	r := &provider.Request{Session: s, Stack: stack, LogicalID: "Res", Type: "AWS::Lambda::Permission", Properties: object(t, props)}
	if id, err := d.Find(t.Context(), r); id != "" || err != nil {
		t.Errorf("found %q, %v before the create", id, err)
	}
	made, err := d.Create(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := d.Find(t.Context(), r); id != made.PhysicalID || err != nil {
		t.Errorf("found %q, %v, want what an unanswered create made: %q", id, err, made.PhysicalID)
	}
	// Records that were made through Cloud Control.
	r.PhysicalID = "arn:aws:lambda:eu-west-1:123456789012:function:Shop-Permitted|" + made.PhysicalID
	if _, err := d.Delete(t.Context(), r); err != nil {
		t.Error(err)
	}
	if id, err := d.Find(t.Context(), r); id != "" || err != nil {
		t.Errorf("found %q, %v after the delete", id, err)
	}
}

func TestStatementID(t *testing.T) {
	id := func(stackName, logicalID, props string) string {
		return statementID(&provider.Request{Stack: provider.Stack{Name: stackName}, LogicalID: logicalID, Properties: object(t, props)})
	}
	same := id("Shop", "Perm", `{"Principal": "a"}`)
	if again := id("Shop", "Perm", `{"Principal": "a"}`); again != same {
		t.Errorf("a create sent twice has two ids: %s, %s", same, again)
	}
	ids := []string{same, id("Shop2", "Perm", `{"Principal": "a"}`), id("Shop", "Perm2", `{"Principal": "a"}`), id("Shop", "Perm", `{"Principal": "b"}`),
		id("Parent~Child", strings.Repeat("VeryLongLogicalId", 20), `{}`)}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 5 {
		t.Errorf("different permissions share an id: %v", ids)
	}
	for _, id := range ids {
		if len(id) > 100 || notInStatementID.MatchString(id) {
			t.Errorf("%q is no statement id", id)
		}
	}
}

func TestEventSourceMapping(t *testing.T) {
	s := emulated(t)
	c := lambda.NewFromConfig(s.Config)
	aFunction(t, s, "Shop-Consumer")
	if _, err := sqs.NewFromConfig(s.Config).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("Shop-Source")}); err != nil {
		t.Fatal(err)
	}
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: &id})
		if err != nil {
			return nil, err
		}
		return []any{*out.BatchSize, *out.State}, nil
	}
	base := `"FunctionName": "Shop-Consumer", "EventSourceArn": "arn:aws:sqs:eu-west-1:123456789012:Shop-Source"`
	life{
		typ: "AWS::Lambda::EventSourceMapping",
		steps: []step{
			{"create", `{` + base + `, "BatchSize": 5}`, seen, []any{int32(5), "Enabled"}},
			{"change", `{` + base + `, "BatchSize": 6, "Enabled": false}`, seen, []any{int32(6), "Disabled"}},
			{"remove", `{` + base + `}`, seen, []any{int32(10), "Enabled"}},
		},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: &id})
			return err
		},
		noRead: true,
	}.run(t, s)
}

func TestLayerVersion(t *testing.T) {
	s := emulated(t)
	bucket := s3.NewFromConfig(s.Config, func(o *s3.Options) { o.UsePathStyle = true })
	_, err := bucket.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("shop-layers"),
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "eu-west-1"}})
	if err != nil {
		t.Fatal(err)
	}
	zipped, err := zipInline("python3.13", "x = 1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("shop-layers"), Key: aws.String("l.zip"), Body: bytes.NewReader(zipped)}); err != nil {
		t.Fatal(err)
	}
	c := lambda.NewFromConfig(s.Config)
	const id = "arn:aws:lambda:eu-west-1:123456789012:layer:Shop-Layer:1"
	life{
		typ: "AWS::Lambda::LayerVersion", physical: "Shop-Layer", id: id,
		attributes: map[string]string{"LayerVersionArn": id},
		steps: []step{{
			"create", `{"Content": {"S3Bucket": "shop-layers", "S3Key": "l.zip"}, "CompatibleRuntimes": ["python3.13"], "Description": "d"}`,
			func(ctx context.Context, id string) (any, error) {
				out, err := c.GetLayerVersion(ctx, &lambda.GetLayerVersionInput{LayerName: aws.String("Shop-Layer"), VersionNumber: aws.Int64(1)})
				if err != nil {
					return nil, err
				}
				return *out.Description, nil
			}, "d",
		}},
		gone: func(ctx context.Context, id string) error {
			_, err := c.GetLayerVersion(ctx, &lambda.GetLayerVersionInput{LayerName: aws.String("Shop-Layer"), VersionNumber: aws.Int64(1)})
			return err
		},
	}.run(t, s)
}

func TestFunctionURL(t *testing.T) {
	s := emulated(t)
	c := lambda.NewFromConfig(s.Config)
	fn := aFunction(t, s, "Shop-Web")
	seen := func(ctx context.Context, id string) (any, error) {
		out, err := c.GetFunctionUrlConfig(ctx, &lambda.GetFunctionUrlConfigInput{FunctionName: &fn})
		if err != nil {
			return nil, err
		}
		var origins []string
		if out.Cors != nil {
			origins = out.Cors.AllowOrigins
		}
		return []any{out.AuthType, origins}, nil
	}
	life{
		typ: "AWS::Lambda::Url", id: fn,
		attributes: map[string]string{"FunctionArn": fn},
		steps: []step{
			{"create", `{"TargetFunctionArn": "` + fn + `", "AuthType": "NONE", "Cors": {"AllowOrigins": ["*"]}}`, seen, []any{types.FunctionUrlAuthTypeNone, []string{"*"}}},
			{"change", `{"TargetFunctionArn": "` + fn + `", "AuthType": "AWS_IAM", "Cors": {"AllowOrigins": ["https://example.com"]}}`, seen,
				[]any{types.FunctionUrlAuthTypeAwsIam, []string{"https://example.com"}}},
		},
		gone: func(ctx context.Context, _ string) error {
			_, err := seen(ctx, "")
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

func TestZipInline(t *testing.T) {
	for name, test := range map[string]struct {
		runtime, source string
		files           []string
	}{
		"node":                   {"nodejs22.x", "exports.handler = 1", []string{"index.js"}},
		"python":                 {"python3.13", "def handler(e, c): pass", []string{"index.py"}},
		"node with response":     {"nodejs22.x", "const r = require('cfn-response')", []string{"index.js", "cfn-response.js", "node_modules/cfn-response/index.js"}},
		"python with response":   {"python3.13", "import cfnresponse", []string{"index.py", "cfnresponse.py"}},
		"a runtime without them": {"java21", "x", nil},
	} {
		t.Run(name, func(t *testing.T) {
			zipped, err := zipInline(test.runtime, test.source)
			if test.files == nil {
				if err == nil {
					t.Error("inline code was packed for it")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			again, _ := zipInline(test.runtime, test.source)
			if !bytes.Equal(zipped, again) {
				t.Error("the same source gave two packages")
			}
			z, err := zip.NewReader(bytes.NewReader(zipped), int64(len(zipped)))
			if err != nil {
				t.Fatal(err)
			}
			var files []string
			for _, f := range z.File {
				files = append(files, f.Name)
			}
			if diff := cmp.Diff(test.files, files); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// The response modules are run as Lambda would run them.
func TestResponseModules(t *testing.T) {
	for _, lang := range []struct{ runtime, program, source, start string }{
		{"nodejs22.x", "node", `const r = require('cfn-response'); exports.handler = (e, c) => r.send(e, c, r.SUCCESS, {A: 'b'}, 'the-id');`,
			`require('./index.js').handler(JSON.parse(Buffer.from(process.argv[1], 'base64')), {logStreamName: 's', logGroupName: 'g', done() {}})`},
		{"python3.13", "python3", "import cfnresponse\ndef handler(e, c):\n  cfnresponse.send(e, c, cfnresponse.SUCCESS, {'A': 'b'}, 'the-id')\n",
			"import sys, json, base64, index; index.handler(json.loads(base64.b64decode(sys.argv[1])), type('C', (), {'log_stream_name': 's'}))"},
	} {
		t.Run(lang.program, func(t *testing.T) {
			if _, err := exec.LookPath(lang.program); err != nil {
				t.Skip("needs " + lang.program)
			}
			answers := make(chan map[string]any, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var a map[string]any
				if err := json.NewDecoder(r.Body).Decode(&a); err != nil || r.Method != http.MethodPut {
					t.Errorf("%s with %v", r.Method, err)
				}
				answers <- a
			}))
			defer server.Close()

			dir := t.TempDir()
			zipped, err := zipInline(lang.runtime, lang.source)
			if err != nil {
				t.Fatal(err)
			}
			unzip(t, zipped, dir)
			event, _ := json.Marshal(map[string]string{"ResponseURL": server.URL + "/x?y=z", "StackId": "st", "RequestId": "rq", "LogicalResourceId": "lo"})
			flag := "-c"
			if lang.program == "node" {
				flag = "-e"
			}
			cmd := exec.CommandContext(t.Context(), lang.program, flag, lang.start, base64.StdEncoding.EncodeToString(event))
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			got := <-answers
			delete(got, "Reason")
			want := map[string]any{"Status": "SUCCESS", "PhysicalResourceId": "the-id", "StackId": "st", "RequestId": "rq",
				"LogicalResourceId": "lo", "NoEcho": false, "Data": map[string]any{"A": "b"}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func unzip(t *testing.T, zipped []byte, dir string) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(zipped), int64(len(zipped)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
