package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/value"
)

// Nothing that a template says is dropped without a word: what neither the
// schema nor a binding knows is found however deep it stands (T-1043).
func TestUnknownProperties(t *testing.T) {
	type sse struct{ Enabled, KMSMasterKeyId, YoungerThanTheSchema *string }
	type input struct {
		TableName               *string
		SSESpecification        *sse
		GlobalSecondaryIndexes  []struct{ IndexName *string }
		TimeToLiveSpecification map[string]string
		StreamSpecification     *string // sent as JSON
		OnDemandThroughput      *struct{ YoungerThanTheSchema *string }
	}
	table := Drive(Resource{
		Type: "AWS::DynamoDB::Table", Name: "TableName", Tags: Tags{Property: "Tags"},
		Inputs: []Input{Bind[input](Rename{"SSESpecification.SSEEnabled": "Enabled"},
			Finish(func(*Request, *input) error { return nil }, "OnDemandThroughput"))},
		Handled: []string{"KeySchema"},
	}, nil)
	for _, c := range []struct {
		name, properties string
		want             []string
	}{
		{"none", `{"TableName": "t", "SSESpecification": {"SSEEnabled": true}}`, nil},
		{"at the top", `{"Nope": 1, "Arn": "set by AWS"}`, []string{"Nope", "Arn"}},
		{"below a property", `{"SSESpecification": {"SSEEnabled": true, "Nope": 1}}`, []string{"SSESpecification.Nope"}},
		{"letter case counts as in CloudFormation, but what is sent all the same is not dropped", `{"SSESpecification": {"kmsMasterKeyId": "k", "sseEnabled": true}}`, []string{"SSESpecification.sseEnabled"}},
		{"in a list, once", `{"GlobalSecondaryIndexes": [{"Nope": 1}, {"IndexName": "i", "Nope": 2}]}`, []string{"GlobalSecondaryIndexes.Nope"}},
		{"read by hand", `{"KeySchema": [{"AttributeName": "a", "Nope": 1}], "OnDemandThroughput": {"YoungerThanTheSchema": 1}}`, []string{"KeySchema.Nope", "OnDemandThroughput.YoungerThanTheSchema"}},
		{"younger than the schema and sent", `{"SSESpecification": {"YoungerThanTheSchema": "x"}}`, nil},
		{"sent as a map or as JSON", `{"TimeToLiveSpecification": {"Nope": "x"}, "StreamSpecification": {"Nope": 1}}`, nil},
		{"both branches of a condition", `{"SSESpecification": {"Fn::If": ["C", {"Nope": 1}, {"No": 1}]}}`, []string{"SSESpecification.Nope", "SSESpecification.No"}},
		{"in one branch", `{"SSESpecification": {"SSEType": {"Fn::If": ["C", "a", "b"]}, "X": {"Fn::If": ["C", 1, {"Ref": "AWS::NoValue"}]}}}`, []string{"SSESpecification.X"}},
		{"taken away", `{"SSESpecification": {"Nope": {"Ref": "AWS::NoValue"}, "No": null}}`, nil},
		{"a function is no member", `{"SSESpecification": {"Fn::GetAtt": ["Nope", "A"]}}`, nil},
		{"tags are not the schema's business", `{"Tags": [{"Key": "k", "Value": "v", "Nope": 1}]}`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			properties := object(t, c.properties)
			got := table.Unknown(properties)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if left := table.Unknown(Without(properties, got)); left != nil {
				t.Errorf("still there without them: %v", left)
			}
			if value.JSON(properties) != value.JSON(object(t, c.properties)) {
				t.Error("the properties were changed")
			}
		})
	}
}
