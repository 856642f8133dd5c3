package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/result"
	"github.com/org/cdkd-action/engine/secret"
	"github.com/org/cdkd-action/engine/value"
)

// What a handler answers with NoEcho reaches what reads it in the run, and is shown
// and stored nowhere, also where a handler repeats a secret in its reason. A later
// run that would have to know it says so (T-294, T-624, T-634).
func TestHandlerThatAnswersASecret(t *testing.T) {
	const given, made = "given-secret-value", "made-secret-value"
	_, cloud := newEngine(t)
	var mu sync.Mutex
	var log bytes.Buffer
	config := configOn(t, cloud)
	secrets := &secret.Set{}
	config.Secrets = secrets
	config.Observe = func(ev engine.Event) {
		mu.Lock()
		defer mu.Unlock()
		log.WriteString(ev.Text + "\n")
	}
	e := engine.New(config)
	cloud.Handle("handler", func(_ context.Context, event map[string]any) (any, error) {
		if event["RequestType"] == "Update" {
			return map[string]any{"Status": "FAILED", "Reason": "neither " + given + " nor " + made + " is good", "PhysicalResourceId": event["PhysicalResourceId"]}, nil
		}
		return map[string]any{"Status": "SUCCESS", "PhysicalResourceId": "thing", "NoEcho": true, "Data": map[string]any{"Key": made, "List": []string{made}}}, nil
	})
	makeFunction(t, cloud, "handler")
	dir := t.TempDir()
	deploy := func(password, size, description string, want result.Outcome) *result.Stack {
		t.Helper()
		writeApp(t, dir, map[string]string{"Shop": `"T": {"Type": "Custom::Thing", "Properties": {"ServiceToken": "arn:aws:lambda:us-east-1:123456789012:function:handler", "Password": {"Ref": "Pw"}, "Size": "` + size + `"}},
			"P": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/p", "Description": "` + description + `", "Value": {"Fn::Sub": "key=${T.Key}"}}}
			}, "Parameters": {"Pw": {"Type": "String", "NoEcho": true, "Default": "none"}}, "Outputs": {"Key": {"Value": {"Fn::GetAtt": ["T", "Key"]}}`})
		opt := deployAll(dir)
		if password != "" {
			opt.Parameters = map[string]string{"Pw": password}
		}
		run, err := e.Deploy(t.Context(), opt)
		if err != nil || run.Stacks[0].Outcome != want {
			t.Fatalf("%v %+v, want %s", err, run.Stacks[0], want)
		}
		mu.Lock()
		defer mu.Unlock()
		shown, err := json.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"the log": log.String(), "the result": string(shown)} {
			if text = secrets.Mask(text); strings.Contains(text, given) || strings.Contains(text, made) {
				t.Errorf("%s shows it: %s", name, text)
			}
		}
		for _, o := range cloud.S3.Objects(bucket) {
			if text := string(o.Body); strings.Contains(text, given) || strings.Contains(text, made) {
				t.Errorf("%s holds it: %s", o.Key, text)
			}
		}
		return run.Stacks[0]
	}
	s := deploy(given, "1", "one", result.Success)
	if got := value.JSON(s.Outputs); got != "{}" {
		t.Errorf("the outputs are %s", got)
	}
	out, err := ssm.NewFromConfig(cloud.Config()).GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/p")})
	if err != nil || aws.ToString(out.Parameter.Value) != "key="+made {
		t.Errorf("%v, %+v", err, out)
	}
	deploy("", "1", "one", result.NoChange)
	s = deploy("", "1", "two", result.Failed)
	if len(s.Failures) != 1 || !strings.Contains(s.Failures[0].Message, "attribute Key of T (Custom::Thing) is secret and only its mask is recorded") {
		t.Errorf("want it said what is not known, got %+v", s.Failures)
	}
	deploy(given, "2", "one", result.Failed)
}
