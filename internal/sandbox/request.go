package sandbox

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/org/cdkd-action/internal/sandbox/s3"
)

// A Request is one call that the sandbox was asked, as its log keeps it.
type Request struct {
	ID      int
	Service string // the signing name: s3, sqs, cloudcontrolapi, monitoring, …
	Action  string // as in the API reference; "GET /path" where it is not known
	Region  string
	// Resource is what the call is about, where that is known: bucket/key for
	// S3, the type for Cloud Control, else a name or an ARN.
	Resource string

	Start, End time.Time // End is zero until the answer was given
	State      State
	Status     int // 0 when the connection was dropped
	In, Out    int // bytes of the bodies
	Fault      string
}

// A State is how far a request has come.
type State string

// The states of a request.
const (
	Open State = "open"
	Held State = "held" // a fault holds it
	Done State = "done"
)

// A call is a request while it is being answered.
type call struct {
	Request
	http *http.Request // its Body is body
	body []byte
	form url.Values // of the query protocol
}

// identify finds out what is asked. The credential scope names the service;
// the action is where the protocol of the service has it.
func identify(r *http.Request, body []byte) *call {
	c := &call{http: r, body: body}
	c.In = len(body)
	scope := r.URL.Query().Get("X-Amz-Credential")
	if scope == "" {
		_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		scope, _, _ = strings.Cut(rest, ",")
	}
	if parts := strings.Split(scope, "/"); len(parts) >= 5 {
		c.Region, c.Service = parts[2], parts[3]
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		if form, err := url.ParseQuery(string(body)); err == nil {
			c.form = form
		}
	}
	switch target := r.Header.Get("X-Amz-Target"); {
	case c.Service == "s3":
		a := s3.ParseAddress(r)
		c.Action, c.Resource = a.Operation, a.Bucket
		if a.Key != "" {
			c.Resource += "/" + a.Key
		}
	case target != "":
		c.Action = target[strings.LastIndexByte(target, '.')+1:]
	case r.Header.Get("smithy-protocol") == "rpc-v2-cbor":
		c.Action = r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	case c.form.Get("Action") != "":
		c.Action = c.form.Get("Action")
	case r.URL.Query().Get("Action") != "":
		c.form = r.URL.Query()
		c.Action = c.form.Get("Action")
	default:
		c.Action, c.Resource = restAction(c.Service, r)
	}
	if c.Resource == "" {
		c.Resource = c.named()
	}
	return c
}

// naming are the members that say what a call is about, the most telling first.
var naming = []string{
	"TypeName", "QueueName", "QueueUrl", "TopicArn", "TableName", "FunctionName", "RoleName", "InstanceProfileName",
	"PolicyName", "PolicyArn", "AlarmName", "StackName", "SecretId", "logGroupName", "stateMachineArn", "Rule",
	"ResourceArn", "ResourceARN", "resourceArn", "RequestToken", "Name", "name",
}

// named finds the name in a call that has it in its body.
func (c *call) named() string {
	var members map[string]any
	if c.form == nil && (len(c.body) == 0 || json.Unmarshal(c.body, &members) != nil) {
		return ""
	}
	for _, member := range naming {
		if text, ok := members[member].(string); ok {
			return text
		}
		if text := c.form.Get(member); text != "" {
			return text
		}
	}
	return ""
}

// mentions reports whether a text occurs in what was asked.
func (c *call) mentions(text string) bool {
	return strings.Contains(c.Resource, text) || strings.Contains(c.http.URL.String(), text) ||
		strings.Contains(c.http.URL.Path, text) || bytes.Contains(c.body, []byte(text))
}
