package cloudcontrol

import (
	"strings"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

// Identifier returns the primary identifier of a recorded resource.
//
// Records that were written for another layer hold other ids for some types: a
// part of a composite identifier, or an ARN where the API wants a name. They
// keep that form, as others read the same record, and are converted here.
// An id that is a primary identifier already comes back unchanged.
func Identifier(r *provider.Request) string {
	id := r.PhysicalID
	if convert := conversions[r.Type]; convert != nil {
		if converted := convert(id, r.Stack); converted != "" {
			return converted
		}
		return id
	}
	typ, ok := schema.Lookup(r.Type)
	if !ok {
		return id
	}
	recorded := r.Properties
	if r.Previous != nil {
		recorded = r.Previous
	}
	switch n := len(typ.PrimaryIdentifier); {
	case n == 1:
		// Only what AWS itself assigned tells more than the id does.
		if v := text(r.Attributes, typ.PrimaryIdentifier[0]); v != "" {
			return v
		}
		return id
	case strings.Count(id, "|") == n-1:
		return id
	}
	return compose(typ, id, r.Attributes, recorded)
}

// compose builds a composite identifier of which the id is one part; the
// others are recorded. Where they are not, the id is all there is.
func compose(typ *schema.Type, id string, attributes, properties *value.Object) string {
	parts := make([]string, len(typ.PrimaryIdentifier))
	missing := -1
	for i, name := range typ.PrimaryIdentifier {
		if parts[i] = text(attributes, name); parts[i] == "" {
			parts[i] = text(properties, name)
		}
		if parts[i] != "" {
			continue
		}
		if missing >= 0 {
			return id
		}
		missing = i
	}
	if missing >= 0 {
		parts[missing] = id
	}
	return strings.Join(parts, "|")
}

// text returns a recorded name or ARN; one with a placeholder is none.
func text(o *value.Object, name string) string {
	if s := o.String(name); !strings.Contains(s, "*") {
		return s
	}
	return ""
}

// conversions are of types whose id says everything, in another form. They
// return "" for an id that is in the right one.
var conversions = map[string]func(id string, s provider.Stack) string{
	// arn:…:wafv2:…:regional/webacl/name/id
	"AWS::WAFv2::WebACL": func(id string, _ provider.Stack) string {
		parts := strings.Split(id, "/")
		if !strings.HasPrefix(id, "arn:") || len(parts) != 4 {
			return ""
		}
		scope := "REGIONAL"
		if strings.HasSuffix(parts[0], ":global") {
			scope = "CLOUDFRONT"
		}
		return parts[2] + "|" + parts[3] + "|" + scope
	},
	"AWS::CloudTrail::Trail": func(id string, _ provider.Stack) string {
		_, name, _ := strings.Cut(id, ":trail/")
		return name
	},
	"AWS::S3Vectors::VectorBucket": func(id string, s provider.Stack) string {
		if strings.HasPrefix(id, "arn:") {
			return ""
		}
		return "arn:" + s.Partition + ":s3vectors:" + s.Region + ":" + s.AccountID + ":bucket/" + id
	},
	"AWS::EC2::VPCGatewayAttachment": func(id string, _ provider.Stack) string {
		gateway, vpc, _ := strings.Cut(id, "|")
		switch {
		case strings.HasPrefix(gateway, "igw-"):
			return "IGW|" + vpc
		case strings.HasPrefix(gateway, "vgw-"):
			return "VGW|" + vpc
		}
		return ""
	},
}
