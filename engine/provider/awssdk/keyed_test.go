package awssdk

import (
	"fmt"
	"testing"

	"github.com/org/cdkd-action/engine/provider"
)

func livesOf(t *testing.T, s *provider.Session, lives map[string]life) {
	t.Helper()
	for name, l := range lives {
		t.Run(name, func(t *testing.T) { l.run(t, s) })
	}
}

// What is known by names of its own and of what it belongs to.
func TestKeyed(t *testing.T) {
	s := emulated(t)
	pool := made(t, s, "AWS::Cognito::UserPool", "keyed-pool", `{}`)
	made(t, s, "AWS::Logs::LogGroup", "keyed-group", `{"LogGroupName": "keyed-group"}`)
	policy := func(service string) string {
		return `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "` + service + `"}, "Action": "logs:PutLogEvents", "Resource": "*"}]}`
	}
	livesOf(t, s, map[string]life{
		"log stream": {typ: "AWS::Logs::LogStream", physical: "named", id: "keyed-group|named", steps: []step{
			{name: "of a group", props: `{"LogGroupName": "keyed-group"}`},
		}},
		"log policy": {typ: "AWS::Logs::ResourcePolicy", id: "keyed", steps: []step{
			{name: "of DNS", props: `{"PolicyName": "keyed", "PolicyDocument": ` + policy("route53.amazonaws.com") + `}`},
			{name: "of events", props: `{"PolicyName": "keyed", "PolicyDocument": ` + policy("events.amazonaws.com") + `}`},
		}},
		"dashboard": {typ: "AWS::CloudWatch::Dashboard", physical: "keyed", id: "keyed", steps: []step{
			{name: "of nothing", props: `{"DashboardBody": "{\"widgets\":[]}"}`},
			{name: "with a period", props: `{"DashboardBody": "{\"periodOverride\":\"auto\",\"widgets\":[]}"}`},
		}},
		"pool group": {typ: "AWS::Cognito::UserPoolGroup", physical: "admins", id: pool + "|admins", steps: []step{
			{name: "first", props: fmt.Sprintf(`{"UserPoolId": %q, "Description": "one", "Precedence": 1}`, pool)},
			{name: "second", props: fmt.Sprintf(`{"UserPoolId": %q, "Description": "two", "Precedence": 2}`, pool)},
		}},
		"resource server": {typ: "AWS::Cognito::UserPoolResourceServer", id: pool + "|orders", undeleted: "it has no such call", refused: map[string]string{"named otherwise": "UpdateResourceServer"}, steps: []step{
			{name: "with a scope", props: fmt.Sprintf(`{"UserPoolId": %q, "Identifier": "orders", "Name": "Orders", "Scopes": [{"ScopeName": "read", "ScopeDescription": "see"}]}`, pool)},
			{name: "named otherwise", props: fmt.Sprintf(`{"UserPoolId": %q, "Identifier": "orders", "Name": "All orders", "Scopes": [{"ScopeName": "read", "ScopeDescription": "see"}]}`, pool)},
		}},
		"identity provider": {typ: "AWS::Cognito::UserPoolIdentityProvider", id: pool + "|Work", steps: []step{
			{name: "of one client", props: fmt.Sprintf(`{"UserPoolId": %q, "ProviderName": "Work", "ProviderType": "OIDC", "ProviderDetails": {"client_id": "a"}, "AttributeMapping": {"email": "mail"}}`, pool)},
			{name: "of another", props: fmt.Sprintf(`{"UserPoolId": %q, "ProviderName": "Work", "ProviderType": "OIDC", "ProviderDetails": {"client_id": "b"}, "AttributeMapping": {"email": "upn"}}`, pool)},
		}},
	})
}
