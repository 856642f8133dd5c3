package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"

	"github.com/org/cdkd-action/engine/guide"
	"github.com/org/cdkd-action/engine/partition"
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/state"
	"github.com/org/cdkd-action/engine/template"
	"github.com/org/cdkd-action/engine/value"
)

// Tagged says by which tags resources are found, and which resource of the
// template each one is.
type Tagged struct {
	With map[string]string // all of these; "" is any value
	// By is the tag whose value is the logical id, or the construct's path.
	By string // "": ByCloudFormation
}

// ByCloudFormation is the tag by which CloudFormation tells a stack's resources
// apart. It stays when they leave the stack.
const ByCloudFormation = "aws:cloudformation:logical-id"

// findTagged makes what tags tell be named like what a person names; that wins.
func (i *importing) findTagged(ctx context.Context) error {
	if i.opt.Tagged == nil {
		return nil
	}
	found, err := i.e.byTags(ctx, i.t, *i.opt.Tagged)
	if err != nil {
		return err
	}
	if i.given == nil {
		i.given = map[string]string{}
	}
	maps.DeleteFunc(found, func(id string, _ []string) bool { return i.given[id] != "" })
	for id, arns := range found {
		i.given[id] = strings.Join(arns, ", ")
	}
	i.tagged = found
	return nil
}

// byTags finds what carries the tags, as ARNs by logical id.
func (e *Engine) byTags(ctx context.Context, t target, tags Tagged) (map[string][]string, error) {
	by := cmp.Or(tags.By, ByCloudFormation)
	filters := []types.TagFilter{{Key: &by}}
	for _, key := range slices.Sorted(maps.Keys(tags.With)) {
		f := types.TagFilter{Key: &key}
		if v := tags.With[key]; v != "" {
			f.Values = []string{v}
		}
		filters = append(filters, f)
	}
	regions := []string{t.Region}
	if t.Region != "us-east-1" && partition.Of(t.Region) == "aws" {
		regions = append(regions, "us-east-1") // where what has no region is listed
	}
	found, others := map[string][]string{}, 0
	for _, region := range regions {
		pages := resourcegroupstaggingapi.NewGetResourcesPaginator(provider.Client(e.session(region).provider, resourcegroupstaggingapi.NewFromConfig),
			&resourcegroupstaggingapi.GetResourcesInput{TagFilters: filters})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("find resources in %s by their tags: %w", region, err)
			}
			for _, r := range page.ResourceTagMappingList {
				arn := aws.ToString(r.ResourceARN)
				if parts := strings.SplitN(arn, ":", 6); region != t.Region && len(parts) == 6 && parts[3] != "" {
					continue // it is in the other region
				}
				id := taggedAs(t, r.Tags, by)
				if id == "" {
					others++
					continue
				}
				found[id] = add(found[id], arn)
			}
		}
	}
	if len(found) == 0 {
		none := &InputError{
			What: fmt.Sprintf("no resource in %s that has the tags is one of stack %s", t.Region, t.Name),
			Next: fmt.Sprintf("look which ones have them: aws resourcegroupstaggingapi get-resources --tag-filters%s --region %s; the tag %s has to name a logical id, or the path of a construct", asArguments(filters), t.Region, by),
			Page: guide.UnknownResource,
		}
		if others > 0 {
			none.What = fmt.Sprintf("%s; the tag %s of %d names something else", none.What, by, others)
		}
		return nil, none
	}
	return found, nil
}

// asArguments are tag filters as the aws command line takes them.
func asArguments(filters []types.TagFilter) string {
	var b strings.Builder
	for _, f := range filters {
		text := "Key=" + aws.ToString(f.Key)
		if len(f.Values) > 0 {
			text += ",Values=" + strings.Join(f.Values, ",")
		}
		b.WriteString(" " + quoted(text))
	}
	return b.String()
}

var plainArgument = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted is an argument as a shell takes it.
func quoted(text string) string {
	if plainArgument.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// taggedAs is the logical id of the template that a tag names, "" when it names none.
func taggedAs(t target, tags []types.Tag, by string) string {
	for _, tag := range tags {
		if aws.ToString(tag.Key) != by {
			continue
		}
		name := strings.Trim(aws.ToString(tag.Value), "/")
		for _, r := range t.Template.Resources {
			path := r.Metadata.String("aws:cdk:path")
			if r.Type == template.MetadataType || r.Type == nestedType {
				continue
			}
			if r.LogicalID == name || path != "" && (path == name || path == name+"/Resource" || path == name+"/Default") {
				return r.LogicalID
			}
		}
	}
	return ""
}

// seeTagged reads the resource among those that are tagged as it. Others may be
// tagged alike: what an auto scaling group starts gets its tags.
func (i *importing) seeTagged(ctx context.Context, req *provider.Request, driver *provider.Driver, arns []string) (seen, error) {
	var is []string
	var it seen
	for _, arn := range arns {
		for _, id := range idsOfARN(req.Type, arn) {
			s, err := i.see(ctx, req, driver, id)
			if errors.Is(err, provider.ErrNotFound) || err == nil && !s.known(req.Type, arn) {
				continue
			}
			if err != nil {
				return seen{}, fmt.Errorf("%s: %w", arn, err)
			}
			is, it = append(is, arn), s
			break
		}
	}
	switch len(is) {
	case 0:
		return seen{}, fmt.Errorf("%w: what is tagged as it is none, or is not known by its ARN: %s", provider.ErrNotFound, strings.Join(arns, ", "))
	case 1:
		return it, nil
	}
	return seen{}, fmt.Errorf("several are tagged as it: %s: narrow the tags, or name the one with resource", strings.Join(is, ", "))
}

// known tells whether what was read is what an ARN names, as far as it says so:
// resources of two types may have one name.
func (s seen) known(typ, arn string) bool {
	arn = strings.TrimSuffix(arn, ":*")
	for _, o := range []*value.Object{s.attributes, s.properties} {
		for _, name := range []string{"Arn", typ[strings.LastIndex(typ, ":")+1:] + "Arn", "ARN"} {
			if text, ok := value.Text(o.Value(name)); ok && strings.HasPrefix(text, "arn:") {
				return strings.TrimSuffix(text, ":*") == arn
			}
		}
	}
	return !strings.HasPrefix(s.id, "arn:") || s.id == arn
}

// idsOfARN are the ids that a resource of an ARN may have: itself, or what of it
// names the resource.
func idsOfARN(typ, arn string) (ids []string) {
	parts := strings.SplitN(strings.TrimSuffix(arn, ":*"), ":", 6)
	if len(parts) < 6 {
		return nil
	}
	name := parts[5]
	switch typ {
	case "AWS::SQS::Queue":
		return []string{queueURL(parts[1], parts[3], parts[4], name)}
	case "AWS::SSM::Parameter": // whose name may begin with a slash
		after := strings.TrimPrefix(name, "parameter/")
		return []string{"/" + after, after}
	}
	t, _ := schema.Lookup(typ)
	byARN := t == nil || len(t.PrimaryIdentifier) != 1
	byName := true
	if !byARN {
		p := strings.ToLower(t.PrimaryIdentifier[0])
		byARN = strings.HasSuffix(p, "arn") || p == "id"
		byName = !strings.HasSuffix(p, "arn")
	}
	if byARN {
		ids = append(ids, arn)
	}
	if !byName {
		return ids
	}
	for _, sep := range []string{":", "/"} {
		if _, after, ok := strings.Cut(name, sep); ok {
			ids = add(ids, after, after[strings.LastIndex(after, sep)+1:])
		}
	}
	return add(ids, name)
}

func queueURL(partition, region, account, name string) string {
	host := "https://sqs." + region + ".amazonaws.com"
	if partition == "aws-cn" {
		host += ".cn"
	}
	return host + "/" + account + "/" + name
}

// ownID is the id that is recorded of what was named by its ARN, where the type
// has another one.
func ownID(typ, id string, properties *value.Object) string {
	t, ok := schema.Lookup(typ)
	if !ok || !strings.HasPrefix(id, "arn:") || len(t.PrimaryIdentifier) != 1 {
		return id
	}
	if text, ok := value.Text(properties.Value(t.PrimaryIdentifier[0])); ok && text != "" && state.NameIn(typ, id) == id {
		return text
	}
	return id
}
