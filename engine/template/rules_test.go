package template_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/template"
)

// described also tells attributes of what parameters name.
type described struct{ *world }

func (w described) Describe(_ context.Context, typ, id, attribute string) (string, error) {
	w.note("%s %s %s", typ, id, attribute)
	return map[string]string{"vpc-1": "IT", "vpc-2": "IT", "subnet-1": "vpc-1", "subnet-2": "vpc-2"}[id], nil
}

func TestRules(t *testing.T) { // as CloudFormation evaluates them; T-225 to T-231 for the functions they share with conditions
	const parameters = `"Parameters": {
		"Stage": {"Type": "String", "Default": "prod"},
		"Sizes": {"Type": "CommaDelimitedList", "Default": "s,m"},
		"Count": {"Type": "Number", "Default": "3"},
		"Secret": {"Type": "String", "Default": "hunter2", "NoEcho": true},
		"Vpc": {"Type": "AWS::EC2::VPC::Id", "Default": "vpc-1"},
		"Peer": {"Type": "AWS::EC2::VPC::Id", "Default": "vpc-2"},
		"Subnets": {"Type": "List<AWS::EC2::Subnet::Id>", "Default": "subnet-1, subnet-2"}}`
	asserted := func(assert string) string {
		return `{"R": {"Assertions": [{"Assert": ` + assert + `, "AssertDescription": "not so"}]}}`
	}
	const holds, broken = "", "Rules.R.Assertions[0]: an assertion of the rule does not hold: not so"
	for _, c := range []struct {
		name, rules string
		want        string
	}{
		{"Equals", asserted(`{"Fn::Equals": [{"Ref": "Stage"}, "prod"]}`), holds},
		{"Equals, another value", asserted(`{"Fn::Equals": [{"Ref": "Stage"}, "dev"]}`), broken},
		{"a number equals its text", asserted(`{"Fn::Equals": [{"Ref": "Count"}, "3"]}`), holds},
		{"Not, And, Or", asserted(`{"Fn::And": [{"Fn::Not": [{"Fn::Equals": [{"Ref": "Stage"}, "dev"]}]}, {"Fn::Or": [{"Fn::Equals": ["a", "b"]}, {"Fn::Contains": [["prod"], {"Ref": "Stage"}]}]}]}`), holds},
		{"Contains", asserted(`{"Fn::Contains": [["dev", "prod"], {"Ref": "Stage"}]}`), holds},
		{"Contains, what is not in the list", asserted(`{"Fn::Contains": [["dev", "test"], {"Ref": "Stage"}]}`), broken},
		{"Contains, in a parameter's list", asserted(`{"Fn::Contains": [{"Ref": "Sizes"}, "m"]}`), holds},
		{"EachMemberEquals", asserted(`{"Fn::EachMemberEquals": [["prod", "prod"], {"Ref": "Stage"}]}`), holds},
		{"EachMemberEquals, one differs", asserted(`{"Fn::EachMemberEquals": [["prod", "dev"], {"Ref": "Stage"}]}`), broken},
		{"EachMemberIn", asserted(`{"Fn::EachMemberIn": [{"Ref": "Sizes"}, ["s", "m", "l"]]}`), holds},
		{"EachMemberIn, one is not", asserted(`{"Fn::EachMemberIn": [{"Ref": "Sizes"}, ["s", "l"]]}`), broken},
		{"RefAll", asserted(`{"Fn::EachMemberIn": [{"Fn::RefAll": "AWS::EC2::VPC::Id"}, ["vpc-1", "vpc-2"]]}`), holds},
		{"RefAll, one is not", asserted(`{"Fn::EachMemberIn": [{"Fn::RefAll": "AWS::EC2::VPC::Id"}, ["vpc-1"]]}`), broken},
		{"ValueOf", asserted(`{"Fn::Equals": [{"Fn::ValueOf": ["Vpc", "Tags.Department"]}, "IT"]}`), holds},
		{"ValueOf a list", asserted(`{"Fn::EachMemberIn": [{"Fn::ValueOf": ["Subnets", "VpcId"]}, {"Fn::RefAll": "AWS::EC2::VPC::Id"}]}`), holds},
		{"ValueOf a list, one differs", asserted(`{"Fn::EachMemberEquals": [{"Fn::ValueOf": ["Subnets", "VpcId"]}, {"Ref": "Vpc"}]}`), broken},
		{"ValueOfAll", asserted(`{"Fn::EachMemberEquals": [{"Fn::ValueOfAll": ["AWS::EC2::VPC::Id", "Tags.Department"]}, "IT"]}`), holds},
		{"ValueOfAll, of lists too", asserted(`{"Fn::EachMemberEquals": [{"Fn::ValueOfAll": ["AWS::EC2::Subnet::Id", "VpcId"]}, "vpc-1"]}`), broken},
		{"a rule whose condition is false asserts nothing", `{"R": {"RuleCondition": {"Fn::Equals": [{"Ref": "Stage"}, "dev"]}, "Assertions": [{"Assert": {"Fn::Equals": ["a", "b"]}}]}}`, holds},
		{"one whose condition is true does", `{"R": {"RuleCondition": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]}, "Assertions": [{"Assert": {"Fn::Equals": ["a", "b"]}}]}}`,
			"Rules.R.Assertions[0]: an assertion of the rule does not hold"},
		{"all assertions have to hold", `{"R": {"Assertions": [{"Assert": {"Fn::Equals": ["a", "a"]}}, {"Assert": {"Fn::Equals": ["a", "b"]}, "AssertDescription": "second"}]}}`,
			"Rules.R.Assertions[1]: an assertion of the rule does not hold: second"},
		{"all rules that are broken are told", `{"A": {"Assertions": [{"Assert": {"Fn::Equals": ["a", "b"]}, "AssertDescription": "one"}]}, "B": {"Assertions": [{"Assert": {"Fn::Equals": ["a", "b"]}, "AssertDescription": "two"}]}}`,
			"Rules.A.Assertions[0]: an assertion of the rule does not hold: one\n  Rules.B.Assertions[0]: an assertion of the rule does not hold: two"},
		{"a NoEcho value is compared and not shown", asserted(`{"Fn::Equals": [{"Ref": "Secret"}, "other"]}`), broken},

		{"a resource is nothing that a rule can ask", asserted(`{"Fn::Equals": [{"Ref": "Res"}, "x"]}`), "Res is a resource, which cannot be referred to here"},
		{"nor is a parameter that there is not", asserted(`{"Fn::Equals": [{"Ref": "Nope"}, "x"]}`), `there is no resource, parameter or pseudo parameter "Nope"`},
		{"an assertion has to be true or false", asserted(`{"Ref": "Stage"}`), "Rules.R.Assertions[0].Assert: want a condition"},
		{"a rule without assertions", `{"R": {}}`, "Rules.R: a rule needs a list of Assertions"},
		{"an assertion without an Assert", `{"R": {"Assertions": [{"AssertDescription": "x"}]}}`, "Rules.R.Assertions[0]: want an object with Assert"},
		{"rules that are a list", `[]`, "Rules: want an object, got a list"},
		{"ValueOf with a function", asserted(`{"Fn::Equals": [{"Fn::ValueOf": [{"Ref": "Vpc"}, "Tags.x"]}, "x"]}`), "no function can stand here"},
		{"Contains without a list", asserted(`{"Fn::Contains": ["prod", "prod"]}`), "want a list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := fmt.Sprintf(`{%s, "Rules": %s, "Resources": {"Res": {"Type": "T::T::T"}}}`, parameters, c.rules)
			err := bind(t, body, described{&world{}}).Admit(t.Context())
			if c.want == holds && err != nil || c.want != holds && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a NoEcho value is shown: %v", err)
			}
			if asserts := strings.Contains(c.want, "does not hold"); asserts != errors.As(err, new(*template.AssertionError)) {
				t.Errorf("%v is an *AssertionError: %t", err, !asserts)
			}
		})
	}

	t.Run("functions of rules are of no use elsewhere", func(t *testing.T) {
		_, err := parse(t, `{"Conditions": {"C": {"Fn::Contains": [["a"], "a"]}}, "Resources": {"R": {"Type": "T::T::T"}}}`).Bind(t.Context(), env, nil, &world{})
		if err == nil || !strings.Contains(err.Error(), "no such function") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("what cannot be told yet is let through", func(t *testing.T) {
		body := `{"Parameters": {"P": {"Type": "String"}}, "Rules": ` + asserted(`{"Fn::Equals": [{"Ref": "P"}, "x"]}`) + `, "Resources": {"R": {"Type": "T::T::T"}}}`
		if err := bind(t, body, &world{}, template.Unknown("P")).Admit(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := parse(t, body).Offline(t.Context(), "S", "", ""); err != nil {
			t.Error(err)
		}
	})
	t.Run("offline, an assertion that never holds is refused", func(t *testing.T) {
		body := `{"Rules": ` + asserted(`{"Fn::Equals": ["a", "b"]}`) + `, "Resources": {"R": {"Type": "T::T::T"}}}`
		if _, err := parse(t, body).Offline(t.Context(), "S", "", ""); !errors.As(err, new(*template.AssertionError)) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the CDK's rule about its bootstrap is not asked for (T-214), another one from the parameter store is", func(t *testing.T) {
		body := `{"Parameters": {
				"BootstrapVersion": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/cdk-bootstrap/hnb659fds/version"},
				"Stage": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/stage"}},
			"Rules": {
				"CheckBootstrapVersion": {"Assertions": [{"Assert": {"Fn::Not": [{"Fn::Contains": [["1", "2", "3", "4", "5"], {"Ref": "BootstrapVersion"}]}]}, "AssertDescription": "too old"}]},
				"Stages": {"Assertions": [{"Assert": {"Fn::Contains": [["dev"], {"Ref": "Stage"}]}, "AssertDescription": "only dev"}]}},
			"Resources": {"R": {"Type": "T::T::T"}}}`
		w := &world{parameters: map[string]string{"/stage": "prod"}}
		err := bind(t, body, w).Admit(t.Context())
		if err == nil || !strings.Contains(err.Error(), "only dev") || strings.Contains(err.Error(), "too old") {
			t.Errorf("got %v", err)
		}
		if diff := cmp.Diff([]string{"ssm /stage"}, w.asked); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("hooks are CloudFormation's to run", func(t *testing.T) {
		err := bind(t, `{"Hooks": {"Shift": {"Type": "AWS::CodeDeploy::BlueGreen"}}, "Resources": {"R": {"Type": "T::T::T"}}}`, &world{}).Admit(t.Context())
		if !errors.As(err, new(*template.HookError)) || !strings.Contains(err.Error(), "Hooks: changes are to go through Shift") {
			t.Errorf("got %v", err)
		}
	})
}
