package plan

import (
	"github.com/org/cdkd-action/engine/value"
)

// normal brings the properties of some types into one form before they are
// compared, because a record can hold what a provider added on the way to AWS.
// It returns what it is given when there is nothing to do. Both sides of a
// comparison go through it.
func normal(typ string, properties *value.Object) *value.Object {
	if f := forms[typ]; f != nil {
		return f(properties)
	}
	return properties
}

var forms = map[string]func(*value.Object) *value.Object{"AWS::S3::Bucket": bucketForm}

// bucketForm gives every lifecycle rule without a filter the one that stands
// for all objects: S3 wants one, and records have it.
func bucketForm(properties *value.Object) *value.Object {
	rules := properties.Object("LifecycleConfiguration").List("Rules")
	changed := false
	out := make([]any, len(rules))
	for i, v := range rules {
		out[i] = v
		rule, ok := v.(*value.Object)
		if !ok || Intrinsic(rule) || rule.Has("Filter") || rule.Has("Prefix") || rule.Has("TagFilters") ||
			rule.Has("ObjectSizeGreaterThan") || rule.Has("ObjectSizeLessThan") {
			continue
		}
		rule = rule.Clone()
		rule.Set("Filter", value.NewObject("Prefix", ""))
		out[i], changed = rule, true
	}
	if !changed {
		return properties
	}
	lifecycle := properties.Object("LifecycleConfiguration").Clone()
	lifecycle.Set("Rules", out)
	properties = properties.Clone()
	properties.Set("LifecycleConfiguration", lifecycle)
	return properties
}
