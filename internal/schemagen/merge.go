package main

import (
	"slices"
	"strings"

	"github.com/org/cdkd-action/internal/schemafile"
)

func merge(lint map[string]*schemafile.Registry, spec map[string]*specType) map[string]*schemafile.Type {
	types := map[string]*schemafile.Type{}
	for name, l := range lint {
		types[name] = lintShape(name, l)
	}
	for name, s := range spec {
		t := types[name]
		if t == nil {
			t = s.convert()
			types[name] = t
		}
		if t.TagProperty == "" && lint[name] != nil && lint[name].Tagging == nil && s.Tags != nil && t.Properties[s.Tags.Property] != nil {
			t.TagProperty = s.Tags.Property
		}
		if len(s.RefIdentifier) > 0 && !slices.Equal(s.RefIdentifier, t.PrimaryIdentifier) {
			t.Ref = s.RefIdentifier
		}
		for attribute := range s.Attributes {
			if !slices.Contains(t.ReadOnly, strings.ReplaceAll(attribute, ".", "/")) {
				t.Attributes = append(t.Attributes, attribute)
			}
		}
		t.Attributes = schemafile.Sorted(t.Attributes)
	}
	for name, t := range types {
		t.NotProvisionable = !provisionable(name, lint[name], t)
	}
	return types
}

// refused are types that have a full schema in the registry, or none of the
// marks below, and that Cloud Control does not manage or must not: the engine
// has a provider of its own for most of them.
var refused = []string{
	"AWS::AmazonMQ::ConfigurationAssociation",
	"AWS::CDK::Metadata",
	"AWS::CloudFormation::CustomResource",
	"AWS::CloudFormation::Stack",
	"AWS::CloudFormation::WaitCondition",
	"AWS::CloudFormation::WaitConditionHandle",
	"AWS::CodeDeploy::DeploymentGroup",
	"AWS::ElastiCache::CacheCluster",
	"AWS::IAM::Group",
	"AWS::IAM::InstanceProfile",
	"AWS::IAM::Policy",
	"AWS::IAM::Role",
	"AWS::IAM::User",
	"AWS::Lambda::LayerVersion",
	"AWS::Route53::HostedZone",
	"AWS::S3::BucketPolicy",
}

// provisionable tells whether Cloud Control can manage a type. The registry
// answers that in DescribeType (ProvisioningType), which neither source has,
// but types from before the registry can be told: their schemas were derived
// from the documentation, have a made-up read-only "Id" as identifier, and
// neither a source nor a word on tagging. A type that was migrated since the
// sources were made is taken for one that cannot be managed, and one whose old
// schema was later edited by hand for one that can; the first refuses a
// resource that might have worked, the second leaves the refusal to AWS.
func provisionable(name string, l *schemafile.Registry, t *schemafile.Type) bool {
	switch {
	case !strings.HasPrefix(name, "AWS::"), strings.HasPrefix(name, "AWS::Serverless::"):
		return false
	case slices.Contains(refused, name), len(t.PrimaryIdentifier) == 0:
		return false
	case l != nil:
		return l.SourceURL != "" || l.Tagging != nil || !slices.Equal(t.PrimaryIdentifier, []string{"Id"})
	}
	return true
}
