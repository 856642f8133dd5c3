// Package awssdk describes the resource types that are provisioned by direct
// calls of the AWS SDK, one file a service.
//
// A description holds what is special about its type and no control flow that
// two types share: names, tags, retries, waits and coverage are the driver's.
// Physical ids are those that the state format has always held for the type.
// Calls are plain method calls or method expressions, so that the linker keeps
// only the operations used.
package awssdk

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/sync/errgroup"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/value"
)

// Resources returns every type described here.
func Resources() []provider.Resource {
	return slices.Concat(
		sqsResources(),
		snsResources(),
		iamResources(),
		lambdaResources(),
		s3Resources(),
		dynamodbResources(),
		logsResources(),
		ssmResources(),
		eventsResources(),
		stepFunctionsResources(),
		cloudwatchResources(),
		secretsManagerResources(),
		kmsResources(),
		ec2Resources(),
		route53Resources(),
		apiGatewayResources(),
		apiGatewayV2Resources(),
		elbv2Resources(),
		ecsResources(),
		cloudFrontResources(),
		cognitoResources(),
		kinesisResources(),
		firehoseResources(),
		ecrResources(),
		codeBuildResources(),
		autoScalingResources(),
		rdsResources(),
		schedulerResources(),
		glueResources(),
		cloudTrailResources(),
		appSyncResources(),
		efsResources(),
		elastiCacheResources(),
		acmResources(),
		cloudMapResources(),
		wafResources(),
	)
}

// callsAtOnce bounds the calls that one resource makes side by side.
const callsAtOnce = 8

// forEach calls do for every element, several at once, and returns the first
// error when all have ended: a call on its way is not cut off because a sister
// failed.
func forEach[T any](ctx context.Context, list []T, do func(context.Context, T) error) error {
	var g errgroup.Group
	g.SetLimit(callsAtOnce)
	for _, e := range list {
		g.Go(func() error { return routine.Try(func() error { return do(ctx, e) }) })
	}
	return g.Wait()
}

// arn builds the ARN of a resource in the stack's region and account.
func arn(r *provider.Request, service, resource string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", r.Stack.Partition, service, r.Stack.Region, r.Stack.AccountID, resource)
}

// names are those that the requests ask about.
func names(rs []*provider.Request) []string {
	var all []string
	for _, r := range rs {
		all = append(all, r.Name)
	}
	return all
}

// globalARN is arn for services without regions.
func globalARN(r *provider.Request, service, resource string) string {
	return fmt.Sprintf("arn:%s:%s::%s:%s", r.Stack.Partition, service, r.Stack.AccountID, resource)
}

// urlSuffix is the domain of the stack's partition.
func urlSuffix(r *provider.Request) string {
	switch r.Stack.Partition {
	case "aws-cn":
		return "amazonaws.com.cn"
	case "aws-iso":
		return "c2s.ic.gov"
	case "aws-iso-b":
		return "sc2s.sgov.gov"
	case "aws-iso-e":
		return "cloud.adc-e.uk"
	case "aws-iso-f":
		return "csp.hci.ic.gov"
	case "aws-eusc":
		return "amazonaws.eu"
	}
	return "amazonaws.com"
}

// byID is the input of a call that takes the physical id and nothing else.
func byID[In any](members ...string) *provider.Binding[In] {
	return provider.Bind[In](provider.Only(), provider.ID(members...))
}

// createBy is the Create of a type that one call makes, whose answer has its id.
func createBy[C, In, Out, O any](client func(*provider.Session) *C, op provider.Operation[C, In, Out, O], in *provider.Binding[In], id func(*Out) *string) func(context.Context, *provider.Request) (provider.Created, error) {
	return func(ctx context.Context, r *provider.Request) (provider.Created, error) {
		out, err := provider.Invoke(ctx, r, client, op, in)
		if err != nil {
			return provider.Created{}, err
		}
		return provider.Created{PhysicalID: aws.ToString(id(out))}, nil
	}
}

// updateBy is the Update of a type that one call changes.
func updateBy[C, In, Out, O any](client func(*provider.Session) *C, op provider.Operation[C, In, Out, O], in *provider.Binding[In]) func(context.Context, *provider.Request, provider.Diff) (provider.Updated, error) {
	return func(ctx context.Context, r *provider.Request, d provider.Diff) (provider.Updated, error) {
		_, err := provider.Invoke(ctx, r, client, op, in)
		return provider.Updated{}, err
	}
}

// tagSlice makes the SDK's list of tags.
func tagSlice[T any](tags map[string]string, make func(k, v *string) T) []T {
	var out []T
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		v := tags[k]
		out = append(out, make(&k, &v))
	}
	return out
}

// tagMap is the inverse of tagSlice: the SDK's list of tags by key.
func tagMap[T any](list []T, of func(T) (k, v *string)) map[string]string {
	tags := map[string]string{}
	for _, t := range list {
		k, v := of(t)
		tags[aws.ToString(k)] = aws.ToString(v)
	}
	return tags
}

// text returns a scalar property as text, "" when it is absent.
func text(o *value.Object, property string) string {
	s, _ := scalar(o.Value(property))
	return s
}

// scalar is a scalar as text; a whole number as its digits, however the template
// writes it.
func scalar(v any) (string, bool) {
	if n, ok := v.(json.Number); ok {
		if i, ok := value.Integer(n); ok {
			return strconv.FormatInt(i, 10), true
		}
	}
	return value.Text(v)
}

// texts returns a property that is a list of scalars.
func texts(o *value.Object, property string) []string {
	var out []string
	for _, v := range o.List(property) {
		if s, ok := scalar(v); ok {
			out = append(out, s)
		}
	}
	return out
}

// document returns a property that is a JSON document, written as an object or
// as text, as text.
func document(o *value.Object, property string) string {
	switch v := o.Value(property).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return value.JSON(v)
	}
}

// parsed is the inverse of document, for reads: an object where the text is
// one, so that it compares with an object in a template.
func parsed(text string) any {
	if o, err := value.ParseObject([]byte(text)); err == nil {
		return o
	}
	return text
}

// list makes a property's value of strings.
func list(in []string) []any {
	out := make([]any, len(in))
	for i, s := range in {
		out[i] = s
	}
	return out
}

// tagList makes a tag property's value, in the order of the keys and without
// the tags that are not the template's.
func tagList(tags map[string]string) []any {
	var out []any
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		if !strings.HasPrefix(k, ownTags) && !strings.HasPrefix(k, "aws:") {
			out = append(out, value.NewObject("Key", k, "Value", tags[k]))
		}
	}
	return out
}

// ownTags begins the keys of the tags that this engine sets for itself.
const ownTags = "cdkd-action:"

// less returns the elements of a that are not in b.
func less(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// lastSegment returns the text after the last separator.
func lastSegment(s, separator string) string {
	return s[strings.LastIndex(s, separator)+1:]
}

// errEmpty says that a list that must name something is empty.
func errEmpty(property string) error {
	return fmt.Errorf("%s is empty: it must name at least one", property)
}

func isARN(s string) bool { return strings.HasPrefix(s, "arn:") }

// whenSettled sends a call again when the service refused it, by one of its
// codes, because the resource was still busy with an earlier change.
func whenSettled(ctx context.Context, r *provider.Request, w *provider.Waiter, busy string, call func() error) error {
	err := call()
	if !provider.HasCode(err, busy) {
		return err
	}
	if err := w.Wait(ctx, r); err != nil {
		return err
	}
	return call()
}

// pending tells whether a property is there and not known yet, as it may be
// when attributes are asked for before a create.
func pending(r *provider.Request, property string) bool {
	_, known := value.Text(r.Properties.Value(property))
	return r.Properties.Has(property) && !known
}

// withTags is a holder with its tags, which are evidence only: who may not read
// them, or a service that does not tell them, leaves the other evidence. That they
// cannot be read just now says nothing.
func withTags(h *provider.Holder, tags map[string]string, err error) (*provider.Holder, error) {
	switch (retry.Classifier{}).Of(err) {
	case retry.Throttle, retry.Server:
		return nil, fmt.Errorf("read the tags of %s: %w", h.PhysicalID, err)
	}
	h.Tags, h.Unread = tags, err
	return h, nil
}

// takenBack tells whether a resource that has the wanted name already, with
// other settings, may be brought to the wanted ones: when an earlier create of
// this engine made it, and this one may have it. What others made is left to the
// service's refusal.
func takenBack(r *provider.Request, h *provider.Holder) bool {
	if h == nil {
		return false
	}
	_, ours := h.Tags[provider.OwnerTagKey]
	return ours && mayTake(r, h)
}

// mayTake tells whether a create may have what it found under its name. A declared
// name is a choice. A generated one was looked up before: it was held by what is
// the stack's own, or it was free, so that whoever has it now came in between,
// unless that was this create itself, whose first answer was lost. Where tagging
// is denied, neither has a tag.
func mayTake(r *provider.Request, h *provider.Holder) bool {
	return r.Declared || r.Held || h != nil && h.Tags[provider.OwnerTagKey] == r.OwnerTag
}

// taken is the refusal of what mayTake does not allow.
func taken(refusal error) error {
	return fmt.Errorf("somebody else has made it since its name was looked up: %w", refusal)
}

// read tells tags that were read and are none from those that could not be.
func read(tags map[string]string) map[string]string {
	if tags == nil {
		return map[string]string{}
	}
	return tags
}

// tagsOfFound are the tags for a resource that a create found under its name.
// The tag that proves who made it is not among them: this create did not.
func tagsOfFound(r *provider.Request) map[string]string {
	tags := provider.TagMap(r.Properties.Value("Tags"))
	delete(tags, provider.OwnerTagKey)
	return tags
}

// asExisting returns the request as an update of what is there already.
func asExisting(r *provider.Request, id string) *provider.Request {
	c := *r
	c.PhysicalID, c.Name = id, lastSegment(lastSegment(id, "/"), ":")
	c.Previous = &value.Object{}
	return &c
}

// findOwned makes a Find of a lookup by name, for creates that fail when they
// are sent twice: a holder is ours when it carries this create's own tag.
func findOwned(lookup func(context.Context, *provider.Request) (*provider.Holder, error)) func(context.Context, *provider.Request) (string, error) {
	return byTag(func(ctx context.Context, r *provider.Request) (string, error) {
		h, err := lookup(ctx, r)
		if h == nil || err != nil || h.Tags[provider.OwnerTagKey] != r.OwnerTag {
			return "", err
		}
		return h.PhysicalID, nil
	})
}

// byTag is for a Find that goes by the ownership tag alone.
func byTag(find func(context.Context, *provider.Request) (string, error)) func(context.Context, *provider.Request) (string, error) {
	return func(ctx context.Context, r *provider.Request) (string, error) {
		if r.OwnerTag == "" {
			return "", provider.ErrUntagged
		}
		return find(ctx, r)
	}
}

// everyPage gathers what the pages of a listing have.
func everyPage[Out, O, T any](ctx context.Context, pages interface {
	HasMorePages() bool
	NextPage(context.Context, ...func(*O)) (*Out, error)
}, of func(*Out) []T) (all []T, _ error) {
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, of(page)...)
	}
	return all, nil
}
