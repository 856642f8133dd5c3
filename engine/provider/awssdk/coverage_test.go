package awssdk

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A property that is not covered sends its resource to Cloud Control, so the
// golden file is what the README's routing promises rest on.
func TestCoverage(t *testing.T) {
	var b strings.Builder
	all := Resources()
	slices.SortFunc(all, func(a, b provider.Resource) int { return strings.Compare(a.Type, b.Type) })
	for _, r := range all {
		typ, ok := schema.Lookup(r.Type)
		if !ok {
			t.Fatalf("no schema of %s", r.Type)
		}
		c := r.Coverage(typ)
		fmt.Fprintf(&b, "%s\n", r.Type)
		fmt.Fprintf(&b, "  covers %s\n", strings.Join(c.Handled, " "))
		if len(c.Unhandled) > 0 {
			fmt.Fprintf(&b, "  leaves %s\n", strings.Join(c.Unhandled, " "))
		}
	}
	const golden = "testdata/coverage.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("coverage changed (-want +got), rewrite with -update if that is meant:\n%s", diff)
	}
}

func TestTypesAreDescribedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Resources() {
		if seen[r.Type] {
			t.Errorf("%s is described twice", r.Type)
		}
		seen[r.Type] = true
		if len(r.Gone) == 0 {
			t.Errorf("%s does not say how its service tells that a resource is gone", r.Type)
		}
	}
}

// What an unanswered create made is found by Find, or by sending it again
// (P-34).
func TestUnansweredCreates(t *testing.T) {
	repeatable := map[string]string{
		"AWS::ApiGateway::Account":         "a put",
		"AWS::CloudFront::Distribution":    "the token is refused a second time, and the refusal names what the first made",
		"AWS::Logs::MetricFilter":          "a put",
		"AWS::Logs::SubscriptionFilter":    "a put",
		"AWS::CloudWatch::Alarm":           "a put",
		"AWS::EC2::LaunchTemplate":         "the client token gives the same template",
		"AWS::Events::Rule":                "a put",
		"AWS::IAM::Policy":                 "a put on each principal",
		"AWS::Lambda::EventInvokeConfig":   "a put",
		"AWS::Lambda::Version":             "the same code and configuration give the same version",
		"AWS::Logs::LogGroup":              "the name is taken by ourselves",
		"AWS::S3::Bucket":                  "the name is taken by ourselves",
		"AWS::S3::BucketPolicy":            "a put",
		"AWS::SNS::Subscription":           "topic, protocol and endpoint give the same subscription",
		"AWS::SNS::Topic":                  "the name gives the same topic",
		"AWS::SNS::TopicPolicy":            "a put on each topic",
		"AWS::SQS::Queue":                  "the name gives the same queue",
		"AWS::SQS::QueuePolicy":            "a put on each queue",
		"AWS::StepFunctions::StateMachine": "the name gives the same state machine",
	}
	lost := map[string]string{
		"AWS::ApiGateway::Deployment":    "takes no tags and has no name: leaves a deployment that no stage uses, gone with its API",
		"AWS::ApiGatewayV2::Integration": "takes no tags and has no name: leaves an integration that no route uses, gone with its API",
		"AWS::IAM::Group":                "takes no tags: refused as a taken name, to be imported",
		"AWS::Lambda::LayerVersion":      "takes no tags and has no name of its own: leaves a version that nothing uses",
	}
	for _, r := range Resources() {
		_, again := repeatable[r.Type]
		_, known := lost[r.Type]
		if n := count(r.Find != nil, again, known); n != 1 {
			t.Errorf("%s: Find %t, repeatable %t, known to be lost %t: want one of them", r.Type, r.Find != nil, again, known)
		}
	}
}

func count(facts ...bool) (n int) {
	for _, f := range facts {
		if f {
			n++
		}
	}
	return n
}
