package cloudformation

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/value"
)

// CloudFormation hands a template back as it was written, which may be YAML with
// functions in their short form (S-315).
func TestParse(t *testing.T) {
	const text = `AWSTemplateFormatVersion: 2010-09-09
Resources:
  Queue:
    Type: AWS::SQS::Queue
    Condition: Yes
    Properties:
      QueueName: !Sub ${AWS::StackName}-q
      DelaySeconds: 5
      Octal: 0123
      Mode: '0644'
      Dead: !GetAtt Other.Arn.Deep
      List: [!Ref Other, true, null, 1.5, 2020-01-01]
      If: !If [Yes, !Select [0, !GetAZs ""], !Ref AWS::NoValue]
`
	got, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"AWSTemplateFormatVersion":"2010-09-09","Resources":{"Queue":{"Type":"AWS::SQS::Queue","Condition":"Yes","Properties":{` +
		`"QueueName":{"Fn::Sub":"${AWS::StackName}-q"},"DelaySeconds":5,"Octal":"0123","Mode":"0644","Dead":{"Fn::GetAtt":["Other","Arn.Deep"]},` +
		`"List":[{"Ref":"Other"},true,null,1.5,"2020-01-01"],"If":{"Fn::If":["Yes",{"Fn::Select":[0,{"Fn::GetAZs":""}]},{"Ref":"AWS::NoValue"}]}}}}}`
	if diff := cmp.Diff(want, value.JSON(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "- a", "a: [", `{"a"`} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is taken for a template", bad)
		}
	}
}
