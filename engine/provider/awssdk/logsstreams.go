package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func logsOnce(s *provider.Session) *logs.Client { return provider.OnceClient(s, logs.NewFromConfig) }

var createLogStreamInput = provider.Bind[logs.CreateLogStreamInput]()

// A log stream is known by its group and its name.
func logStream() provider.Resource {
	k := composite{"LogGroupName", "LogStreamName"}
	return partOf(k, provider.Resource{
		Type:     "AWS::Logs::LogStream",
		GoesWith: []string{"LogGroupName"},
		Name:     "LogStreamName",
		Inputs:   []provider.Input{createLogStreamInput},
		Create:   k.made(provider.Call(logsOnce, (*logs.Client).CreateLogStream, createLogStreamInput)),
		Delete:   provider.Call(logsClient, (*logs.Client).DeleteLogStream, provider.Bind[logs.DeleteLogStreamInput]()),
		Gone:     logsGone,
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			group, name := text(r.Properties, "LogGroupName"), text(r.Properties, "LogStreamName")
			// Sorted by name, so that of those that begin with it the name itself is first.
			out, err := logsClient(r.Session).DescribeLogStreams(ctx, &logs.DescribeLogStreamsInput{LogGroupName: &group, LogStreamNamePrefix: &name, Limit: aws.Int32(1)})
			if err != nil {
				return nil, err
			}
			if len(out.LogStreams) == 0 || aws.ToString(out.LogStreams[0].LogStreamName) != name {
				return nil, provider.ErrNotFound
			}
			return value.NewObject("LogGroupName", group, "LogStreamName", name), nil
		},
	})
}

var putLogsPolicyInput = provider.Bind[logs.PutResourcePolicyInput]()

// A resource policy of the account's logs is known by its name. Each put is of
// the whole.
func logsResourcePolicy() provider.Resource {
	k := composite{"PolicyName"}
	return keyed(k, provider.Resource{
		Type:    "AWS::Logs::ResourcePolicy",
		PutOn:   []string{},
		Inputs:  []provider.Input{putLogsPolicyInput},
		Updates: []provider.Input{putLogsPolicyInput},
		Create:  k.made(provider.Call(logsClient, (*logs.Client).PutResourcePolicy, putLogsPolicyInput)),
		Update:  updateBy(logsClient, (*logs.Client).PutResourcePolicy, putLogsPolicyInput),
		Delete:  provider.Call(logsClient, (*logs.Client).DeleteResourcePolicy, provider.Bind[logs.DeleteResourcePolicyInput]()),
		Gone:    logsGone,
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			in := &logs.DescribeResourcePoliciesInput{}
			for {
				page, err := logsClient(r.Session).DescribeResourcePolicies(ctx, in)
				if err != nil {
					return nil, err
				}
				for _, p := range page.ResourcePolicies {
					if aws.ToString(p.PolicyName) == r.PhysicalID {
						return value.NewObject("PolicyName", r.PhysicalID, "PolicyDocument", parsed(aws.ToString(p.PolicyDocument))), nil
					}
				}
				if in.NextToken = page.NextToken; in.NextToken == nil {
					return nil, provider.ErrNotFound
				}
			}
		},
	})
}
