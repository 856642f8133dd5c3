package template_test

import (
	"strings"
	"testing"
)

// A policy that asks for a final snapshot is refused where CloudFormation refuses
// it, and before anything is made: a destroy could not keep it.
func TestSnapshotPolicyNeedsASnapshot(t *testing.T) {
	for _, tt := range []struct{ resource, want string }{
		{`"Type": "AWS::SQS::Queue", "DeletionPolicy": "Snapshot"`, "Resources.R.DeletionPolicy: a resource of type AWS::SQS::Queue has no final snapshot: want Delete or Retain"},
		{`"Type": "Custom::Thing", "UpdateReplacePolicy": "Snapshot"`, "Resources.R.UpdateReplacePolicy: a resource of type Custom::Thing has no final snapshot: want Delete or Retain"},
		{`"Type": "AWS::S3::Bucket", "DeletionPolicy": {"Fn::If": ["Yes", "Snapshot", "Delete"]}`, "Resources.R.DeletionPolicy: a resource of type AWS::S3::Bucket has no final snapshot"},
		{`"Type": "AWS::S3::Bucket", "Condition": "No", "DeletionPolicy": "Snapshot"`, ""},
		{`"Type": "AWS::EC2::Volume", "DeletionPolicy": "Snapshot", "UpdateReplacePolicy": "Snapshot"`, ""},
		{`"Type": "AWS::Neptune::DBCluster", "DeletionPolicy": "Snapshot"`, ""},
	} {
		_, err := parse(t, `{"Transform": "AWS::LanguageExtensions", "Conditions": {"Yes": {"Fn::Equals": [1, 1]}, "No": {"Fn::Equals": [1, 2]}},
			"Resources": {"Kept": {"Type": "T::T::T"}, "R": {`+tt.resource+`}}}`).Offline(t.Context(), "S", "eu-west-1", "")
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v", tt.resource, err)
		}
	}
}
