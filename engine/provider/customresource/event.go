package customresource

import (
	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// An event is one request of a custom resource, before it has an id and a URL.
type event struct {
	requestType string // Create, Update, Delete
	physicalID  string
	properties  *value.Object
	old         *value.Object // Update only
}

// body is the event as CloudFormation sends it.
func (e event) body(r *provider.Request, requestID, url string) []byte {
	o := value.NewObject(
		"RequestType", e.requestType,
		"RequestId", requestID,
		"ResponseURL", url,
		"ResourceType", r.Type,
		"LogicalResourceId", r.LogicalID,
		"StackId", r.Stack.ID,
		"ResourceProperties", texts(e.properties),
	)
	if e.physicalID != "" {
		o.Set("PhysicalResourceId", e.physicalID)
	}
	if e.requestType == "Update" {
		o.Set("OldResourceProperties", texts(e.old))
	}
	return []byte(value.JSON(o))
}

// texts turns every scalar into text, as CloudFormation does.
func texts(v any) any {
	switch v := v.(type) {
	case *value.Object:
		o := value.NewObject()
		for name, m := range v.All() {
			o.Set(name, texts(m))
		}
		return o
	case []any:
		list := make([]any, len(v))
		for i, m := range v {
			list[i] = texts(m)
		}
		return list
	}
	if text, ok := value.Text(v); ok {
		return text
	}
	return v
}
