package awssdk

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

var flowLogGone = []string{"InvalidFlowLogId.NotFound"}

var createFlowLogInput = bindTagged[ec2.CreateFlowLogsInput](types.ResourceTypeVpcFlowLog, provider.Token("ClientToken"),
	provider.Rename{"ResourceId": "ResourceIds"},
	provider.Custom("ResourceId", func(v any) ([]string, error) {
		id, _ := value.Text(v)
		return []string{id}, nil
	}))

// A flow log's calls take many at once, and answer with the faults of each.
// Nothing but its tags can be changed.
func flowLog() provider.Resource {
	return provider.Resource{
		Type:   "AWS::EC2::FlowLog",
		Inputs: []provider.Input{createFlowLogInput},
		Tags:   taggable(physicalID),
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, ec2Client, (*ec2.Client).CreateFlowLogs, createFlowLogInput)
			if err != nil {
				return provider.Created{}, err
			}
			if len(out.FlowLogIds) == 0 {
				return provider.Created{}, unsuccessful(out.Unsuccessful)
			}
			return provider.Created{PhysicalID: out.FlowLogIds[0]}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			out, err := ec2Client(r.Session).DeleteFlowLogs(ctx, &ec2.DeleteFlowLogsInput{FlowLogIds: []string{r.PhysicalID}})
			if err != nil {
				return err
			}
			return unsuccessful(out.Unsuccessful)
		},
		Gone:  flowLogGone,
		Find:  byTag(findTagged),
		Known: idAs("Id"),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			out, err := ec2Client(r.Session).DescribeFlowLogs(ctx, &ec2.DescribeFlowLogsInput{FlowLogIds: []string{r.PhysicalID}})
			if err != nil {
				_, err = described[types.FlowLog](nil, err, flowLogGone)
				return nil, err
			}
			l, err := described(out.FlowLogs, nil, flowLogGone)
			if err != nil {
				return nil, err
			}
			props := shaped(r.Type, l, l.Tags)
			if kind := flowLogSource(aws.ToString(l.ResourceId)); kind != "" {
				props.Set("ResourceType", kind)
			}
			return props, nil
		},
	}
}

// flowLogSource is the kind of a resource by its id, which is all that a read
// tells.
func flowLogSource(id string) string {
	for prefix, kind := range map[string]string{
		"vpc-": "VPC", "subnet-": "Subnet", "eni-": "NetworkInterface", "tgw-attach-": "TransitGatewayAttachment",
	} {
		if strings.HasPrefix(id, prefix) {
			return kind
		}
	}
	if strings.HasPrefix(id, "tgw-") {
		return "TransitGateway"
	}
	return ""
}
