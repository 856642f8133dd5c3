// Package attribute says what Ref and Fn::GetAtt give for a resource that is
// recorded, as far as that can be told without asking AWS.
//
// What a provider recorded comes first. What was not recorded is put together
// from the physical id only where AWS documents that form, so that it is never
// a guess; anything else is left to who can read the resource.
package attribute

import (
	"slices"
	"strings"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// A Row is a recorded resource and where it is.
type Row struct {
	Type, PhysicalID       string
	Properties, Attributes *value.Object
	AccountID, Region      string
}

// Get answers Fn::GetAtt. ok is false when only AWS can tell.
func (r Row) Get(name string) (v any, ok bool) {
	if r.Type == "AWS::EC2::VPC" && name == "Ipv6CidrBlocks" {
		return nil, false // blocks are associated after the VPC is made
	}
	if v, ok := r.recorded(name); ok {
		return v, true
	}
	if text, ok := r.made(name); ok {
		return text, true
	}
	return nil, false
}

// Secret tells whether AWS gives out a secret by an attribute, which is read
// whenever it is needed, and never recorded.
func Secret(typ, name string) bool {
	return typ == "AWS::Cognito::UserPoolClient" && name == "ClientSecret"
}

// recorded looks the name up as it is, then as a path into nested objects.
func (r Row) recorded(name string) (any, bool) {
	v, ok := r.Attributes.Get(name)
	if !ok {
		o := r.Attributes
		parts := strings.Split(name, ".")
		for _, part := range parts[:len(parts)-1] {
			o = o.Object(part)
		}
		v, ok = o.Get(parts[len(parts)-1])
	}
	if !ok || v == nil || placeholderARN(v) {
		return nil, false
	}
	if text, isText := v.(string); isText && r.Type == "AWS::Route53::HostedZone" && name == "NameServers" {
		var list []any
		for server := range strings.SplitSeq(text, ",") {
			list = append(list, strings.TrimSpace(server))
		}
		return list, true
	}
	return v, true
}

// placeholderARN tells whether v is an ARN with * for the region or the
// account, which some records hold in place of one that was not known.
func placeholderARN(v any) bool {
	text, _ := v.(string)
	parts := strings.SplitN(text, ":", 6)
	return len(parts) == 6 && parts[0] == "arn" && (parts[3] == "*" || parts[4] == "*")
}

// Ref answers Ref.
func (r Row) Ref() string {
	id := r.PhysicalID
	switch cut[r.Type] {
	case afterLast:
		return id[strings.LastIndexByte(id, '|')+1:]
	case beforeFirst:
		first, _, _ := strings.Cut(id, "|")
		return first
	}
	switch r.Type {
	case "AWS::S3Tables::Table":
		if strings.Contains(id, "|") {
			return id[strings.LastIndexByte(id, '|')+1:]
		}
		return r.firstRecorded(id, "TableName", "Name")
	case "AWS::Events::Rule":
		if _, rule, ok := strings.Cut(id, ":rule/"); ok && isARN(id) {
			return strings.ReplaceAll(rule, "/", "|")
		}
	case "AWS::CloudTrail::Trail":
		if _, trail, ok := strings.Cut(id, ":trail/"); ok && isARN(id) {
			return trail
		}
	case "AWS::Route53::RecordSet":
		if parts := strings.Split(id, "|"); len(parts) == 3 {
			return parts[1]
		}
	case "AWS::AppSync::ApiKey":
		return r.firstRecorded(id, "Arn")
	case "AWS::AppSync::DataSource":
		return r.firstRecorded(id, "DataSourceArn")
	case "AWS::AppSync::Resolver":
		return r.firstRecorded(id, "ResolverArn")
	case "AWS::Backup::BackupSelection":
		return r.firstRecorded(id, "SelectionId")
	case "AWS::CodeCommit::Repository":
		return r.firstRecorded(id, "RepositoryId")
	case "AWS::WAFv2::WebACL":
		// arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/name/id
		if parts := strings.Split(id, "/"); len(parts) == 4 && isARN(id) && parts[1] == "webacl" {
			scope := "REGIONAL"
			if strings.HasSuffix(parts[0], ":global") {
				scope = "CLOUDFRONT"
			}
			return parts[2] + "|" + parts[3] + "|" + scope
		}
	default:
		return r.refBySchema()
	}
	return id
}

// refBySchema answers Ref for the types whose schema says that it is not the
// identifier: a part of it, or a property beside it.
func (r Row) refBySchema() string {
	t, ok := schema.Lookup(r.Type)
	if !ok || len(t.RefIdentifier) != 1 || slices.Equal(t.RefIdentifier, t.PrimaryIdentifier) {
		return r.PhysicalID
	}
	parts := strings.Split(r.PhysicalID, "|")
	i := slices.Index(t.PrimaryIdentifier, t.RefIdentifier[0])
	if i >= 0 && len(parts) == len(t.PrimaryIdentifier) {
		return parts[i]
	}
	return r.firstRecorded(r.PhysicalID, t.RefIdentifier[0])
}

func (r Row) firstRecorded(otherwise string, names ...string) string {
	for _, from := range []*value.Object{r.Attributes, r.Properties} {
		for _, name := range names {
			if text := from.String(name); text != "" && !placeholderARN(text) {
				return text
			}
		}
	}
	return otherwise
}

func isARN(id string) bool { return strings.HasPrefix(id, "arn:") }

// A cutting is which part of an id with bars is the Ref.
type cutting int

const (
	afterLast cutting = iota + 1
	beforeFirst
)

var cut = map[string]cutting{
	"AWS::ApiGateway::Model":                     afterLast,
	"AWS::ApiGateway::RequestValidator":          afterLast,
	"AWS::ApiGateway::Stage":                     afterLast,
	"AWS::ApiGateway::Resource":                  afterLast,
	"AWS::ApiGateway::Authorizer":                afterLast,
	"AWS::ApiGatewayV2::Stage":                   afterLast,
	"AWS::ApiGatewayV2::Route":                   afterLast,
	"AWS::ApiGatewayV2::Integration":             afterLast,
	"AWS::ApiGatewayV2::Model":                   afterLast,
	"AWS::ApiGatewayV2::Deployment":              afterLast,
	"AWS::ApiGatewayV2::RouteResponse":           afterLast,
	"AWS::ApiGatewayV2::IntegrationResponse":     afterLast,
	"AWS::Cognito::UserPoolClient":               afterLast,
	"AWS::Cognito::UserPoolResourceServer":       afterLast,
	"AWS::Cognito::UserPoolGroup":                afterLast,
	"AWS::Cognito::UserPoolIdentityProvider":     afterLast,
	"AWS::Cognito::UserPoolDomain":               afterLast,
	"AWS::Cognito::UserPoolUser":                 afterLast,
	"AWS::AppConfig::Environment":                afterLast,
	"AWS::AppConfig::ConfigurationProfile":       afterLast,
	"AWS::AppConfig::HostedConfigurationVersion": afterLast,
	"AWS::AppConfig::Deployment":                 afterLast,
	"AWS::S3Tables::Namespace":                   afterLast,
	"AWS::Glue::Table":                           afterLast,

	"AWS::EC2::EIP":                      beforeFirst,
	"AWS::ApiGateway::Deployment":        beforeFirst,
	"AWS::ApiGateway::DocumentationPart": beforeFirst,
	"AWS::ApiGatewayV2::Authorizer":      beforeFirst,
	"AWS::ApiGatewayV2::ApiMapping":      beforeFirst,
	"AWS::ECS::Service":                  beforeFirst,
}
