package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/org/cdkd-action/internal/sandbox"
)

// stackName is the stack of the wide app.
const stackName = "Wide"

// An app is a stack of resources that have nothing to do with each other, so
// that what a deploy of it costs is the engine's doing and not the app's.
type app struct {
	each    int // resources of each of the six types
	changed int // how many of the queues keep messages for longer
}

type object = map[string]any

func (app) stack() string { return stackName }

func (app) upstream() sandbox.Upstream { return sandbox.Kumo }

// write lays the app out as a cloud assembly.
func (a app) write(dir string) error {
	resources := object{}
	for _, kind := range kinds {
		for i := range a.each {
			id := fmt.Sprintf("%s%02d", kind.id, i+1)
			resources[id] = object{
				"Type": kind.typ, "Properties": kind.properties(a, i),
				"UpdateReplacePolicy": "Delete", "DeletionPolicy": "Delete",
				"Metadata": object{"aws:cdk:path": stackName + "/" + id + "/Resource"},
			}
		}
	}
	template := object{
		"Resources": resources,
		"Outputs": object{
			"QueueUrl":  object{"Value": object{"Ref": "Queue01"}},
			"TableArn":  object{"Value": object{"Fn::GetAtt": []any{"Table01", "Arn"}}},
			"BucketArn": object{"Value": object{"Fn::GetAtt": []any{"Bucket01", "Arn"}}},
		},
	}
	manifest := object{
		"version": "48.0.0",
		"artifacts": object{stackName: object{
			"type":        "aws:cloudformation:stack",
			"environment": "aws://unknown-account/unknown-region",
			"properties":  object{"templateFile": stackName + ".template.json"},
			"displayName": stackName,
		}},
	}
	files := map[string]string{}
	parts := object{"manifest.json": manifest, stackName + ".template.json": template}
	for name, v := range parts {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		files[name] = string(text)
	}
	return layOut(dir, files)
}

func layOut(dir string, files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("lay out the app: %w", err)
		}
	}
	return nil
}

var tags = []any{object{"Key": "service", "Value": "wide"}, object{"Key": "team", "Value": "platform"}}

// Every other resource says what apps usually say; the rest leave AWS's
// defaults.
var kinds = []struct {
	id, typ    string
	properties func(a app, i int) object
}{
	{"Bucket", "AWS::S3::Bucket", func(_ app, i int) object {
		if i%2 == 1 {
			return object{}
		}
		return object{
			"BucketEncryption": object{"ServerSideEncryptionConfiguration": []any{
				object{"ServerSideEncryptionByDefault": object{"SSEAlgorithm": "AES256"}},
			}},
			"PublicAccessBlockConfiguration": object{
				"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true,
			},
			"VersioningConfiguration": object{"Status": "Enabled"},
			"LifecycleConfiguration": object{"Rules": []any{
				object{"Id": "expire", "Status": "Enabled", "NoncurrentVersionExpiration": object{"NoncurrentDays": 30}},
			}},
			"Tags": tags,
		}
	}},
	{"Table", "AWS::DynamoDB::Table", func(_ app, i int) object {
		p := object{
			"AttributeDefinitions": []any{object{"AttributeName": "id", "AttributeType": "S"}},
			"KeySchema":            []any{object{"AttributeName": "id", "KeyType": "HASH"}},
			"BillingMode":          "PAY_PER_REQUEST",
		}
		if i%2 == 0 {
			p["TimeToLiveSpecification"] = object{"AttributeName": "expires", "Enabled": true}
			p["SSESpecification"] = object{"SSEEnabled": true}
			p["Tags"] = tags
		}
		return p
	}},
	{"Queue", "AWS::SQS::Queue", func(a app, i int) object {
		p := object{}
		if i%2 == 0 {
			p = object{"VisibilityTimeout": 60, "SqsManagedSseEnabled": true, "Tags": tags}
		}
		if i < a.changed {
			p["MessageRetentionPeriod"] = 1_209_600
		}
		return p
	}},
	{"Topic", "AWS::SNS::Topic", func(_ app, i int) object {
		if i%2 == 1 {
			return object{}
		}
		return object{"DisplayName": fmt.Sprintf("Events %d", i), "KmsMasterKeyId": "alias/aws/sns", "Tags": tags}
	}},
	{"Parameter", "AWS::SSM::Parameter", func(_ app, i int) object {
		p := object{"Type": "String", "Value": fmt.Sprintf("value %d", i)}
		if i%2 == 0 {
			p["Description"], p["Tags"] = "read by the service at its start", object{"service": "wide"}
		}
		return p
	}},
	{"Logs", "AWS::Logs::LogGroup", func(_ app, i int) object {
		if i%2 == 1 {
			return object{}
		}
		return object{"RetentionInDays": 30, "Tags": tags}
	}},
}
