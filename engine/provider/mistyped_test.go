package provider

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/value"
)

// A value that a property cannot have is refused by the plan, not in the middle
// of a deploy.
func TestMistyped(t *testing.T) {
	for name, c := range map[string]struct{ properties, had, want string }{
		"as CloudFormation coerces":     {`{"DelaySeconds":"5","FifoQueue":"True","QueueName":7,"RedrivePolicy":"{}","Tags":[{"Key":"k","Value":true}]}`, ``, ``},
		"what the deploy will know":     {`{"DelaySeconds":{"Ref":"P"},"FifoQueue":"{{resolve:ssm:/x}}","Tags":{"Fn::Split":[",","a"]}}`, ``, ``},
		"the branches of a condition":   {`{"DelaySeconds":{"Fn::If":["C",["soon"],{"Ref":"AWS::NoValue"}]}}`, ``, `DelaySeconds: want a number, got a list`},
		"words for a number":            {`{"DelaySeconds":"soon"}`, ``, `DelaySeconds: want a number, got a string`},
		"a boolean for a number":        {`{"DelaySeconds":true}`, ``, `DelaySeconds: want a number, got a boolean`},
		"an object for a number":        {`{"DelaySeconds":{"a":1}}`, ``, `DelaySeconds: want a number, got an object`},
		"a number for a boolean":        {`{"FifoQueue":1}`, ``, `FifoQueue: want true or false, got a number`},
		"a list for text":               {`{"QueueName":["q"]}`, ``, `QueueName: want text, got a list`},
		"a map for a list of tags":      {`{"Tags":{"k":"v"}}`, ``, `Tags: want a list, got an object`},
		"deep in a list":                {`{"Tags":[{"Key":"k","Value":"v"},{"Key":"k2","Value":[]}]}`, ``, `Tags.1.Value: want text, got a list`},
		"several":                       {`{"QueueName":[],"DelaySeconds":{}}`, ``, `QueueName: want text, got a list; DelaySeconds: want a number, got an object`},
		"taken by whoever recorded it":  {`{"QueueName":["q"]}`, `{"QueueName":["q"]}`, ``},
		"changed from what was taken":   {`{"QueueName":["r"]}`, `{"QueueName":["q"]}`, `QueueName: want text, got a list`},
		"a number that no integer fits": {`{"DelaySeconds":"0x10"}`, ``, `DelaySeconds: want a number, got a string`},
	} {
		t.Run(name, func(t *testing.T) {
			w := Want{LogicalID: "Q", Type: "AWS::SQS::Queue", Properties: object(t, c.properties)}
			if c.had != "" {
				w.Had, w.Exists = object(t, c.had), true
			}
			r := NewRouter(RouterOptions{}, named{name: "cloud"}, nil, nil, []Resource{{Type: "AWS::SQS::Queue",
				Tags: Tags{Property: "Tags"}, Handled: []string{"DelaySeconds", "FifoQueue", "QueueName", "RedrivePolicy"}}})
			_, err := r.Route(w)
			got := ""
			if fault, ok := errors.AsType[*MistypedError](err); ok {
				got = fault.Error()
			} else if err != nil {
				t.Fatal(err)
			}
			if c.want != "" {
				c.want = "Q (AWS::SQS::Queue): " + c.want
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The value may be a secret: a refusal does not repeat it.
func TestMistypedTellsNoValue(t *testing.T) {
	r := NewRouter(RouterOptions{}, nil, nil, nil, []Resource{{Type: "AWS::SQS::Queue", Handled: []string{"DelaySeconds"}}})
	_, err := r.Route(Want{LogicalID: "Q", Type: "AWS::SQS::Queue", Properties: value.NewObject("DelaySeconds", "hunter2")})
	if fault, ok := errors.AsType[*MistypedError](err); !ok || cmp.Diff(`Q (AWS::SQS::Queue): DelaySeconds: want a number, got a string`, fault.Error()) != "" {
		t.Errorf("got %v", err)
	}
}
