package provider_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
)

// A type is what is special about it: which calls there are, and where a
// property is not called what the SDK calls it.
func ExampleResource() {
	client := func(s *provider.Session) *sqs.Client { return provider.Client(s, sqs.NewFromConfig) }
	create := provider.Bind[sqs.CreateQueueInput](provider.Bag("Attributes", "DelaySeconds", "RedrivePolicy"))

	queue := provider.Resource{
		Type:   "AWS::SQS::Queue",
		Name:   "QueueName",
		Inputs: []provider.Input{create},
		Tags:   provider.Tags{Property: "Tags", AtCreate: true},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, client, (*sqs.Client).CreateQueue, create)
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: aws.ToString(out.QueueUrl)}, nil
		},
		Delete: provider.Call(client, (*sqs.Client).DeleteQueue, provider.Bind[sqs.DeleteQueueInput](provider.ID("QueueUrl"), provider.Only())),
		Gone:   []string{"AWS.SimpleQueueService.NonExistentQueue"},
	}

	// What the description handles is computed from it.
	typ, _ := schema.Lookup(queue.Type)
	fmt.Println(queue.Coverage(typ).Handled)
	// Output: [DelaySeconds QueueName RedrivePolicy Tags]
}
