package permission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/permission"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// Policies are cut below the size that IAM takes, and lose nothing by it.
func TestLongPoliciesAreCut(t *testing.T) {
	var p permission.Policy
	var want []string
	for i := range 900 {
		want = append(want, fmt.Sprintf("service:ActionNumber%03d", i))
	}
	p.Allow("", want, permission.Anything)
	p.Allow("Bucket", []string{"s3:GetObject", want[0]}, "arn:aws:s3:::b/*")
	var got []string
	documents := p.Documents()
	for _, d := range documents {
		if n := len(value.JSON(d)); n > 6144 {
			t.Errorf("a document has %d characters", n)
		}
		for _, s := range d.List("Statement") {
			for _, a := range s.(*value.Object).List("Action") {
				got = append(got, a.(string))
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(append([]string{"s3:GetObject"}, want...), got); diff != "" || len(documents) < 2 {
		t.Errorf("%d documents, actions (-want +got):\n%s", len(documents), diff)
	}
}

func TestRolesThatArePassed(t *testing.T) {
	for name, tt := range map[string]struct {
		properties string
		want       []string
		untold     bool
	}{
		"the stack's own, by its name":   {`{"Role": {"Fn::GetAtt": ["Own", "Arn"]}}`, []string{"arn:aws:iam::123456789012:role/Shop-Own"}, false},
		"with a path and a given name":   {`{"RoleArn": {"Fn::GetAtt": "Named.Arn"}}`, []string{"arn:aws:iam::123456789012:role/team/given"}, false},
		"in an instance profile":         {`{"Roles": [{"Ref": "Own"}]}`, []string{"arn:aws:iam::123456789012:role/Shop-Own"}, false},
		"written out":                    {`{"Target": {"RoleArn": {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/x-${Stage}"}}}`, []string{"arn:aws:iam::123456789012:role/x-*"}, false},
		"joined":                         {`{"RoleARN": {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":iam::1:role/y"]]}}`, []string{"arn:aws:iam::1:role/y"}, false},
		"under a name that says nothing": {`{"Definition": {"a": [{"Fn::GetAtt": ["Own", "Arn"]}]}}`, []string{"arn:aws:iam::123456789012:role/Shop-Own"}, false},
		"imported":                       {`{"RoleArn": {"Fn::ImportValue": "role"}}`, nil, true},
		"a parameter's":                  {`{"ExecutionRoleArn": {"Ref": "Given"}}`, nil, true},
		"none":                           {`{"Name": "role", "Principal": {"Fn::GetAtt": ["Queue", "Arn"]}}`, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := template.Parse("test", []byte(`{"Parameters": {"Given": {"Type": "String"}, "Stage": {"Type": "String"}}, "Resources": {
				"Own": {"Type": "AWS::IAM::Role", "Properties": {}}, "Queue": {"Type": "AWS::SQS::Queue"},
				"Named": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "given", "Path": "/team/"}},
				"Uses": {"Type": "AWS::Any::Thing", "Properties": `+tt.properties+`}}}`))
			if err != nil {
				t.Fatal(err)
			}
			got, untold := permission.Roles(parsed, permission.Place{Stack: "Shop", Partition: "aws", Region: "us-east-1", AccountID: "123456789012"})
			if !slices.Equal(got, tt.want) || (len(untold) > 0) != tt.untold {
				t.Errorf("got %s, untold %v; want %s", strings.Join(got, " "), untold, tt.want)
			}
		})
	}
}
