package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/org/cdkd-action/engine/result"
)

// An output of a nested stack that holds a NoEcho value can be used around it in
// the run that made it, through several stacks too, and is stored nowhere. A later
// run that would have to know it says so, and a nested stack that is given it
// masks it whatever its parameter declares (S-160, T-218, T-219, T-624, T-708).
func TestNoEchoOutputOfANestedStack(t *testing.T) {
	for _, value := range []string{"first-secret-value", "ab"} { // a short one, too
		t.Run(value, func(t *testing.T) {
			e, cloud := newEngine(t)
			dir := t.TempDir()
			nested := func(id, file, parameters string) string {
				return `"` + id + `": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "` + file + `"}, "Properties": {"TemplateURL": "https://example.com/` + file + `", "Parameters": ` + parameters + `}}`
			}
			for file, body := range map[string]string{
				"inner.template.json": `{"Parameters": {"Pw": {"Type": "String", "NoEcho": true}}, "Resources": {` + nested("Deep", "deep.template.json", `{"Pw": {"Ref": "Pw"}}`) + `},
					"Outputs": {"Key": {"Value": {"Fn::GetAtt": ["Deep", "Outputs.Key"]}}, "Plain": {"Value": "plain"}}}`,
				"deep.template.json": `{"Parameters": {"Pw": {"Type": "String", "NoEcho": true}}, "Resources": {"S": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/deep", "Value": {"Ref": "Pw"}}}},
					"Outputs": {"Key": {"Value": {"Fn::GetAtt": ["S", "Value"]}}}}`,
				"other.template.json": `{"Parameters": {"K": {"Type": "String"}}, "Resources": {"O": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/other", "Value": {"Ref": "K"}}}}}`,
			} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(body), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			deploy := func(description, given string, want result.Outcome) *result.Stack {
				t.Helper()
				parameters := map[string]string{}
				if given != "" {
					parameters["Pw"] = given
				}
				writeApp(t, dir, map[string]string{"Shop": nested("Inner", "inner.template.json", `{"Pw": {"Ref": "Pw"}}`) + `,
					` + nested("Other", "other.template.json", `{"K": {"Fn::GetAtt": ["Inner", "Outputs.Key"]}}`) + `,
					"Reader": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/reader", "Description": "` + description + `", "Value": {"Fn::Sub": "key=${Inner.Outputs.Key}"}}}
					}, "Parameters": {"Pw": {"Type": "String", "NoEcho": true, "Default": "none"}`})
				opt := deployAll(dir)
				opt.Parameters = parameters
				run, err := e.Deploy(t.Context(), opt)
				if err != nil || run.Stacks[0].Outcome != want {
					t.Fatalf("%v %+v, want %s", err, run.Stacks[0], want)
				}
				for _, o := range cloud.S3.Objects(bucket) {
					if strings.Contains(string(o.Body), "first-secret-value") || strings.Contains(string(o.Body), `"ab"`) || strings.Contains(string(o.Body), "key=ab") {
						t.Errorf("%s holds it: %s", o.Key, o.Body)
					}
				}
				return run.Stacks[0]
			}
			is := func(name, want string) {
				t.Helper()
				out, err := ssm.NewFromConfig(cloud.Config()).GetParameter(t.Context(), &ssm.GetParameterInput{Name: &name})
				if err != nil || aws.ToString(out.Parameter.Value) != want {
					t.Errorf("%s: %v, %+v, want %s", name, err, out, want)
				}
			}
			deploy("one", value, result.Success)
			is("/reader", "key="+value)
			is("/other", value)
			deploy("one", value+value, result.Success)
			is("/reader", "key="+value+value)
			is("/other", value+value)
			deploy("one", "", result.NoChange)
			s := deploy("two", "", result.Failed)
			if len(s.Failures) != 1 || !strings.Contains(s.Failures[0].Message, "attribute Outputs.Key of Inner (AWS::CloudFormation::Stack) is secret and only its mask is recorded") {
				t.Errorf("want the reader to say what is not known, got %+v", s.Failures)
			}
			is("/reader", "key="+value+value)
		})
	}
}
