package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/org/cdkd-action/engine"
	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/result"
)

// What a NoEcho parameter was given as is not stored, and its Default need not be
// it. So nothing that hangs on one is changed without it, and a plan says so;
// what does not change is left alone, and a first deploy takes the Default
// (S-160).
func TestNoEchoParameterNotGiven(t *testing.T) {
	const (
		before   = `"S": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/s", "Value": {"Ref": "Pw"}}}`
		after    = `"S": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/s", "Value": {"Ref": "Pw"}, "Description": "new"}}`
		beside   = `, "T": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/t", "Value": "plain"}}`
		another  = `, "U": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/u", "Value": {"Fn::Sub": "key=${Pw}"}}}`
		renamed  = `"R": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/r", "Value": {"Ref": "Pw"}}}`
		unshared = `, "V": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/v", "Value": {"Ref": "New"}}}`
		chosen   = `"S": {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Name": "/s", "Value": {"Fn::If": ["Has", {"Ref": "Pw"}, "none"]}}}`
		guarded  = `"S": {"Type": "AWS::SSM::Parameter", "Condition": "Also", "Properties": {"Type": "String", "Name": "/s", "Value": {"Ref": "Pw"}}}`
		policy   = `"S": {"Type": "AWS::SSM::Parameter", "DeletionPolicy": "Retain", "Properties": {"Type": "String", "Name": "/s", "Value": {"Ref": "Pw"}}}`
		outer    = `"Inner": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "inner.template.json"}, "Properties": {"TemplateURL": "https://example.com/1.json", "Parameters": {"Of": {"Ref": "Pw"}}}}`
		outer2   = `"Inner": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "inner.template.json"}, "Properties": {"TemplateURL": "https://example.com/2.json", "Parameters": {"Of": {"Ref": "Pw"}}}}`
		literal  = `"Inner": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "inner.template.json"}, "Properties": {"TemplateURL": "https://example.com/1.json", "Parameters": {"Of": "one"}}}`
		literal2 = `"Inner": {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "inner.template.json"}, "Properties": {"TemplateURL": "https://example.com/1.json", "Parameters": {"Of": "two"}}}`
	)
	for name, tt := range map[string]struct {
		before, after string
		given         string // Pw; "": it is not given
		refused       string // the row
		want          string // what /s then is
	}{
		"another property changes":                          {before: before, after: after, refused: "S", want: "deployed"},
		"it is given":                                       {before: before, after: after, given: "rotated", want: "rotated"},
		"its Default is meant, and given":                   {before: before, after: after, given: "default", want: "default"},
		"nothing changes":                                   {before: before, after: before, want: "deployed"},
		"another resource changes":                          {before: before, after: before + beside, want: "deployed"},
		"only the record changes":                           {before: before, after: policy, want: "deployed"},
		"a new resource shares it":                          {before: before, after: before + another, refused: "U", want: "deployed"},
		"the resource has another id":                       {before: before, after: renamed, refused: "R", want: "deployed"},
		"a new parameter takes its Default":                 {before: before, after: before + unshared, want: "deployed"},
		"a condition chooses another value":                 {before: chosen, after: chosen, refused: "S", want: "deployed"},
		"a condition leaves the resource out":               {before: guarded, after: guarded, refused: "S", want: "deployed"},
		"a first deploy":                                    {after: before, want: "default"},
		"a nested stack changes":                            {before: outer, after: outer2, refused: "Inner", want: "deployed"},
		"a nested stack that is given it":                   {before: outer, after: outer2, given: "rotated", want: "rotated"},
		"a nested stack whose row is as it was, but for it": {before: outer, after: outer, given: "rotated", want: "rotated"},
		"a nested stack that is given another plain value":  {before: literal, after: literal2, want: "two"},
	} {
		t.Run(name, func(t *testing.T) {
			e, cloud := newEngine(t)
			dir := t.TempDir()
			inner := strings.NewReplacer(`{"Ref": "Pw"}`, `{"Ref": "Of"}`).Replace(before)
			if err := os.WriteFile(filepath.Join(dir, "inner.template.json"), []byte(`{"Parameters": {"Of": {"Type": "String", "NoEcho": true}}, "Resources": {`+inner+`}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			write := func(resources string) {
				writeApp(t, dir, map[string]string{"Shop": resources + `}, "Parameters": {
					"Pw": {"Type": "String", "NoEcho": true, "Default": "default"}, "New": {"Type": "String", "NoEcho": true, "Default": "new"}}, "Conditions": {
					"Has": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Pw"}, "default"]}]}, "Also": {"Fn::And": [{"Condition": "Has"}, {"Fn::Equals": ["a", "a"]}]}`})
			}
			opt := deployAll(dir)
			if tt.before != "" {
				write(tt.before)
				opt.Parameters = map[string]string{"Pw": "deployed"}
				if run, err := e.Deploy(t.Context(), opt); err != nil || run.Stacks[0].Outcome != result.Success {
					t.Fatalf("before: %v %+v", err, run.Stacks)
				}
			}
			write(tt.after)
			opt.Parameters = nil
			if tt.given != "" {
				opt.Parameters = map[string]string{"Pw": tt.given}
			}
			diff, err := e.Diff(t.Context(), engine.DiffOptions{Selection: opt.Selection, Parameters: opt.Parameters, StackConcurrency: 1})
			if err != nil {
				t.Fatal(err)
			}
			var refused []string
			for _, c := range diff.Stacks[0].Plan.Changes {
				if c.Refused != "" {
					refused = append(refused, c.LogicalID)
				}
				if (c.LogicalID == tt.refused) != (c.Refused != "") || c.Refused != "" && c.Action == plan.NoChange {
					t.Errorf("the plan says of %s, %s: %q", c.LogicalID, c.Action, c.Refused)
				}
			}
			if warned := strings.Contains(strings.Join(diff.Stacks[0].Warnings, "\n"), ", which a deploy refuses: it hangs on the NoEcho parameter Pw, not given"); warned != (refused != nil) {
				t.Errorf("warned: %q", diff.Stacks[0].Warnings)
			}
			cloud.ClearLog()
			run, err := e.Deploy(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			switch s := run.Stacks[0]; {
			case tt.refused != "":
				if s.Outcome != result.Failed || len(s.Failures) != 1 || s.Failures[0].LogicalID != tt.refused ||
					s.Failures[0].Remedy != "give Pw with parameters, as deployed, or the Default where that is meant" {
					t.Errorf("not refused: %+v, failures %+v", s, s.Failures)
				}
				for _, r := range cloud.Log() {
					if r.Action == "PutParameter" || r.Action == "DeleteParameter" {
						t.Errorf("refused, and yet sent: %s", r.Action)
					}
				}
			case s.Outcome != result.Success && s.Outcome != result.NoChange:
				t.Errorf("failed: %+v, failures %+v", s, s.Failures)
			}
			out, err := ssm.NewFromConfig(cloud.Config()).GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/s")})
			if err != nil || aws.ToString(out.Parameter.Value) != tt.want {
				t.Errorf("/s is %v, %v, want %s", out, err, tt.want)
			}
		})
	}
}
