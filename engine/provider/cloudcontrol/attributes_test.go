package cloudcontrol

import (
	"slices"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// Templates ask for these, and the model of each type has them or they follow from it.
func TestAttributesThatTemplatesAskFor(t *testing.T) { // (T-1031)
	stack := provider.Stack{Name: "Shop", Region: region, AccountID: "123456789012", Partition: "aws"}
	for typeName, names := range map[string]string{
		"AWS::S3::Bucket":                                 "Arn",
		"AWS::RDS::DBCluster":                             "Endpoint.Address Endpoint.Port ReadEndpoint.Address DBClusterArn DBClusterResourceId",
		"AWS::RDS::DBInstance":                            "Endpoint.Address Endpoint.Port Endpoint.HostedZoneId DBInstanceArn",
		"AWS::DynamoDB::Table":                            "StreamArn",
		"AWS::ApiGateway::RestApi":                        "RootResourceId RestApiId",
		"AWS::CloudFront::CloudFrontOriginAccessIdentity": "S3CanonicalUserId",
		"AWS::KMS::Key":                                   "Arn KeyId",
		"AWS::CloudFront::OriginAccessControl":            "Id",
		"AWS::Route53::HealthCheck":                       "HealthCheckId",
		"AWS::ECR::Repository":                            "Arn RepositoryUri",
		"AWS::EC2::EIP":                                   "PublicIp AllocationId",
		"AWS::Lambda::Version":                            "Version",
		"AWS::Kinesis::Stream":                            "Arn",
		"AWS::Lambda::Url":                                "FunctionUrl FunctionArn",
		"AWS::Events::Connection":                         "Arn SecretArn ArnForPolicy",
		"AWS::Events::ApiDestination":                     "Arn ArnForPolicy",
		"AWS::ElastiCache::ReplicationGroup":              "PrimaryEndPoint.Address PrimaryEndPoint.Port ReaderEndPoint.Address ReaderEndPoint.Port ConfigurationEndPoint.Address ConfigurationEndPoint.Port ReadEndPoint.Addresses ReadEndPoint.Ports",
		"AWS::Redshift::Cluster":                          "Endpoint.Address Endpoint.Port",
		"AWS::OpenSearchService::Domain":                  "DomainEndpoint Arn DomainArn Id",
		"AWS::Backup::BackupVault":                        "BackupVaultArn",
		"AWS::Backup::BackupPlan":                         "BackupPlanArn VersionId BackupPlanId",
		"AWS::Backup::BackupSelection":                    "SelectionId",
		"AWS::Pipes::Pipe":                                "Arn",
		"AWS::S3::AccessPoint":                            "Arn Alias NetworkOrigin",
		"AWS::ResourceGroups::Group":                      "Arn",
	} {
		typ, ok := schema.Lookup(typeName)
		if !ok {
			t.Errorf("%s has no schema", typeName)
			continue
		}
		// The model is what the schema has, but for what is said to follow from it.
		live := value.NewObject()
		for _, name := range typ.Attributes {
			if derived[typeName][name] == nil {
				put(live, strings.Split(name, "."), "arn:aws:s:r:1:kind/name/part")
			}
		}
		got := attributes(typ, live, strings.Repeat("part|", len(typ.PrimaryIdentifier)-1)+"arn:name:7", of(typeName, stack))
		for _, name := range strings.Fields(names) {
			if !slices.Contains(got.Keys(), name) {
				t.Errorf("%s has no attribute %s", typeName, name)
			}
		}
	}
	for typeName, want := range map[string]string{
		"AWS::S3::Bucket Arn":      "arn:aws:s3:::name",
		"AWS::ECR::Repository Arn": "arn:aws:ecr:eu-west-1:123456789012:repository/name",
		"AWS::Kinesis::Stream Arn": "arn:aws:kinesis:eu-west-1:123456789012:stream/name",
		"AWS::KMS::Key Arn":        "arn:aws:kms:eu-west-1:123456789012:key/name",
	} {
		typeName, name, _ := strings.Cut(typeName, " ")
		typ, _ := schema.Lookup(typeName)
		if got := attributes(typ, value.NewObject(), "name", of(typeName, stack)).String(name); got != want {
			t.Errorf("%s of %s is %q, want %q", name, typeName, got, want)
		}
	}
}

func of(typeName string, s provider.Stack) *provider.Request {
	return &provider.Request{Type: typeName, Stack: s}
}

func put(o *value.Object, path []string, v any) {
	for _, name := range path[:len(path)-1] {
		if o.Object(name) == nil {
			o.Set(name, value.NewObject())
		}
		o = o.Object(name)
	}
	o.Set(path[len(path)-1], v)
}

// A model that cannot be read leaves what the operation's answer told, and says what
// is missing.
func TestAttributesThatCannotBeRead(t *testing.T) { // (T-1030, T-1033)
	bubble(t, func(t *testing.T) {
		w := newWorld(t, 0)
		w.refuse = map[string]string{"GetResource": "AccessDeniedException"}
		w.statuses = []string{`"OperationStatus":"SUCCESS","Identifier":"w","ResourceModel":"{\"RepositoryName\":\"w\",\"Arn\":\"arn:told\"}"`}
		r := w.request(t, repository, `{"RepositoryName":"w"}`, "")
		var notices []string
		r.Notice = func(text string) { notices = append(notices, text) }
		made, err := New(Options{}).Create(t.Context(), r)
		if err != nil || made.Attributes.String("Arn") != "arn:told" {
			t.Errorf("%v, attributes %s", err, value.JSON(made.Attributes))
		}
		if len(notices) != 1 || !strings.Contains(notices[0], "its attributes RepositoryUri could not be read") || !strings.Contains(notices[0], "AccessDeniedException") {
			t.Errorf("notices: %q", notices)
		}
	})
}
