package awssdk

import (
	"strings"

	"github.com/org/cdkd-action/engine/value"
)

// This file rewrites bucket configurations from CloudFormation's shape into
// the API's where they differ by more than case. Nothing here changes its
// argument.

// A moves table names members that sit elsewhere in the API: from a member of
// the object to a path below it.
type moves map[string]string

// apply returns a copy of o with its members at their new places.
func (m moves) apply(v any) any {
	o, ok := v.(*value.Object)
	if !ok {
		return v
	}
	out := &value.Object{}
	for name, member := range o.All() {
		to, ok := m[name]
		if !ok {
			to = name
		}
		place(out, strings.Split(to, "/"), member)
	}
	return out
}

func place(o *value.Object, path []string, v any) {
	for ; len(path) > 1; path = path[1:] {
		next := o.Object(path[0])
		if next == nil {
			next = &value.Object{}
			o.Set(path[0], next)
		}
		o = next
	}
	o.Set(path[0], v)
}

// each applies a rewrite to every element of a list.
func each(list []any, rewrite func(any) any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = rewrite(v)
	}
	return out
}

// filter takes the conditions that CloudFormation has beside each other out of
// o and returns them as the API wants them: one alone as it is, several below
// And. nil when there are none.
func filter(o *value.Object, scalars ...string) *value.Object {
	conditions := &value.Object{}
	for _, name := range scalars {
		if v, ok := o.Get(name); ok {
			conditions.Set(name, v)
			o.Delete(name)
		}
	}
	tags := o.List("TagFilters")
	o.Delete("TagFilters")
	switch {
	case conditions.Len()+len(tags) == 0:
		return nil
	case conditions.Len() == 0 && len(tags) == 1:
		return value.NewObject("Tag", tags[0])
	case conditions.Len() == 1 && len(tags) == 0:
		return conditions
	}
	if len(tags) > 0 {
		conditions.Set("Tags", tags)
	}
	return value.NewObject("And", conditions)
}

func lifecycleConfiguration(v any) any {
	o, _ := v.(*value.Object)
	return value.NewObject("Rules", each(o.List("Rules"), lifecycleRule))
}

func lifecycleRule(v any) any {
	o, ok := moves{
		"ExpirationInDays":                  "Expiration/Days",
		"ExpirationDate":                    "Expiration/Date",
		"ExpiredObjectDeleteMarker":         "Expiration/ExpiredObjectDeleteMarker",
		"NoncurrentVersionExpirationInDays": "NoncurrentVersionExpiration/NoncurrentDays",
	}.apply(v).(*value.Object)
	if !ok {
		return v
	}
	f := filter(o, "Prefix", "ObjectSizeGreaterThan", "ObjectSizeLessThan")
	if f == nil {
		f = value.NewObject("Prefix", "") // all objects; a rule must have one
	}
	o.Set("Filter", f)
	plural(o, "Transition", "Transitions", moves{"TransitionInDays": "Days", "TransitionDate": "Date"})
	plural(o, "NoncurrentVersionTransition", "NoncurrentVersionTransitions", moves{"TransitionInDays": "NoncurrentDays"})
	return o
}

// plural joins the older, single form of a member with the list of them.
func plural(o *value.Object, one, many string, m moves) {
	list := o.List(many)
	if v, ok := o.Get(one); ok {
		list = append([]any{v}, list...)
		o.Delete(one)
	}
	if len(list) > 0 {
		o.Set(many, each(list, m.apply))
	}
}

func corsConfiguration(v any) any {
	o, _ := v.(*value.Object)
	rename := moves{"ExposedHeaders": "ExposeHeaders", "MaxAge": "MaxAgeSeconds"}
	return value.NewObject("CORSRules", each(o.List("CorsRules"), rename.apply))
}

func encryptionConfiguration(v any) any {
	o, _ := v.(*value.Object)
	rename := moves{"ServerSideEncryptionByDefault": "ApplyServerSideEncryptionByDefault"}
	return value.NewObject("Rules", each(o.List("ServerSideEncryptionConfiguration"), rename.apply))
}

func loggingStatus(v any) any {
	o, _ := v.(*value.Object)
	if o.Len() == 0 {
		return &value.Object{}
	}
	l := moves{"DestinationBucketName": "TargetBucket", "LogFilePrefix": "TargetPrefix"}.apply(o).(*value.Object)
	if !l.Has("TargetPrefix") {
		l.Set("TargetPrefix", "") // required by the API
	}
	return value.NewObject("LoggingEnabled", l)
}

func notificationConfiguration(v any) any {
	o, _ := v.(*value.Object)
	out := &value.Object{}
	kind := func(from, to, target, arn string) {
		if list := o.List(from); len(list) > 0 {
			out.Set(to, each(list, func(v any) any { return notification(v, target, arn) }))
		}
	}
	kind("LambdaConfigurations", "LambdaFunctionConfigurations", "Function", "LambdaFunctionArn")
	kind("QueueConfigurations", "QueueConfigurations", "Queue", "QueueArn")
	kind("TopicConfigurations", "TopicConfigurations", "Topic", "TopicArn")
	if e, ok := o.Get("EventBridgeConfiguration"); ok {
		if on, _ := value.Text(e.(*value.Object).Value("EventBridgeEnabled")); on != "false" {
			out.Set("EventBridgeConfiguration", &value.Object{})
		}
	}
	return out
}

func notification(v any, target, arn string) any {
	o, ok := moves{target: arn}.apply(v).(*value.Object)
	if !ok {
		return v
	}
	if event, ok := o.Get("Event"); ok {
		o.Delete("Event")
		o.Set("Events", []any{event})
	}
	if rules := o.Object("Filter").Object("S3Key").List("Rules"); len(rules) > 0 {
		o.Set("Filter", value.NewObject("Key", value.NewObject("FilterRules", rules)))
	} else {
		o.Delete("Filter")
	}
	return o
}

func replicationConfiguration(v any) any {
	o, _ := v.(*value.Object)
	out := o.Clone()
	out.Set("Rules", each(o.List("Rules"), replicationRule))
	return out
}

func replicationRule(v any) any {
	rule, ok := v.(*value.Object)
	if !ok {
		return v
	}
	out := rule.Clone()
	if f := out.Object("Filter"); f != nil {
		out.Set("Filter", moves{"TagFilter": "Tag"}.apply(f))
		if and := f.Object("And"); and != nil {
			out.Object("Filter").Set("And", moves{"TagFilters": "Tags"}.apply(and))
		}
		// The API wants this beside a filter; CloudFormation has a default.
		if !out.Has("DeleteMarkerReplication") {
			out.Set("DeleteMarkerReplication", value.NewObject("Status", "Disabled"))
		}
	}
	return out
}

func websiteConfiguration(v any) any {
	o, ok := moves{"IndexDocument": "IndexDocument/Suffix", "ErrorDocument": "ErrorDocument/Key"}.apply(v).(*value.Object)
	if !ok {
		return v
	}
	if rules := o.List("RoutingRules"); len(rules) > 0 {
		o.Set("RoutingRules", each(rules, moves{"RedirectRule": "Redirect", "RoutingRuleCondition": "Condition"}.apply))
	}
	return o
}

func inventoryConfiguration(v any) any {
	o, ok := moves{
		"Enabled":           "IsEnabled",
		"Prefix":            "Filter/Prefix",
		"ScheduleFrequency": "Schedule/Frequency",
	}.apply(v).(*value.Object)
	if !ok {
		return v
	}
	d := moves{"BucketArn": "Bucket", "BucketAccountId": "AccountId"}.apply(o.Value("Destination"))
	o.Set("Destination", value.NewObject("S3BucketDestination", d))
	return o
}

func analyticsConfiguration(v any) any {
	o, ok := v.(*value.Object)
	if !ok {
		return v
	}
	o = o.Clone()
	if f := filter(o, "Prefix"); f != nil {
		o.Set("Filter", f)
	}
	if export := o.Object("StorageClassAnalysis").Object("DataExport"); export != nil {
		d := moves{"BucketArn": "Bucket"}.apply(export.Value("Destination"))
		export.Set("Destination", value.NewObject("S3BucketDestination", d))
	}
	return o
}

func intelligentTieringConfiguration(v any) any {
	return filtered(v, "Prefix")
}

func metricsConfiguration(v any) any {
	return filtered(v, "Prefix", "AccessPointArn")
}

func filtered(v any, scalars ...string) any {
	o, ok := v.(*value.Object)
	if !ok {
		return v
	}
	o = o.Clone()
	if f := filter(o, scalars...); f != nil {
		o.Set("Filter", f)
	}
	return o
}
