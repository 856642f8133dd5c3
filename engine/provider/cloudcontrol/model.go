package cloudcontrol

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// desired returns the properties as Cloud Control is to be told them.
func desired(r *provider.Request, typ *schema.Type) *value.Object {
	props := conform(r.Properties, typ)
	if r.Name != "" && r.NameProperty != "" && !props.Has(r.NameProperty) {
		props.Set(r.NameProperty, r.Name)
	}
	if r.OwnerTag == "" || r.PhysicalID != "" || typ == nil || typ.TagProperty == "" {
		return props
	}
	if shape := typ.Properties[typ.TagProperty]; shape != nil && shape.Items == nil {
		tags := props.Object(typ.TagProperty).Clone()
		if tags == nil {
			tags = value.NewObject()
		}
		tags.Set(provider.OwnerTagKey, r.OwnerTag)
		props.Set(typ.TagProperty, tags)
		return props
	}
	tag := value.NewObject("Key", provider.OwnerTagKey, "Value", r.OwnerTag)
	props.Set(typ.TagProperty, append(slices.Clone(props.List(typ.TagProperty)), tag))
	return props
}

func tagged(props *value.Object, r *provider.Request, typ *schema.Type) bool {
	return r.OwnerTag != "" && typ != nil && props.Has(typ.TagProperty)
}

// withoutOwner leaves out the tags that are ours.
func withoutOwner(props *value.Object, r *provider.Request) *value.Object {
	typ, ok := schema.Lookup(r.Type)
	if !ok || typ.TagProperty == "" {
		return props
	}
	switch tags := props.Value(typ.TagProperty).(type) {
	case []any:
		kept := slices.DeleteFunc(tags, func(tag any) bool {
			for key := range provider.TagMap([]any{tag}) {
				return strings.HasPrefix(key, "cdkd-action:")
			}
			return false
		})
		props.Set(typ.TagProperty, kept)
		if len(kept) == 0 {
			props.Delete(typ.TagProperty)
		}
	case *value.Object:
		for _, key := range tags.Keys() {
			if strings.HasPrefix(key, "cdkd-action:") {
				tags.Delete(key)
			}
		}
	}
	return props
}

// conform returns a copy of properties without nulls and read-only members,
// scalars in the type that the schema has.
func conform(props *value.Object, typ *schema.Type) *value.Object {
	shape := &schema.Property{}
	var readOnly [][]string
	if typ != nil {
		shape.Properties = typ.Properties
		for _, p := range typ.ReadOnly {
			readOnly = append(readOnly, strings.Split(p, "/"))
		}
	}
	o, _ := coerce(props, shape).(*value.Object)
	if o == nil {
		o = value.NewObject()
	}
	for _, p := range readOnly {
		strip(o, p)
	}
	if typ != nil {
		for _, name := range asText[typ.Name] {
			if document := o.Object(name); document != nil {
				o.Set(name, value.JSON(document))
			}
		}
	}
	return o
}

// asText are documents that a type's handler takes as JSON text only, although
// its schema has an object too.
var asText = map[string][]string{"AWS::Events::Rule": {"EventPattern"}}

func strip(v any, path []string) {
	switch v := v.(type) {
	case *value.Object:
		switch {
		case path[0] == "*" && len(path) > 1:
			for _, m := range v.All() {
				strip(m, path[1:])
			}
		case len(path) == 1:
			v.Delete(path[0])
		default:
			strip(v.Value(path[0]), path[1:])
		}
	case []any:
		if path[0] == "*" && len(path) > 1 {
			for _, e := range v {
				strip(e, path[1:])
			}
		}
	}
}

// coerce copies a value in the shape of the schema. What does not fit is left
// as it is: the service then says so.
func coerce(v any, shape *schema.Property) any {
	kind := ""
	if shape != nil {
		kind = shape.Type
	}
	switch v := v.(type) {
	case *value.Object:
		if v == nil {
			return nil
		}
		if kind == "string" {
			return value.JSON(v)
		}
		o := value.NewObject()
		for name, m := range v.All() {
			if m != nil {
				o.Set(name, coerce(m, shape.Member(name)))
			}
		}
		return o
	case []any:
		list := make([]any, 0, len(v))
		for _, m := range v {
			if m != nil {
				list = append(list, coerce(m, shape.Member("*")))
			}
		}
		return list
	case string:
		switch kind {
		case "integer", "number":
			if value.IsNumber(v) {
				return json.Number(v)
			}
		case "boolean":
			if b, err := strconv.ParseBool(strings.ToLower(v)); err == nil {
				return b
			}
		}
	case bool, json.Number:
		if kind == "string" {
			text, _ := value.Text(v)
			return text
		}
	}
	return v
}

func model(event *types.ProgressEvent) *value.Object {
	o, err := value.ParseObject([]byte(aws.ToString(event.ResourceModel)))
	if err != nil {
		return value.NewObject()
	}
	return o
}

// readAttributes reads the resource for its attributes. Where that fails,
// those known from the answer are kept, with a notice that names the others: a
// reference to one of them will be refused.
func (p *Provider) readAttributes(ctx context.Context, r *provider.Request, typ *schema.Type, id string, known *value.Object) *value.Object {
	read := *r
	read.PhysicalID = id
	live, err := p.Read(ctx, &read)
	if err != nil {
		what := "its attributes"
		if missing := lacking(typ, known); len(missing) > 0 {
			what += " " + strings.Join(missing, ", ")
		}
		notice(r, fmt.Sprintf("%s (%s): %s could not be read, those in the operation's answer are used: %v", r.LogicalID, r.Type, what, err))
		return known
	}
	for name, v := range attributes(typ, live, id, r).All() {
		known.Set(name, v)
	}
	return known
}

// lacking are the attributes of a type that are not known.
func lacking(typ *schema.Type, known *value.Object) (names []string) {
	if typ == nil {
		return nil
	}
	for _, name := range typ.Attributes {
		if !known.Has(name) {
			names = append(names, name)
		}
	}
	return names
}

// attributes returns what Fn::GetAtt can ask, dotted names flat: what the
// schema names, or every member for a type without a schema.
func attributes(typ *schema.Type, live *value.Object, id string, r *provider.Request) *value.Object {
	out := value.NewObject()
	if typ == nil {
		flatten(out, "", live)
		return out
	}
	for _, name := range typ.Attributes {
		if v, ok := at(live, strings.Split(name, ".")); ok {
			out.Set(name, v)
		}
	}
	// The identifier's parts are known even where the model leaves them out.
	if parts := strings.Split(id, "|"); len(parts) == len(typ.PrimaryIdentifier) {
		for i, p := range typ.PrimaryIdentifier {
			name := strings.ReplaceAll(p, "/", ".")
			if slices.Contains(typ.Attributes, name) && !out.Has(name) {
				out.Set(name, parts[i])
			}
		}
	}
	for name, derive := range derived[r.Type] {
		if !out.Has(name) {
			if v := derive(out, id, r.Stack); v != "" {
				out.Set(name, v)
			}
		}
	}
	return out
}

func at(o *value.Object, path []string) (any, bool) {
	v, ok := o.Get(path[0])
	if !ok || len(path) == 1 {
		return v, ok && v != nil
	}
	return at(o.Object(path[0]), path[1:])
}

func flatten(out *value.Object, prefix string, o *value.Object) {
	for name, v := range o.All() {
		if inner, ok := v.(*value.Object); ok {
			flatten(out, prefix+name+".", inner)
		}
		out.Set(prefix+name, v)
	}
}

// derived are attributes that some models lack and that follow from others.
var derived = map[string]map[string]func(known *value.Object, id string, s provider.Stack) string{
	"AWS::S3::Bucket": {
		"Arn": func(_ *value.Object, id string, s provider.Stack) string {
			return "arn:" + s.Partition + ":s3:::" + id
		},
	},
	"AWS::ECR::Repository": {
		"Arn": func(_ *value.Object, id string, s provider.Stack) string {
			return fmt.Sprintf("arn:%s:ecr:%s:%s:repository/%s", s.Partition, s.Region, s.AccountID, id)
		},
	},
	"AWS::Kinesis::Stream": {
		"Arn": func(_ *value.Object, id string, s provider.Stack) string {
			return fmt.Sprintf("arn:%s:kinesis:%s:%s:stream/%s", s.Partition, s.Region, s.AccountID, id)
		},
	},
	"AWS::KMS::Key": {
		"Arn": func(_ *value.Object, id string, s provider.Stack) string {
			return fmt.Sprintf("arn:%s:kms:%s:%s:key/%s", s.Partition, s.Region, s.AccountID, id)
		},
	},
	"AWS::Lambda::Version": {
		"Version": func(_ *value.Object, id string, _ provider.Stack) string { return id[strings.LastIndex(id, ":")+1:] },
	},
	"AWS::Events::ApiDestination": {
		"ArnForPolicy": func(known *value.Object, _ string, _ provider.Stack) string {
			arn := known.String("Arn")
			return arn[:max(strings.LastIndex(arn, "/"), 0)]
		},
	},
	"AWS::ApiGateway::RestApi": {
		"RestApiId": func(_ *value.Object, id string, _ provider.Stack) string { return id },
	},
}
