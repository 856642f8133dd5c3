package awssdk

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

func sqsClient(s *provider.Session) *sqs.Client { return provider.Client(s, sqs.NewFromConfig) }

func sqsResources() []provider.Resource { return []provider.Resource{queue(), queuePolicy()} }

// Both names are in use: the query protocol's and the newer one's.
var queueGone = []string{"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"}

// queueAttributes are properties here and entries of a map of strings in the
// API, all but FifoQueue changeable.
var queueAttributes = []string{
	"ContentBasedDeduplication", "DeduplicationScope", "DelaySeconds", "FifoThroughputLimit",
	"KmsDataKeyReusePeriodSeconds", "KmsMasterKeyId", "MaximumMessageSize", "MessageRetentionPeriod",
	"ReceiveMessageWaitTimeSeconds", "RedriveAllowPolicy", "RedrivePolicy", "SqsManagedSseEnabled", "VisibilityTimeout",
}

var (
	createQueueInput = provider.Bind[sqs.CreateQueueInput](
		provider.Bag("Attributes", append(slices.Clone(queueAttributes), "FifoQueue")...),
		provider.Finish(func(r *provider.Request, in *sqs.CreateQueueInput) error {
			if in.Attributes["FifoQueue"] == "false" {
				delete(in.Attributes, "FifoQueue") // refused on a standard queue
			}
			return nil
		}))

	setQueueInput = provider.Bind[sqs.SetQueueAttributesInput](
		provider.ID("QueueUrl"),
		provider.Bag("Attributes", queueAttributes...),
		provider.Clear{
			"ContentBasedDeduplication":     "false",
			"DeduplicationScope":            "queue",
			"DelaySeconds":                  "0",
			"FifoThroughputLimit":           "perQueue",
			"KmsDataKeyReusePeriodSeconds":  "300",
			"KmsMasterKeyId":                "",
			"MaximumMessageSize":            "1048576",
			"MessageRetentionPeriod":        "345600",
			"ReceiveMessageWaitTimeSeconds": "0",
			"RedriveAllowPolicy":            "",
			"RedrivePolicy":                 "",
			"SqsManagedSseEnabled":          "true",
			"VisibilityTimeout":             "30",
		},
		provider.Finish(func(r *provider.Request, in *sqs.SetQueueAttributesInput) error {
			// A queue has one kind of encryption: with a key there is no default to
			// go back to.
			if in.Attributes["KmsMasterKeyId"] != "" && !r.Properties.Has("SqsManagedSseEnabled") {
				delete(in.Attributes, "SqsManagedSseEnabled")
			}
			return nil
		}))
)

// A queue is known by its URL. CreateQueue hands back a queue that has the name
// and the same attributes.
func queue() provider.Resource {
	return provider.Resource{
		Type:    "AWS::SQS::Queue",
		Name:    "QueueName",
		Inputs:  []provider.Input{createQueueInput},
		Updates: []provider.Input{setQueueInput},
		Tags: provider.Tags{
			Property: "Tags", AtCreate: true,
			Add: func(ctx context.Context, r *provider.Request, tags map[string]string) error {
				_, err := sqsClient(r.Session).TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: &r.PhysicalID, Tags: tags})
				return err
			},
			Remove: func(ctx context.Context, r *provider.Request, keys []string) error {
				_, err := sqsClient(r.Session).UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: &r.PhysicalID, TagKeys: keys})
				return err
			},
		},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			out, err := provider.Invoke(ctx, r, sqsClient, (*sqs.Client).CreateQueue, createQueueInput)
			if provider.HasCode(err, "QueueNameExists", "QueueAlreadyExists") {
				return takeQueueBack(ctx, r, err)
			}
			if err != nil {
				return provider.Created{}, err
			}
			return provider.Created{PhysicalID: *out.QueueUrl}, nil
		},
		Update: updateBy(sqsClient, (*sqs.Client).SetQueueAttributes, setQueueInput),
		Delete: func(ctx context.Context, r *provider.Request) error {
			_, err := sqsClient(r.Session).DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &r.PhysicalID})
			return err
		},
		Gone:   queueGone,
		Read:   readQueue,
		Lookup: lookupQueue,
		Known: func(r *provider.Request) *value.Object {
			name := r.Name
			if r.PhysicalID != "" {
				name = lastSegment(r.PhysicalID, "/")
			}
			known := value.NewObject("Arn", arn(r, "sqs", name), "QueueName", name)
			if r.PhysicalID != "" {
				known.Set("QueueUrl", r.PhysicalID)
			}
			return known
		},
	}
}

// takeQueueBack brings a queue that was kept to the attributes wanted now.
func takeQueueBack(ctx context.Context, r *provider.Request, refusal error) (provider.Created, error) {
	named := *r
	named.Name = text(r.Properties, "QueueName")
	h, err := lookupQueue(ctx, &named)
	if err != nil || !takenBack(r, h) {
		return provider.Created{}, refusal
	}
	kept := asExisting(r, h.PhysicalID)
	in, err := setQueueInput.Input(kept)
	if err != nil {
		return provider.Created{}, err
	}
	if len(in.Attributes) > 0 {
		if _, err := sqsClient(r.Session).SetQueueAttributes(ctx, in); err != nil {
			return provider.Created{}, err
		}
	}
	if tags := tagsOfFound(r); len(tags) > 0 {
		if _, err := sqsClient(r.Session).TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: &h.PhysicalID, Tags: tags}); err != nil {
			return provider.Created{}, err
		}
	}
	return provider.Created{PhysicalID: h.PhysicalID}, nil
}

func queueAttributesOf(ctx context.Context, r *provider.Request, url string) (map[string]string, error) {
	out, err := sqsClient(r.Session).GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

func readQueue(ctx context.Context, r *provider.Request) (*value.Object, error) {
	attributes, err := queueAttributesOf(ctx, r, r.PhysicalID)
	if provider.HasCode(err, queueGone...) {
		return nil, provider.ErrNotFound
	} else if err != nil {
		return nil, err
	}
	props := value.NewObject("QueueName", lastSegment(r.PhysicalID, "/"))
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		v := attributes[name]
		switch {
		case name != "FifoQueue" && !slices.Contains(queueAttributes, name):
		case strings.HasSuffix(name, "Policy"):
			props.Set(name, parsed(v))
		case v == "true" || v == "false":
			props.Set(name, v == "true")
		default:
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				props.Set(name, value.Int(n))
			} else {
				props.Set(name, v)
			}
		}
	}
	out, err := sqsClient(r.Session).ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &r.PhysicalID})
	if err != nil {
		return nil, err
	}
	if tags := tagList(out.Tags); len(tags) > 0 {
		props.Set("Tags", tags)
	}
	return props, nil
}

// lookupQueue tells who has the name. The time of creation and the tags are
// evidence only: an identity that may not read them still learns of the queue.
func lookupQueue(ctx context.Context, r *provider.Request) (*provider.Holder, error) {
	out, err := sqsClient(r.Session).GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &r.Name})
	if provider.HasCode(err, queueGone...) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	h := &provider.Holder{PhysicalID: *out.QueueUrl}
	attributes, err := queueAttributesOf(ctx, r, *out.QueueUrl)
	if provider.HasCode(err, queueGone...) {
		return nil, nil
	}
	if s, err := strconv.ParseFloat(attributes["CreatedTimestamp"], 64); err == nil {
		h.Created = time.Unix(int64(s), 0)
	}
	tags, err := sqsClient(r.Session).ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: out.QueueUrl})
	if err != nil {
		return withTags(h, nil, err)
	}
	return withTags(h, read(tags.Tags), nil)
}

// A queue policy is an attribute of the queues it names, and is known by the
// first of them.
func queuePolicy() provider.Resource {
	set := func(ctx context.Context, r *provider.Request, urls []string, policy string) error {
		return forEach(ctx, urls, func(ctx context.Context, url string) error {
			_, err := sqsClient(r.Session).SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
				QueueUrl: &url, Attributes: map[string]string{"Policy": policy},
			})
			return err
		})
	}
	// clear takes the policy from queues, those that are gone included.
	clear := func(ctx context.Context, r *provider.Request, urls []string) error {
		return forEach(ctx, urls, func(ctx context.Context, url string) error {
			if err := set(ctx, r, []string{url}, ""); !provider.HasCode(err, queueGone...) {
				return err
			}
			return nil
		})
	}
	return provider.Resource{
		Type:  "AWS::SQS::QueuePolicy",
		PutOn: []string{"Queues"},
		Satellites: []provider.Satellite{{
			Properties: []string{"Queues", "PolicyDocument"},
			Put: func(ctx context.Context, r *provider.Request) error {
				urls := texts(r.Properties, "Queues")
				if err := set(ctx, r, urls, document(r.Properties, "PolicyDocument")); err != nil {
					return err
				}
				return clear(ctx, r, less(texts(r.Previous, "Queues"), urls))
			},
		}},
		Create: func(ctx context.Context, r *provider.Request) (provider.Created, error) {
			urls := texts(r.Properties, "Queues")
			if len(urls) == 0 {
				return provider.Created{}, errEmpty("Queues")
			}
			return provider.Created{PhysicalID: urls[0]}, nil
		},
		Delete: func(ctx context.Context, r *provider.Request) error {
			urls := texts(r.Properties, "Queues")
			if len(urls) == 0 {
				urls = []string{r.PhysicalID}
			}
			return clear(ctx, r, urls)
		},
		Gone: queueGone,
		Adopt: adoptedBy(func(r *provider.Request) string {
			if urls := texts(r.Properties, "Queues"); len(urls) > 0 {
				return urls[0]
			}
			return ""
		}),
		Read: func(ctx context.Context, r *provider.Request) (*value.Object, error) {
			attributes, err := queueAttributesOf(ctx, r, r.PhysicalID)
			if provider.HasCode(err, queueGone...) || err == nil && attributes["Policy"] == "" {
				return nil, provider.ErrNotFound
			} else if err != nil {
				return nil, err
			}
			queues := texts(r.Properties, "Queues")
			if len(queues) == 0 {
				queues = []string{r.PhysicalID}
			}
			return value.NewObject("PolicyDocument", parsed(attributes["Policy"]), "Queues", list(queues)), nil
		},
		Known: func(r *provider.Request) *value.Object {
			if r.PhysicalID == "" {
				return nil
			}
			return value.NewObject("Id", r.PhysicalID)
		},
	}
}
