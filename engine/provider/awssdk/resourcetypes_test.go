package awssdk

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
)

// mostUsed are the fifty types that CDK apps use most.
var mostUsed = strings.Fields(`
	AWS::ApiGateway::Deployment AWS::ApiGateway::Method AWS::ApiGateway::Resource AWS::ApiGateway::RestApi AWS::ApiGateway::Stage
	AWS::ApiGatewayV2::Api AWS::ApiGatewayV2::Integration AWS::ApiGatewayV2::Route AWS::ApiGatewayV2::Stage
	AWS::CloudFront::Distribution AWS::CloudFront::OriginAccessControl AWS::CloudWatch::Alarm AWS::DynamoDB::Table
	AWS::EC2::EIP AWS::EC2::Instance AWS::EC2::InternetGateway AWS::EC2::NatGateway AWS::EC2::Route AWS::EC2::RouteTable
	AWS::EC2::SecurityGroup AWS::EC2::SecurityGroupIngress AWS::EC2::Subnet AWS::EC2::SubnetRouteTableAssociation AWS::EC2::VPC
	AWS::EC2::VPCGatewayAttachment AWS::ECS::Cluster AWS::ECS::Service AWS::ECS::TaskDefinition
	AWS::ElasticLoadBalancingV2::Listener AWS::ElasticLoadBalancingV2::LoadBalancer AWS::ElasticLoadBalancingV2::TargetGroup
	AWS::Events::Rule AWS::IAM::InstanceProfile AWS::IAM::Policy AWS::IAM::Role AWS::KMS::Key
	AWS::Lambda::EventSourceMapping AWS::Lambda::Function AWS::Lambda::Permission AWS::Lambda::Url AWS::Logs::LogGroup
	AWS::S3::Bucket AWS::S3::BucketPolicy AWS::SNS::Subscription AWS::SNS::Topic AWS::SQS::Queue AWS::SQS::QueuePolicy
	AWS::SSM::Parameter AWS::SecretsManager::Secret AWS::StepFunctions::StateMachine`)

const resourceTypesHead = `# Resource types

These types are made by direct calls of their services. Every other type that
AWS's Cloud Control API can manage is made through that.

This page is written by a test. It gives each type every property that its schema
has, takes it through its life against a server that keeps what it is sent, and
looks for each value in the requests. "Sent" counts the properties found, of all
that a template can set, with all that is nested in them.

The columns to the right are requests: for a create of what the schema demands
and no more, for a change of one property (the one that takes most), and for a
delete. Where AWS's API would do with fewer, the number in brackets is the least:
the others are reads that wait for the resource to settle or ask what has to go
first.

`

// A property that is not sent is one that a deploy would drop in silence.
func TestEveryPropertyIsSent(t *testing.T) {
	rec := startRecorder(t)
	all := Resources()
	slices.SortFunc(all, func(a, b provider.Resource) int { return strings.Compare(a.Type, b.Type) })
	var table, left strings.Builder
	var sentOfMostUsed, ofMostUsed int
	used := map[string]bool{}
	for _, r := range all {
		t.Run(r.Type, func(t *testing.T) {
			typ, ok := schema.Lookup(r.Type)
			if !ok {
				t.Fatal("there is no schema")
			}
			rec.demanded()
			missing := unsent(t, rec, r, typ)
			unhandled := r.Coverage(typ).Unhandled
			for _, path := range missing {
				above, routed := within(path, unhandled)
				_, listed := leftOut[r.Type+" "+above]
				other, _ := within(path, keysOf(elsewhere, r.Type))
				switch {
				case routed && listed:
					used[r.Type+" "+above] = true
				case routed:
					t.Errorf("%s is left to Cloud Control: give the reason", above)
				case other != "":
					used[r.Type+" "+other] = true
				default:
					t.Errorf("%s is dropped in silence", path)
				}
			}
			for _, path := range unhandled {
				if reason, ok := leftOut[r.Type+" "+path]; ok {
					fmt.Fprintf(&left, "- `%s` %s: %s\n", r.Type, path, reason)
				}
			}
			settable, handled := 0, 0
			for name := range typ.Properties {
				if typ.Settable(name) {
					settable++
					if !slices.Contains(unhandled, name) {
						handled++
					}
				}
			}
			if slices.Contains(mostUsed, r.Type) {
				ofMostUsed += settable
				sentOfMostUsed += handled
			}
			c := measure(t, rec, r, typ)
			inTable(t, r.Type, asked(t, rec, r, typ))
			fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", r.Type, ratio(handled, settable),
				requestCount(c.create), requestCount(c.update[c.most()]), requestCount(c.remove))
		})
	}
	for _, key := range slices.Sorted(maps.Keys(leftOut)) {
		if !used[key] {
			t.Errorf("%s is listed as left out, and is sent", key)
		}
	}
	if sentOfMostUsed*100 < ofMostUsed*99 {
		t.Errorf("of the most used types %d of %d properties are sent, want 99%%", sentOfMostUsed, ofMostUsed)
	}
	text := resourceTypesHead + fmt.Sprintf("Of the fifty types that CDK apps use most, %d of %d properties are sent.\n\n", sentOfMostUsed, ofMostUsed) +
		"| Type | Sent | Create | Update | Delete |\n| --- | --- | --- | --- | --- |\n" + table.String() +
		"\n## Properties that take their resource to Cloud Control\n\n" + left.String()
	golden(t, "../../../docs/resource-types.md", text)
}

func ratio(n, of int) string {
	if n == of {
		return fmt.Sprint("all ", n)
	}
	return fmt.Sprintf("%d of %d", n, of)
}

// within finds the path, or one above it, among paths.
func within(path string, paths []string) (string, bool) {
	for _, p := range paths {
		if path == p || strings.HasPrefix(path, p+".") {
			return p, true
		}
	}
	return "", false
}

// keysOf are the paths that a table has for a type.
func keysOf(table map[string]string, typ string) []string {
	var out []string
	for key := range table {
		if path, ok := strings.CutPrefix(key, typ+" "); ok {
			out = append(out, path)
		}
	}
	return out
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update && !t.Failed() {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the code does (-want +got); rewrite it with -update:\n%s", file, diff)
	}
}
