package sandbox_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/internal/sandbox"
)

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range files {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// deployed makes a function in kumo and returns how to invoke it.
func deployed(t *testing.T, s *sandbox.Sandbox, name string, runtime lambdatypes.Runtime, files map[string]string) func(event any) (string, string, error) {
	t.Helper()
	ctx, cfg := t.Context(), once(s)
	_, err := iam.NewFromConfig(cfg).CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(trust)})
	if err != nil {
		t.Fatal(err)
	}
	fn := lambda.NewFromConfig(cfg)
	_, err = fn.CreateFunction(ctx, &lambda.CreateFunctionInput{
		FunctionName: &name, Role: aws.String("arn:aws:iam::123456789012:role/" + name), Runtime: runtime, Handler: aws.String("index.handler"),
		Timeout: aws.Int32(20), Environment: &lambdatypes.Environment{Variables: map[string]string{"COLOUR": "red"}},
		Code: &lambdatypes.FunctionCode{ZipFile: zipped(t, files)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(event any) (string, string, error) {
		text, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		out, err := fn.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String("arn:aws:lambda:eu-west-1:123456789012:function:" + name), Payload: text})
		if err != nil {
			return "", "", err
		}
		return string(out.Payload), aws.ToString(out.FunctionError), nil
	}
}

// request is a custom resource's event whose answer goes to a presigned URL.
func request(t *testing.T, s *sandbox.Sandbox) map[string]any {
	t.Helper()
	s.S3.AddBucket("state-1", "eu-west-1", "")
	put, err := awss3.NewPresignClient(awss3.NewFromConfig(s.Config(), func(o *awss3.Options) { o.UsePathStyle = true })).
		PresignPutObject(t.Context(), &awss3.PutObjectInput{Bucket: aws.String("state-1"), Key: aws.String("answer.json")})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"RequestType": "Create", "ResponseURL": put.URL, "StackId": "stack", "RequestId": "request", "LogicalResourceId": "Res",
		"ResourceProperties": map[string]any{"Name": "n"},
	}
}

func response(t *testing.T, s *sandbox.Sandbox) map[string]any {
	t.Helper()
	o, ok := s.S3.Object("state-1", "answer.json")
	if !ok {
		t.Fatal("nobody answered")
	}
	var answer map[string]any
	if err := json.Unmarshal(o.Body, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestHandlersInGo(t *testing.T) {
	s := start(t, sandbox.Options{Region: "eu-west-1"})
	invoke := deployed(t, s, "shop-handler", lambdatypes.RuntimeNodejs22x, map[string]string{"index.js": ""})
	s.Handle("shop-*", func(_ context.Context, event map[string]any) (any, error) {
		if event["fail"] == true {
			return nil, errors.New("no such order")
		}
		return map[string]any{"PhysicalResourceId": "p", "seen": event["order"]}, nil
	})
	if payload, failed, err := invoke(map[string]any{"order": 7}); payload != `{"PhysicalResourceId":"p","seen":7}` || failed != "" || err != nil {
		t.Errorf("got %s, %s, %v", payload, failed, err)
	}
	if payload, failed, err := invoke(map[string]any{"fail": true}); !strings.Contains(payload, `"errorMessage":"no such order"`) || failed != "Unhandled" || err != nil {
		t.Errorf("a handler that fails: %s, %s, %v", payload, failed, err)
	}
	_, err := lambda.NewFromConfig(once(s)).Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("shop-other")})
	if code(err) != "ResourceNotFoundException" {
		t.Errorf("a function that is not there: %v", err)
	}
}

// Without a handler a custom resource succeeds (T-641).
func TestCustomResourceWithoutHandler(t *testing.T) {
	s := start(t, sandbox.Options{Region: "eu-west-1"})
	invoke := deployed(t, s, "f", lambdatypes.RuntimeNodejs22x, map[string]string{"index.js": ""})
	if payload, failed, err := invoke(request(t, s)); payload != "null" || failed != "" || err != nil {
		t.Fatalf("got %s, %s, %v", payload, failed, err)
	}
	want := map[string]any{"Status": "SUCCESS", "PhysicalResourceId": "Res", "StackId": "stack", "RequestId": "request", "LogicalResourceId": "Res"}
	if diff := cmp.Diff(want, response(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCodeIsRun(t *testing.T) {
	for name, tc := range map[string]struct {
		program string
		runtime lambdatypes.Runtime
		files   map[string]string
		payload string
		failed  string
		data    any // in the custom resource's answer
	}{
		"node, result": {"node", lambdatypes.RuntimeNodejs22x, map[string]string{
			"index.js": `exports.handler = async (event, context) => [event.RequestType, process.env.COLOUR, context.functionName];`,
		}, `["Create","red","f"]`, "", nil},
		"node, module": {"node", lambdatypes.RuntimeNodejs22x, map[string]string{
			"index.mjs": `export const handler = async (event) => event.RequestId;`,
		}, `"request"`, "", nil},
		"node, error": {"node", lambdatypes.RuntimeNodejs22x, map[string]string{
			"index.js": `exports.handler = async () => { throw new TypeError('broken'); };`,
		}, `{"errorMessage":"broken","errorType":"TypeError","trace":[]}`, "Unhandled", nil},
		"node, answer by the inline module": {"node", lambdatypes.RuntimeNodejs22x, map[string]string{
			"index.js": `const r = require('cfn-response'); exports.handler = (event, context) => { r.send(event, context, r.SUCCESS, {Got: event.ResourceProperties.Name}, 'id'); };`,
		}, "null", "", map[string]any{"Got": "n"}},
		"node, answer over https": {"node", lambdatypes.RuntimeNodejs22x, map[string]string{
			"index.js": `const https = require('https'); exports.handler = async (event) => {
				const u = new URL(event.ResponseURL);
				const body = JSON.stringify({Status: 'SUCCESS', Data: {Got: 'https'}});
				await new Promise((ok, no) => { const q = https.request({hostname: u.hostname, path: u.pathname + u.search, method: 'PUT', headers: {'content-type': '', 'content-length': body.length}}, (r) => { r.resume(); r.on('end', ok); }); q.on('error', no); q.end(body); });
			};`,
		}, "null", "", map[string]any{"Got": "https"}},
		"python, result": {"python3", lambdatypes.RuntimePython312, map[string]string{
			"index.py": "import os\ndef handler(event, context):\n    return [event['RequestType'], os.environ['COLOUR'], context.function_name]\n",
		}, `["Create","red","f"]`, "", nil},
		"python, error": {"python3", lambdatypes.RuntimePython312, map[string]string{
			"index.py": "def handler(event, context):\n    raise ValueError('broken')\n",
		}, `{"errorMessage":"broken","errorType":"ValueError","trace":[]}`, "Unhandled", nil},
		"python, answer by the inline module": {"python3", lambdatypes.RuntimePython312, map[string]string{
			"index.py": "import cfnresponse\ndef handler(event, context):\n    cfnresponse.send(event, context, cfnresponse.SUCCESS, {'Got': 'py'})\n",
		}, "null", "", map[string]any{"Got": "py"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(tc.program); err != nil {
				t.Skipf("%s is not installed", tc.program)
			}
			s := start(t, sandbox.Options{Region: "eu-west-1", RunCode: true})
			invoke := deployed(t, s, "f", tc.runtime, tc.files)
			payload, failed, err := invoke(request(t, s))
			if payload != tc.payload || failed != tc.failed || err != nil {
				t.Errorf("got %s, %q, %v; want %s, %q", payload, failed, err, tc.payload, tc.failed)
			}
			if tc.data != nil {
				if diff := cmp.Diff(tc.data, response(t, s)["Data"]); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A function that Cloud Control made is run like any other.
func TestCodeFromCloudControl(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	s := start(t, sandbox.Options{Region: "eu-west-1", RunCode: true, Upstream: sandbox.None})
	id, err := s.CloudControl.Put("eu-west-1", "AWS::Lambda::Function", map[string]any{
		"FunctionName": "f", "Runtime": "nodejs22.x", "Handler": "index.handler",
		"Code": map[string]any{"ZipFile": "exports.handler = async () => process.env.AWS_REGION;"},
	})
	if err != nil || id != "f" {
		t.Fatal(id, err)
	}
	out, err := lambda.NewFromConfig(once(s)).Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String("f")})
	if err != nil || string(out.Payload) != `"eu-west-1"` {
		t.Errorf("got %+v, %v", out, err)
	}
}

// Without an upstream nobody can have made functions, so any name is one.
func TestFunctionsWithoutUpstream(t *testing.T) {
	s := start(t, sandbox.Options{Region: "eu-west-1", Upstream: sandbox.None})
	event, err := json.Marshal(request(t, s))
	if err != nil {
		t.Fatal(err)
	}
	_, err = lambda.NewFromConfig(once(s)).Invoke(t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String("any"), InvocationType: lambdatypes.InvocationTypeEvent, Payload: event,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Await(t.Context(), 1, func(r sandbox.Request) bool { return r.Action == "PutObject" && r.State == sandbox.Done }); err != nil {
		t.Fatal(err)
	}
	if got := response(t, s)["Status"]; got != "SUCCESS" {
		t.Errorf("status %v", got)
	}
}
