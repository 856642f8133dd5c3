package cloudcontrol

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/cdkd-action/engine/schema"
)

// fill makes up what a handler would: attributes, and the parts of the
// identifier that nobody gave, such as a generated name.
func (s *Server) fill(region string, t *schema.Type, model map[string]any) {
	m := maker{s: s, region: region, t: t, unique: random(17)}
	// ARNs and addresses hold the resource's name, if it has one.
	if name, ok := nameOf(t, model); ok {
		m.unique = name
	}
	for _, path := range t.PrimaryIdentifier {
		if !contains(model, strings.Split(path, "/")) && !slices.Contains(t.Required, path) {
			m.set(model, path)
		}
	}
	if id, err := identifier(t, model); err == nil && !strings.Contains(id, ":") {
		m.unique = id[strings.LastIndexByte(id, '|')+1:]
	}
	for _, path := range t.ReadOnly {
		if !contains(model, strings.Split(path, "/")) {
			m.set(model, path)
		}
	}
}

// nameOf returns what a model says is the resource's own name.
func nameOf(t *schema.Type, model map[string]any) (string, bool) {
	kind := t.Name[strings.LastIndexByte(t.Name, ':')+1:]
	for _, property := range []string{kind + "Name", "Name"} {
		if name, ok := model[property].(string); ok {
			return name, true
		}
	}
	return "", false
}

// A maker makes up values for one resource.
type maker struct {
	s      *Server
	region string
	t      *schema.Type
	unique string
}

// set puts a made-up value at a path, unless the path leads through a list or
// through something that is not there and not wholly an attribute.
func (m maker) set(model map[string]any, path string) {
	parts := strings.Split(path, "/")
	if slices.Contains(parts, "*") {
		return
	}
	properties, p := m.t.Properties, (*schema.Property)(nil)
	for i, part := range parts {
		if p = properties[part]; p == nil {
			p = &schema.Property{Type: "string"}
		}
		if i == len(parts)-1 {
			model[part] = m.value(part, p)
			return
		}
		inner, ok := model[part].(map[string]any)
		if !ok {
			if model[part] != nil {
				return
			}
			inner = map[string]any{}
			model[part] = inner
		}
		model, properties = inner, p.Properties
	}
}

func (m maker) value(name string, p *schema.Property) any {
	switch p.Type {
	case "integer", "number":
		return 1
	case "boolean":
		return false
	case "array":
		return []any{}
	case "object":
		out := map[string]any{}
		for inner, q := range p.Properties {
			if q.Type == "string" {
				out[inner] = m.text(inner)
			}
		}
		return out
	}
	return m.text(name)
}

func (m maker) text(name string) string {
	// AWS::SomeService::SomeThing
	service, kind := "aws", "resource"
	if parts := strings.Split(m.t.Name, "::"); len(parts) == 3 {
		service, kind = strings.ToLower(parts[1]), strings.ToLower(parts[2])
	}
	has := func(suffixes ...string) bool {
		return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
	}
	switch {
	case has("Arn", "ARN"):
		return fmt.Sprintf("arn:aws:%s:%s:%s:%s/%s", service, m.region, m.s.account, kind, m.unique)
	case has("Url", "URL", "Uri", "URI"):
		return fmt.Sprintf("https://%s.%s.%s.amazonaws.com/%s", m.unique, service, m.region, kind)
	case has("Endpoint", "Address", "DomainName", "DNSName", "DnsName", "Domain"):
		return fmt.Sprintf("%s.%s.%s.amazonaws.com", m.unique, service, m.region)
	case has("AccountId", "OwnerId", "AwsAccountId"):
		return m.s.account
	case has("Region"):
		return m.region
	case has("Time", "Date", "At", "Timestamp"):
		return m.s.now().UTC().Format(time.RFC3339)
	case has("Status", "State"):
		return "ACTIVE"
	case has("Port"):
		return "443"
	case has("Version"):
		return "1"
	case has("Id", "ID"):
		return kind[:min(len(kind), 4)] + "-" + random(17)
	}
	return kind + "-" + random(12)
}

// identifier joins the parts of a model's primary identifier.
func identifier(t *schema.Type, model map[string]any) (string, error) {
	if len(t.PrimaryIdentifier) == 0 {
		return "", fmt.Errorf("#: %s has no primary identifier", t.Name)
	}
	var parts []string
	for _, path := range t.PrimaryIdentifier {
		var value any = model
		for part := range strings.SplitSeq(path, "/") {
			inner, _ := value.(map[string]any)
			value = inner[part]
		}
		if value == nil {
			return "", fmt.Errorf("#: required key [%s] not found", path)
		}
		parts = append(parts, fmt.Sprint(value))
	}
	return strings.Join(parts, "|"), nil
}

func random(digits int) string {
	raw := make([]byte, (digits+1)/2)
	rand.Read(raw)
	return hex.EncodeToString(raw)[:digits]
}
