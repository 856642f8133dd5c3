package awssdk

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	logs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func logsOnce(s *provider.Session) *logs.Client { return provider.OnceClient(s, logs.NewFromConfig) }

var createLogStreamInput = provider.Bind[logs.CreateLogStreamInput]()

// A log stream is known by its group and its name.
func logStream() provider.Resource {
	k := composite{"LogGroupName", "LogStreamName"}
	return partOf(k, provider.Resource{
		Type:   "AWS::Logs::LogStream",
		Name:   "LogStreamName",
		Inputs: []provider.Input{createLogStreamInput},
		Create: k.made(provider.Call(logsOnce, (*logs.Client).CreateLogStream, createLogStreamInput)),
		Delete: provider.Call(logsClient, (*logs.Client).DeleteLogStream, provider.Bind[logs.DeleteLogStreamInput]()),
		Gone:   logsGone,
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
		Name:    "PolicyName",
		Inputs:  []provider.Input{putLogsPolicyInput},
		Updates: []provider.Input{putLogsPolicyInput},
		Create:  k.made(provider.Call(logsClient, (*logs.Client).PutResourcePolicy, putLogsPolicyInput)),
		Update:  updateBy(logsClient, (*logs.Client).PutResourcePolicy, putLogsPolicyInput),
		Delete:  provider.Call(logsClient, (*logs.Client).DeleteResourcePolicy, provider.Bind[logs.DeleteResourcePolicyInput]()),
		Gone:    logsGone,
		Lookup: func(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
			// Without a time of making: what is there was put at some time, and a put
			// would overwrite it.
			p, err := logsPolicy(ctx, r, r.Name)
			if p == nil || err != nil {
				return nil, err
			}
			return &provider.Holder{PhysicalID: r.Name}, nil
		},
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			p, err := logsPolicy(ctx, r, r.PhysicalID)
			if err != nil {
				return nil, err
			}
			if p == nil {
				return nil, provider.ErrNotFound
			}
			return value.NewObject("PolicyName", r.PhysicalID, "PolicyDocument", parsed(aws.ToString(p.PolicyDocument))), nil
		},
	})
}

// logsPolicy reads the policy of a name, nil when there is none. An account has a
// handful of them.
func logsPolicy(ctx context.Context, r *provider.Request, name string) (*types.ResourcePolicy, error) {
	in := &logs.DescribeResourcePoliciesInput{}
	for {
		page, err := logsClient(r.Session).DescribeResourcePolicies(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, p := range page.ResourcePolicies {
			if aws.ToString(p.PolicyName) == name {
				return &p, nil
			}
		}
		if in.NextToken = page.NextToken; in.NextToken == nil {
			return nil, nil
		}
	}
}
