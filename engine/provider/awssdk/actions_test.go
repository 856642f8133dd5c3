package awssdk

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
)

// demanded returns the IAM actions since the last time.
func (rec *recorder) demanded() []string {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	seen := slices.Sorted(maps.Keys(rec.seen))
	rec.seen = map[string]bool{}
	return seen
}

// asked returns what a type was seen to ask for since the last time that this was
// asked, and then what its looks and its delete alone ask for.
func asked(t *testing.T, rec *recorder, r provider.Resource, typ *schema.Type) Actions {
	t.Helper()
	s := samples(r, typ, peculiarities[r.Type])[0].sample()
	request := &provider.Request{
		Session: rec.session(), Stack: stack, LogicalID: "Res", Type: r.Type, Name: "made", NameProperty: r.Name,
		Token: "token", Properties: s.props,
	}
	d := provider.Drive(r, nil)
	rec.take()
	made, err := d.Create(t.Context(), request)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	request.PhysicalID, request.Attributes = made.PhysicalID, made.Attributes
	// What these answer does not matter here: an invented answer can be none.
	if r.Find != nil {
		_, _ = r.Find(t.Context(), request)
	}
	if r.Read != nil {
		_, _ = r.Read(t.Context(), request)
	}
	if r.Attributes != nil {
		_, _ = r.Attributes(t.Context(), request)
	}
	a := Actions{Deploy: rec.demanded()}
	if r.Lookup != nil {
		_, _ = r.Lookup(t.Context(), request)
	}
	if r.Lookups != nil {
		_, _ = r.Lookups(t.Context(), []*provider.Request{request})
	}
	a.Plan = rec.demanded()
	rec.take()
	if r.Unprotect != nil {
		_ = r.Unprotect(t.Context(), request)
	}
	if r.FinalSnapshot {
		request.FinalSnapshot = "snapshot"
	}
	if _, err := d.Delete(t.Context(), request); err != nil {
		t.Errorf("delete: %v", err)
	}
	a.Destroy = rec.demanded()
	rec.take()
	a.Deploy = slices.Concat(a.Deploy, a.Plan, a.Destroy)
	return a
}

// iamActions are the actions that a request is checked for. They are called as
// the operation is and, in front, as the service signs, but for those here:
// https://docs.aws.amazon.com/service-authorization/latest/reference/
func iamActions(operation string, req *http.Request) []string {
	scope := strings.Split(req.Header.Get("Authorization"), "/")
	if len(scope) < 4 {
		return nil
	}
	return actionsOf(scope[3], lastSegment(operation, " "), req.Method)
}

func actionsOf(service, name, method string) []string {
	if to, ok := prefixes[service]; ok {
		service = to
	}
	switch {
	case service == "apigateway":
		return []string{"apigateway:" + method}
	case service == "s3":
		if m := configuration.FindStringSubmatch(name); m != nil {
			name = map[string]string{"List": "Get", "Delete": "Put"}[m[1]]
			if name == "" {
				name = m[1]
			}
			name += m[2] + "Configuration"
		}
	}
	if others, ok := renamed[service+":"+name]; ok {
		return others
	}
	return []string{service + ":" + name}
}

// prefixes are those of services that sign, or whose package is called, otherwise.
var prefixes = map[string]string{
	"monitoring": "cloudwatch", "cloudcontrolapi": "cloudformation", "tagging": "tag", "cloudwatchlogs": "logs", "eventbridge": "events",
	"sfn": "states", "elasticloadbalancingv2": "elasticloadbalancing", "cognitoidentityprovider": "cognito-idp", "apigatewayv2": "apigateway",
	"efs": "elasticfilesystem", "applicationautoscaling": "application-autoscaling",
}

var configuration = regexp.MustCompile(`^(Put|Get|List|Delete)Bucket(Lifecycle|Replication|Accelerate|Analytics|Inventory|Metrics|IntelligentTiering|Encryption)(?:Configurations?)?$`)

var renamed = map[string][]string{
	"s3:HeadBucket": {"s3:ListBucket"}, "s3:ListObjects": {"s3:ListBucket"}, "s3:ListObjectsV2": {"s3:ListBucket"},
	"s3:ListObjectVersions": {"s3:ListBucketVersions"}, "s3:HeadObject": {"s3:GetObject"},
	"s3:DeleteObjects": {"s3:DeleteObject", "s3:DeleteObjectVersion"},
	"s3:GetBucketCors": {"s3:GetBucketCORS"}, "s3:PutBucketCors": {"s3:PutBucketCORS"}, "s3:DeleteBucketCors": {"s3:PutBucketCORS"},
	"s3:GetBucketNotificationConfiguration": {"s3:GetBucketNotification"}, "s3:PutBucketNotificationConfiguration": {"s3:PutBucketNotification"},
	"s3:GetObjectLockConfiguration": {"s3:GetBucketObjectLockConfiguration"}, "s3:PutObjectLockConfiguration": {"s3:PutBucketObjectLockConfiguration"},
	"s3:GetPublicAccessBlock": {"s3:GetBucketPublicAccessBlock"}, "s3:PutPublicAccessBlock": {"s3:PutBucketPublicAccessBlock"}, "s3:DeletePublicAccessBlock": {"s3:PutBucketPublicAccessBlock"},
	"s3:DeleteBucketOwnershipControls": {"s3:PutBucketOwnershipControls"}, "s3:DeleteBucketTagging": {"s3:PutBucketTagging"},
	"s3:CreateBucketMetadataConfiguration":  {"s3:CreateBucketMetadataTableConfiguration"},
	"s3:GetBucketMetadataConfiguration":     {"s3:GetBucketMetadataTableConfiguration"},
	"s3:DeleteBucketMetadataConfiguration":  {"s3:DeleteBucketMetadataTableConfiguration"},
	"cloudfront:CreateDistributionWithTags": {"cloudfront:CreateDistribution", "cloudfront:TagResource"},
	"lambda:Invoke":                         {"lambda:InvokeFunction"}, "lambda:GetLayerVersionByArn": {"lambda:GetLayerVersion"},
}
