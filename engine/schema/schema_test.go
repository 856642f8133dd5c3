package schema

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKnownTypes(t *testing.T) {
	for _, c := range []struct {
		name          string
		identifier    []string
		ref           []string // nil: as the identifier
		createOnly    []string // all of them
		tags          string
		provisionable bool
	}{
		{"AWS::IAM::Role", []string{"RoleName"}, nil, []string{"Path", "RoleName"}, "Tags", false},
		{"AWS::SQS::Queue", []string{"QueueUrl"}, nil, []string{"FifoQueue", "QueueName"}, "Tags", true},
		{"AWS::S3::Bucket", []string{"BucketName"}, nil, []string{"BucketName", "BucketNamePrefix", "BucketNamespace"}, "Tags", true},
		{"AWS::Lambda::Function", []string{"FunctionName"}, nil, []string{"FunctionName", "PackageType", "TenancyConfig"}, "Tags", true},
		{"AWS::SNS::Topic", []string{"TopicArn"}, nil, []string{"FifoTopic", "TopicName"}, "Tags", true},
		{"AWS::Logs::LogGroup", []string{"LogGroupName"}, nil, []string{"LogGroupName"}, "Tags", true},
		{"AWS::EC2::EIP", []string{"PublicIp", "AllocationId"}, []string{"PublicIp"}, []string{"Address", "IpamPoolId", "NetworkBorderGroup", "TransferAddress"}, "Tags", true},
		{"AWS::Route53::RecordSet", []string{"Id"}, []string{"Name"}, []string{"HostedZoneId", "HostedZoneName", "Name"}, "", false},
		{"AWS::DynamoDB::GlobalTable", []string{"TableName"}, nil, []string{"TableName"}, "", true},
		{"AWS::CloudFormation::Stack", []string{"StackId"}, nil, nil, "Tags", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := Lookup(c.name)
			if !ok {
				t.Fatal("not found")
			}
			if c.ref == nil {
				c.ref = c.identifier
			}
			type facts struct {
				Identifier, Ref, CreateOnly []string
				Tags                        string
				Provisionable               bool
			}
			want := facts{c.identifier, c.ref, c.createOnly, c.tags, c.provisionable}
			have := facts{got.PrimaryIdentifier, got.RefIdentifier, got.CreateOnly, got.TagProperty, got.Provisionable}
			if d := cmp.Diff(want, have); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		typ, path string
		kind      string
		unordered bool
		json      bool
	}{
		{"AWS::SQS::Queue", "DelaySeconds", "integer", false, false},
		{"AWS::SQS::Queue", "FifoQueue", "boolean", false, false},
		{"AWS::SQS::Queue", "Tags", "array", true, false},
		{"AWS::SQS::Queue", "Tags/*/Key", "string", false, false},
		{"AWS::SQS::Queue", "RedrivePolicy", "", false, true},
		{"AWS::IAM::Role", "AssumeRolePolicyDocument", "", false, true},
		{"AWS::IAM::Role", "Policies/*/PolicyDocument", "", false, true},
		{"AWS::IAM::Role", "ManagedPolicyArns", "array", true, false},
		{"AWS::Lambda::Function", "Code/S3Bucket", "string", false, false},
		{"AWS::Lambda::Function", "Environment/Variables", "object", false, false},
		{"AWS::Lambda::Function", "Environment/Variables/*", "string", false, false},
		{"AWS::S3::Bucket", "LifecycleConfiguration/Rules/*/ExpirationInDays", "integer", false, false},
		{"AWS::DynamoDB::Table", "BillingMode", "string", false, false},
	} {
		t.Run(c.typ+"/"+c.path, func(t *testing.T) {
			typ, ok := Lookup(c.typ)
			if !ok {
				t.Fatal("type not found")
			}
			p := typ.At(c.path)
			if p == nil {
				t.Fatal("path not found")
			}
			if p.Type != c.kind || p.Unordered != c.unordered || p.JSON != c.json {
				t.Errorf("got type %q, unordered %v, json %v", p.Type, p.Unordered, p.JSON)
			}
		})
	}
}

func TestReplaces(t *testing.T) {
	for _, c := range []struct {
		typ, property string
		want          Replacement
		below         []string
	}{
		{"AWS::SQS::Queue", "QueueName", Replaces, nil},
		{"AWS::SQS::Queue", "DelaySeconds", InPlace, nil},
		{"AWS::SQS::Queue", "NoSuchProperty", InPlace, nil},
		{"AWS::EFS::AccessPoint", "RootDirectory", Replaces, nil},
		{"AWS::ECR::Repository", "EncryptionConfiguration", Replaces, nil},
		{"AWS::EKS::Cluster", "KubernetesNetworkConfig", ReplaceBelow, []string{"IpFamily", "ServiceIpv4Cidr"}},
		{"AWS::EC2::Instance", "EbsOptimized", MayReplace, nil},
		{"AWS::ApiGatewayV2::Integration", "ApiId", Replaces, nil},
		{"AWS::Cognito::UserPool", "Schema", InPlace, nil},
		{"AWS::SageMaker::Cluster", "Orchestrator", ReplaceBelow, []string{"Eks"}},
	} {
		t.Run(c.typ+"/"+c.property, func(t *testing.T) {
			typ, ok := Lookup(c.typ)
			if !ok {
				t.Fatal("type not found")
			}
			if got := typ.Replaces(c.property); got != c.want {
				t.Errorf("got %v, want %v (create-only %v, conditional %v)", got, c.want, typ.CreateOnly, typ.ConditionalCreateOnly)
			}
			if c.below != nil {
				if d := cmp.Diff(c.below, typ.CreateOnlyBelow(c.property)); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
			}
		})
	}
}

// Every type decodes, and everything that it says about its properties points
// at one.
func TestEveryType(t *testing.T) {
	names := Names()
	if len(names) < 1800 {
		t.Errorf("%d types: the archive lost some", len(names))
	}
	if n := len(archive); n > 500_000 {
		t.Errorf("the archive has %d bytes; every run of the action loads them", n)
	}
	refused := 0
	for _, name := range names {
		typ, ok := Lookup(name)
		if !ok || typ.Name != name {
			t.Fatalf("%s is listed and cannot be looked up", name)
		}
		if !typ.Provisionable {
			refused++
		} else if len(typ.PrimaryIdentifier) == 0 {
			t.Errorf("%s: Cloud Control cannot manage what has no identifier", name)
		}
		if typ.TagProperty != "" && typ.Properties[typ.TagProperty] == nil {
			t.Errorf("%s: no tag property %s", name, typ.TagProperty)
		}
		for _, p := range slices.Concat(typ.CreateOnly, typ.ConditionalCreateOnly, typ.WriteOnly, typ.PrimaryIdentifier) {
			top, _, _ := strings.Cut(p, "/")
			if typ.Properties[top] == nil {
				t.Errorf("%s: %s is not below a property", name, p)
			}
		}
	}
	if refused < 180 || refused > 260 {
		t.Errorf("%d types are not provisionable; about 200 were known when this was written", refused)
	}
}

func TestRecursiveShapes(t *testing.T) {
	typ, _ := Lookup("AWS::WAFv2::WebACL")
	p := typ.At("Rules/*/Statement/NotStatement/Statement/NotStatement/Statement/ByteMatchStatement/SearchString")
	if p == nil || p.Type != "string" {
		t.Fatalf("a statement within a statement within a statement: got %+v", p)
	}
}

func TestUnknownNames(t *testing.T) {
	for _, name := range []string{"", "AWS", "AWS::SQS", "AWS::SQS::", "AWS::SQS::Nope", "AWS::Nope::Queue", "Custom::Thing", "aws::sqs::queue", "AWS::SQS::Queue::X"} {
		if typ, ok := Lookup(name); ok || typ != nil {
			t.Errorf("%q: got %v", name, typ)
		}
	}
}

func TestSettable(t *testing.T) {
	typ, _ := Lookup("AWS::SQS::Queue")
	for property, want := range map[string]bool{"QueueName": true, "Arn": false, "Nope": false} {
		if got := typ.Settable(property); got != want {
			t.Errorf("%s: got %v", property, got)
		}
	}
	if d := cmp.Diff([]string{"Arn", "QueueName", "QueueUrl"}, typ.Attributes); d != "" {
		t.Errorf("attributes (-want +got)\n%s", d)
	}
}

// Concurrent first look-ups agree on one value; run with -race.
func TestLookupConcurrently(t *testing.T) {
	c := newCatalogue(mustOpen(t), decode)
	var g sync.WaitGroup
	got := make([]*Type, 32)
	for i := range got {
		g.Go(func() { got[i], _ = c.lookup("AWS::EC2::Instance") })
	}
	g.Wait()
	for _, typ := range got {
		if typ == nil || typ != got[0] {
			t.Fatal("two values for one type")
		}
	}
}
