package sandbox

import (
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/internal/sandbox/cloudformation"
)

// newCloudFormation joins CloudFormation to the rest of the sandbox.
func (s *Sandbox) newCloudFormation() *cloudformation.Server {
	o := cloudformation.Options{
		AccountID: s.account, Types: s.types, Exists: s.exists,
		Object: func(bucket, key string) ([]byte, bool) {
			o, ok := s.S3.Object(bucket, key)
			return o.Body, ok
		},
	}
	if s.kind == Moto {
		o.Upstream = func(ctx context.Context, region string, form url.Values) ([]byte, bool) {
			text := form.Encode()
			if form.Get("TemplateBody") != "" {
				if err := s.mirrorAll(ctx); err != nil {
					return []byte(err.Error()), false
				}
			}
			out, err := s.upstream.askForm(ctx, "cloudformation", region, []byte(text))
			if err != nil {
				return []byte(err.Error()), false
			}
			return out.body.Bytes(), out.status == http.StatusOK
		}
	}
	return cloudformation.New(o)
}

// stacks lets CloudFormation answer, or the upstream what only that can.
func (s *Sandbox) stacks(w http.ResponseWriter, c *call) {
	out, known, err := s.CloudFormation.Answer(c.http.Context(), c.Region, c.form)
	var refusal *cloudformation.Error
	switch {
	case !known:
		s.forward(w, c)
	case errors.As(err, &refusal):
		refuse(w, c, http.StatusBadRequest, refusal.Code, refusal.Message)
	case err != nil:
		refuse(w, c, http.StatusInternalServerError, "InternalFailure", err.Error())
	default:
		writeXML(w, stackAnswer{c.Action, out})
	}
}

// A stackAnswer is an answer of CloudFormation's: its elements are named for the
// action.
type stackAnswer struct {
	action string
	result any
}

// MarshalXML implements xml.Marshaler.
func (a stackAnswer) MarshalXML(e *xml.Encoder, _ xml.StartElement) error {
	outer := xml.StartElement{Name: xml.Name{Space: "http://cloudformation.amazonaws.com/doc/2010-05-15/", Local: a.action + "Response"}}
	if err := e.EncodeToken(outer); err != nil {
		return err
	}
	result := a.result
	if result == nil {
		result = struct{}{}
	}
	if err := e.EncodeElement(result, xml.StartElement{Name: xml.Name{Local: a.action + "Result"}}); err != nil {
		return err
	}
	return e.EncodeToken(outer.End())
}

// exists looks for a resource that is to be imported: among what Cloud Control
// made, in the bucket list, and for some types at the upstream. Of the other
// types every id is taken to exist.
func (s *Sandbox) exists(ctx context.Context, region, typ string, identifier map[string]string) bool {
	var id string
	if t, ok := s.types(typ); ok {
		var parts []string
		for _, key := range t.PrimaryIdentifier {
			parts = append(parts, identifier[key])
		}
		id = strings.Join(parts, "|")
	}
	if s.CloudControl.Resource(region, typ, id) != nil {
		return true
	}
	if typ == "AWS::S3::Bucket" {
		return slices.Contains(s.S3.Buckets(), id)
	}
	if s.upstream == nil {
		return false
	}
	if s.kind == Moto && descriptions[typ] != nil {
		return s.elsewhere(region, typ, id) != nil
	}
	config := s.upstreamConfig(region)
	var err error
	switch typ {
	case "AWS::SQS::Queue":
		_, err = sqs.NewFromConfig(config).GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &id})
	case "AWS::SNS::Topic":
		_, err = sns.NewFromConfig(config).GetTopicAttributes(ctx, &sns.GetTopicAttributesInput{TopicArn: &id})
	case "AWS::DynamoDB::Table":
		_, err = dynamodb.NewFromConfig(config).DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &id})
	case "AWS::IAM::Role":
		_, err = iam.NewFromConfig(config).GetRole(ctx, &iam.GetRoleInput{RoleName: &id})
	case "AWS::Logs::LogGroup":
		var out *cloudwatchlogs.DescribeLogGroupsOutput
		out, err = cloudwatchlogs.NewFromConfig(config).DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &id})
		return err == nil && len(out.LogGroups) > 0
	}
	return err == nil
}
