package provider

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/plan"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/value"
)

// named is a provider that is only told apart, never called.
type named struct {
	Provider
	name string
}

func router(o RouterOptions) *Router {
	return NewRouter(o, named{name: "cloud"}, named{name: "custom"}, map[string]Provider{"AWS::CloudFormation::Stack": named{name: "nested"}}, []Resource{
		{Type: "AWS::SQS::Queue", Name: "QueueName", Tags: Tags{Property: "Tags"}, Exclusive: [][]string{{"DelaySeconds", "FifoQueue"}},
			Inputs: []Input{Bind[sqs.CreateQueueInput](Bag("Attributes", "DelaySeconds", "FifoQueue"))}},
		{Type: "AWS::IAM::Role", Inputs: []Input{Bind[iam.CreateRoleInput]()}, SDKOnly: "it is global"},
		{Type: "AWS::DynamoDB::GlobalTable", Recast: &Recast{
			To: func(props *value.Object) *value.Object { return props }, Lost: []string{"MultiRegionConsistency"},
			Beyond: func(props *value.Object) []string {
				if len(props.List("Replicas")) > 1 {
					return []string{"Replicas"}
				}
				return nil
			}}},
		{Type: "AWS::Scheduler::Schedule", Handled: []string{"Name"}},
		{Type: "AWS::ElasticLoadBalancingV2::Listener", Handled: []string{"Port", "DefaultActions"}},
	})
}

func nameOf(d Decision) string {
	switch p := d.Provider.(type) {
	case nil:
		return "none"
	case named:
		return p.name
	case *Driver:
		return "sdk"
	case *returning:
		return "returning"
	case waitHandle:
		return "handle"
	}
	return "?"
}

func TestRoutes(t *testing.T) {
	const queue, listener, schedule = "AWS::SQS::Queue", "AWS::ElasticLoadBalancingV2::Listener", "AWS::Scheduler::Schedule"
	const global = "AWS::DynamoDB::GlobalTable"
	for _, c := range []struct {
		rule    string
		want    Want
		props   string
		options RouterOptions
		to      string
		route   plan.Route
		dropped []string
		log     string
	}{
		{rule: "covered: SDK (T-1040)", want: Want{Type: queue}, props: `{"QueueName":"q","DelaySeconds":1,"Tags":[]}`, to: "sdk", route: plan.Route{ProvisionedBy: state.BySDK}},
		{rule: "an uncovered property: Cloud Control, and why (T-1040, T-1043)", want: Want{Type: queue}, props: `{"RedrivePolicy":{},"DelaySeconds":1}`, to: "cloud",
			route: plan.Route{ProvisionedBy: state.ByCloudControl, Unhandled: []string{"RedrivePolicy"}}, log: "allow-unsupported-properties AWS::SQS::Queue:RedrivePolicy"},
		{rule: "allowed to be dropped (T-1043)", want: Want{Type: queue}, props: `{"RedrivePolicy":{}}`, options: RouterOptions{AllowProperties: map[string][]string{queue: {"RedrivePolicy"}}},
			to: "sdk", route: plan.Route{ProvisionedBy: state.BySDK}, dropped: []string{"RedrivePolicy"}, log: "will not be sent"},
		{rule: "names outside the schema never route (T-1041)", want: Want{Type: queue}, props: `{"QueueNamee":"x"}`, options: RouterOptions{AllowProperties: map[string][]string{queue: {"QueueNamee"}}},
			to: "sdk", route: plan.Route{ProvisionedBy: state.BySDK}, dropped: []string{"QueueNamee"}, log: "has no property QueueNamee"},
		{rule: "read-only ones neither (T-1041)", want: Want{Type: queue}, props: `{"Arn":"x"}`, options: RouterOptions{AllowProperties: map[string][]string{queue: {"Arn"}}},
			to: "sdk", route: plan.Route{ProvisionedBy: state.BySDK}, dropped: []string{"Arn"}, log: "has no property Arn"},
		{rule: "a property that is taken away is not used", want: Want{Type: queue}, props: `{"QueueNamee":{"Ref":"AWS::NoValue"}}`, to: "sdk", route: plan.Route{ProvisionedBy: state.BySDK}},
		{rule: "Cloud Control judges the names that it is sent", want: Want{Type: queue, Exists: true, Recorded: state.ByCloudControl}, props: `{"QueueNamee":"x"}`, to: "cloud",
			route: plan.Route{ProvisionedBy: state.ByCloudControl, Sticky: true}},
		{rule: "recorded on Cloud Control: stays (S-41, T-1040)", want: Want{Type: queue, Exists: true, Recorded: state.ByCloudControl, Mutating: true}, props: `{"DelaySeconds":1}`,
			to: "cloud", route: plan.Route{ProvisionedBy: state.ByCloudControl, Sticky: true}},
		{rule: "recorded nowhere means SDK", want: Want{Type: queue, Exists: true}, props: `{}`, to: "sdk", route: plan.Route{ProvisionedBy: state.BySDK}},
		{rule: "a type without description", want: Want{Type: "AWS::ECR::Repository"}, props: `{"Tags":[]}`, to: "cloud", route: plan.Route{ProvisionedBy: state.ByCloudControl}},
		{rule: "without description, made by another engine's: the record keeps saying so (S-49)", want: Want{Type: "AWS::ECR::Repository", Exists: true, Recorded: state.BySDK}, props: `{}`,
			to: "cloud", route: plan.Route{ProvisionedBy: state.BySDK}},
		{rule: "a type newer than the schemas", want: Want{Type: "AWS::Brand::New"}, props: `{}`, to: "cloud", route: plan.Route{ProvisionedBy: state.ByCloudControl}},
		{rule: "custom resources, whatever is recorded (S-42, T-1040)", want: Want{Type: "Custom::X", Exists: true, Recorded: state.ByCloudControl}, props: `{}`, to: "custom", route: plan.Route{ProvisionedBy: state.BySDK}},
		{rule: "the other name of custom resources", want: Want{Type: "AWS::CloudFormation::CustomResource"}, props: `{}`, to: "custom", route: plan.Route{ProvisionedBy: state.BySDK}},
		{rule: "nested stacks", want: Want{Type: "AWS::CloudFormation::Stack"}, props: `{}`, to: "nested", route: plan.Route{ProvisionedBy: state.BySDK}},
		{rule: "wait handles", want: Want{Type: "AWS::CloudFormation::WaitConditionHandle"}, props: `{}`, to: "handle", route: plan.Route{ProvisionedBy: state.BySDK}},
		{rule: "metadata needs no provider", want: Want{Type: "AWS::CDK::Metadata"}, props: `{}`, to: "none", route: plan.Route{ProvisionedBy: state.BySDK}},
		{rule: "wrong on Cloud Control: comes back, pinned or not (S-41, T-1045)", want: Want{Type: schedule, Exists: true, Recorded: state.ByCloudControl}, props: `{"Name":"s"}`,
			options: RouterOptions{PinCloudControl: true}, to: "returning", route: plan.Route{ProvisionedBy: state.BySDK, Returning: true}, log: "returns to the SDK"},
		{rule: "better by SDK: comes back with a change (S-41, T-1046)", want: Want{Type: listener, Exists: true, Recorded: state.ByCloudControl, Mutating: true}, props: `{"Port":1}`,
			to: "returning", route: plan.Route{ProvisionedBy: state.BySDK, Returning: true}, log: "returns to the SDK"},
		{rule: "not without a change (T-1046)", want: Want{Type: listener, Exists: true, Recorded: state.ByCloudControl}, props: `{"Port":1}`,
			to: "cloud", route: plan.Route{ProvisionedBy: state.ByCloudControl, Sticky: true}},
		{rule: "not when pinned (T-1046)", want: Want{Type: listener, Exists: true, Recorded: state.ByCloudControl, Mutating: true}, props: `{"Port":1}`,
			options: RouterOptions{PinCloudControl: true}, to: "cloud", route: plan.Route{ProvisionedBy: state.ByCloudControl, Sticky: true}},
		{rule: "not when not covered (T-1046)", want: Want{Type: listener, Exists: true, Recorded: state.ByCloudControl, Mutating: true}, props: `{"SslPolicy":"x"}`,
			to: "cloud", route: plan.Route{ProvisionedBy: state.ByCloudControl, Unhandled: []string{"SslPolicy"}}},
		{rule: "values that are within reach", want: Want{Type: global}, props: `{"Replicas": [{"Region": "eu-west-1"}]}`, to: "sdk", route: plan.Route{ProvisionedBy: state.BySDK}},
		{rule: "values that are beyond it", want: Want{Type: global}, props: `{"Replicas": [{"Region": "eu-west-1"}, {"Region": "eu-west-2"}]}`,
			to: "cloud", route: plan.Route{ProvisionedBy: state.ByCloudControl, Unhandled: []string{"Replicas"}}, log: "does not handle Replicas"},
		{rule: "a path that is lost", want: Want{Type: global}, props: `{"MultiRegionConsistency": "STRONG", "Replicas": [{"Region": "eu-west-1"}]}`,
			to: "cloud", route: plan.Route{ProvisionedBy: state.ByCloudControl, Unhandled: []string{"MultiRegionConsistency"}}, log: "does not handle MultiRegionConsistency"},
		{rule: "asked for by a flag", want: Want{Type: queue, Layer: state.ByCloudControl}, props: `{}`, to: "cloud", route: plan.Route{ProvisionedBy: state.ByCloudControl}},
		{rule: "asked back by a flag", want: Want{Type: queue, Exists: true, Recorded: state.ByCloudControl, Layer: state.BySDK}, props: `{}`, to: "sdk", route: plan.Route{ProvisionedBy: state.BySDK}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			c.want.LogicalID, c.want.Properties = "Thing", object(t, c.props)
			d, err := router(c.options).Route(c.want)
			if err != nil {
				t.Fatal(err)
			}
			if got := nameOf(d); got != c.to {
				t.Errorf("provider: want %s, got %s", c.to, got)
			}
			if diff := cmp.Diff(c.route, d.Route); diff != "" {
				t.Errorf("route (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.dropped, d.Dropped); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
			}
			if log := strings.Join(append(d.Notices, d.Warnings...), "\n"); !strings.Contains(log, c.log) || (log == "") != (c.log == "") {
				t.Errorf("log: want %q, got %q", c.log, log)
			}
			if direct := c.to == "custom" || c.to == "nested" || c.to == "handle" || c.to == "none"; d.Direct != direct {
				t.Errorf("never wrapped by retries: want %t, got %t (S-173, T-640, T-921)", direct, d.Direct)
			}
		})
	}
}

func TestPreflightReportsEverything(t *testing.T) { // (T-203, T-1041, T-1042)
	wants := []Want{
		{LogicalID: "Fine", Type: "AWS::SQS::Queue", Properties: object(t, `{}`)},
		{LogicalID: "Odd", Type: "Acme::Odd::Type", Properties: object(t, `{}`)},
		{LogicalID: "Project", Type: "AWS::CodeBuild::Project", Properties: object(t, `{}`)},
		{LogicalID: "Role", Type: "AWS::IAM::Role", Properties: object(t, `{"Policies":[]}`)},
		{LogicalID: "Typo", Type: "AWS::SQS::Queue", Properties: object(t, `{"QueueNamee":"x"}`)},
		{LogicalID: "Both", Type: "AWS::SQS::Queue", Properties: object(t, `{"DelaySeconds":1,"FifoQueue":true}`)},
	}
	_, err := router(RouterOptions{}).Preflight(wants)
	var faults *PreflightError
	if !errors.As(err, &faults) {
		t.Fatalf("want a PreflightError, got %v", err)
	}
	want := `resources that cannot be provisioned; nothing was changed:
  Odd: type Acme::Odd::Type is not supported: it is not a type of AWS
  Project: type AWS::CodeBuild::Project is not supported: Cloud Control cannot manage it
  Role (AWS::IAM::Role): Policies not supported, and Cloud Control is no way out: it is global
  Typo: AWS::SQS::Queue has no property QueueNamee that a template can set
  Both (AWS::SQS::Queue) may have only one of DelaySeconds, FifoQueue`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, way := range []string{"allow-unsupported-types", "allow-unsupported-properties AWS::SQS::Queue:QueueNamee", "correct the properties"} {
		if !strings.Contains(faults.Remedy(), way) {
			t.Errorf("remedy: want %s in %s", way, faults.Remedy())
		}
	}
	allowed := RouterOptions{AllowTypes: []string{"Acme::Odd::Type", "AWS::CodeBuild::Project"}}
	decisions, err := router(allowed).Preflight(wants[:3])
	if err != nil || nameOf(decisions[0]) != "sdk" || nameOf(decisions[1]) != "cloud" || nameOf(decisions[2]) != "cloud" {
		t.Errorf("types that were let through: %v, %v", decisions, err)
	}
}

func TestRecordedLayer(t *testing.T) {
	for _, c := range []struct{ typ, by, want string }{
		{"AWS::SQS::Queue", "", "sdk"},
		{"AWS::SQS::Queue", state.ByCloudControl, "cloud"},
		{"AWS::Scheduler::Schedule", state.ByCloudControl, "sdk"},
		{"AWS::ECR::Repository", state.BySDK, "cloud"},
		{"Custom::X", state.ByCloudControl, "custom"},
	} {
		d, err := router(RouterOptions{}).Recorded("Thing", c.typ, c.by)
		if err != nil || nameOf(d) != c.want {
			t.Errorf("%s recorded by %q: want %s, got %s, %v", c.typ, c.by, c.want, nameOf(d), err)
		}
	}
}

// live is a provider whose reads answer.
type live struct {
	Provider
	props *value.Object
}

func (l live) Read(context.Context, *Request) (*value.Object, error) { return l.props, nil }

// A recast type is read as it is given, without our tags wherever they stand.
func TestRecastIsReadAsGiven(t *testing.T) {
	res := Resource{Type: "AWS::DynamoDB::GlobalTable", Tags: Tags{Property: "Tags"}, Recast: &Recast{
		To: func(*value.Object) *value.Object { return value.NewObject("TableName", "recast") },
	}}
	cloud := live{props: object(t, `{"TableName": "t", "Replicas": [{"Region": "r", "Tags": [{"Key": "a", "Value": "1"}, {"Key": "cdkd-action:owner", "Value": "o"}]}, {"Tags": [{"Key": "cdkd-action:owner", "Value": "o"}]}]}`)}
	asked := driven(t, `{"TableName": "t"}`, `{}`)
	got, err := Drive(res, asking{cloud, asked.Properties, t}).Read(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	if want := object(t, `{"TableName": "t", "Replicas": [{"Region": "r", "Tags": [{"Key": "a", "Value": "1"}]}, {}]}`); !value.Equal(want, got) {
		t.Errorf("want %s, got %s", value.JSON(want), value.JSON(got))
	}
}

// asking is a live provider that is to be asked with some properties.
type asking struct {
	live
	want *value.Object
	t    *testing.T
}

func (a asking) Read(ctx context.Context, r *Request) (*value.Object, error) {
	if !value.Equal(a.want, r.Properties) {
		a.t.Errorf("asked with %s, want %s", value.JSON(r.Properties), value.JSON(a.want))
	}
	return a.live.Read(ctx, r)
}

func TestReturningGoesByWhatIsInAWS(t *testing.T) { // (T-1047)
	s := &service{}
	res := s.box()
	res.Wait = nil
	r := driven(t, `{"Size":2,"Policy":1}`, `{"Size":2,"Policy":9,"Access":1}`)
	r.PhysicalID = "box-1"
	p := &returning{Drive(res, nil), live{props: object(t, `{"Size":3,"Policy":1,"Access":1,"Reset":"default of AWS"}`)}}
	if _, err := p.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"update [Size]", "putAccess <nil>", "attributes box-1"}, s.calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
