package awssdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/encoding/cbor"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/org/cdkd-action/engine/provider"
)

// A recorder is an AWS that takes every call and keeps what was sent. Its
// answers say that all is well and exists already: they are empty on the wire
// and filled in by the SDK's type of the answer, so that they fit any service.
type recorder struct {
	server *httptest.Server
	mu     sync.Mutex
	sent   []sentRequest
	seen   map[string]bool // the IAM actions of all requests since it was emptied

	gone    string // the code of reads that follow a delete
	deleted bool
}

// A sentRequest is what came over the wire, made readable: escapes undone,
// and without what differs from one time to the next.
type sentRequest struct{ operation, text string }

func startRecorder(t *testing.T) *recorder {
	rec := &recorder{seen: map[string]bool{}}
	rec.server = httptest.NewServer(http.HandlerFunc(rec.answer))
	t.Cleanup(rec.server.Close)
	return rec
}

// session returns a session in whose account the recorder is every service.
func (rec *recorder) session() *provider.Session {
	return &provider.Session{Config: aws.Config{
		Region: stack.Region, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		BaseEndpoint: &rec.server.URL,
		Retryer:      func() aws.Retryer { return aws.NopRetryer{} },
		APIOptions: []func(*middleware.Stack) error{func(s *middleware.Stack) error {
			if err := s.Build.Add(middleware.BuildMiddlewareFunc("operation", nameOperation), middleware.After); err != nil {
				return err
			}
			return s.Deserialize.Add(middleware.DeserializeMiddlewareFunc("fill", rec.fill), middleware.Before)
		}},
	}}
}

// take returns what was sent since the last time, sorted.
func (rec *recorder) take() []sentRequest {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	sent := rec.sent
	rec.sent, rec.deleted = nil, false
	slices.SortFunc(sent, func(a, b sentRequest) int {
		return strings.Compare(a.operation+a.text, b.operation+b.text)
	})
	return sent
}

const operationHeader = "X-Test-Operation"

func nameOperation(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
	in.Request.(*smithyhttp.Request).Header.Set(operationHeader, awsmiddleware.GetServiceID(ctx)+" "+awsmiddleware.GetOperationName(ctx))
	return next.HandleBuild(ctx, in)
}

func (rec *recorder) answer(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	text := req.Method + " " + unescaped(req.URL.RequestURI())
	for _, name := range sortedHeaders(req.Header) {
		text += "\n" + name + ": " + unescaped(req.Header.Get(name))
	}
	if scope := strings.Split(req.Header.Get("Authorization"), "/"); len(scope) > 2 {
		text += "\nregion: " + scope[2]
	}
	content := req.Header.Get("Content-Type")
	operation := req.Header.Get(operationHeader)
	answer := "<Answer/>"
	switch {
	case content == "application/cbor":
		v, err := cbor.Decode(body)
		text += fmt.Sprintf("\n%v %v", plain(v), err)
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		w.Header().Set("Content-Type", "application/cbor")
		answer = string(cbor.Encode(cbor.Map{}))
	case strings.HasPrefix(content, "application/x-www-form-urlencoded"):
		text += "\n" + form(string(body))
		action := lastSegment(operation, " ")
		answer = fmt.Sprintf("<%[1]sResponse><%[1]sResult/></%[1]sResponse>", action)
	case !xmlServices.MatchString(operation):
		text += "\n" + sortedJSON(body)
		w.Header().Set("Content-Type", "application/json")
		answer = "{}"
	default:
		text += "\n" + string(body)
	}
	rec.mu.Lock()
	for _, action := range iamActions(operation, req) {
		rec.seen[action] = true
	}
	rec.sent = append(rec.sent, sentRequest{operation, anyUUID.ReplaceAllString(text, "UUID")})
	rec.mu.Unlock()
	if operation == "S3 GetObject" {
		answer = `{"Comment": "an object"}`
	}
	if req.Method != http.MethodHead {
		io.WriteString(w, answer)
	}
}

var (
	anyUUID     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	xmlServices = regexp.MustCompile(`^(S3|Route 53|CloudFront) `)
	index       = regexp.MustCompile(`\.\d+(\.|=)`)
)

// sortedHeaders are those that carry what a caller asked for.
func sortedHeaders(h http.Header) []string {
	var names []string
	for name := range h {
		n := strings.ToLower(name)
		if strings.HasPrefix(n, "x-amz-") && !strings.HasPrefix(n, "x-amz-date") && !strings.HasPrefix(n, "x-amz-content-sha") &&
			!strings.HasPrefix(n, "x-amz-checksum") && !strings.HasPrefix(n, "x-amz-user-agent") || n == "if-match" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func unescaped(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// form is a form without the numbers of its entries: those of a map come in
// any order.
func form(body string) string {
	var lines []string
	for pair := range strings.SplitSeq(body, "&") {
		if u, err := url.QueryUnescape(pair); err == nil {
			lines = append(lines, index.ReplaceAllString(u, ".N$1"))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func sortedJSON(body []byte) string {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return string(body)
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// plain renders CBOR as text.
func plain(v cbor.Value) any {
	switch v := v.(type) {
	case cbor.Map:
		m := map[string]any{}
		for k, e := range v {
			m[k] = plain(e)
		}
		return m
	case *cbor.Tag: // a time
		return plain(v.Value)
	case cbor.List:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = plain(e)
		}
		return l
	}
	return v
}

func (rec *recorder) fill(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	out, metadata, err := next.HandleDeserialize(ctx, in)
	operation := awsmiddleware.GetOperationName(ctx)
	if err != nil || out.Result == nil {
		return out, metadata, err
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.gone != "" && rec.deleted && reads.MatchString(operation) {
		return out, metadata, &smithy.GenericAPIError{Code: rec.gone, Message: "it was deleted"}
	}
	rec.deleted = rec.deleted || deletes.MatchString(operation) && !strings.Contains(operation, "Policy")
	fill(reflect.ValueOf(out.Result).Elem(), awsmiddleware.GetServiceID(ctx)+" "+operation+".", "", 0)
	return out, metadata, err
}

var (
	reads   = regexp.MustCompile(`^(Get|List|Describe|Head)`)
	deletes = regexp.MustCompile(`^(Delete|Deregister|Terminate)`)
)

// fill makes an answer in which everything is there and well.
func fill(v reflect.Value, operation, name string, depth int) {
	switch {
	case depth > 8 || ends.MatchString(name) || slices.Contains(none, operation+name):
		return
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1, 0)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(v.Elem(), operation, name, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "ResultMetadata" {
				fill(v.Field(i), operation, f.Name, depth+1)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), operation, name, depth+1)
		}
	case reflect.String:
		v.SetString(wellValue(v, operation, name))
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Bool:
		v.SetBool(slices.Contains(yes, operation+name))
	case reflect.Map:
		if name == "Targets" { // of an operation: the ids of what it made
			v.Set(reflect.ValueOf(map[string]string{"NAMESPACE": "made"}))
		}
	}
}

// ends are the members that say that there is more to read, or that something
// failed.
var ends = regexp.MustCompile(`(?i)(next|continuation|pagination).*|^marker$|^position$|truncated|hasmore|^(failed|un(successful|processed)).*|^(errors?|failures?)$`)

// none are the members that a create would find to be somebody else's, and yes
// those that must be true.
var (
	none = []string{"ECS DescribeClusters.CapacityProviders", "ECS DescribeClusters.DefaultCapacityProviderStrategy"}
	yes  = []string{"EC2 DescribeNetworkAcls.IsDefault"}
)

// well are the states in which nothing has to be waited for.
var well = []string{
	"ACTIVE", "Active", "active", "AVAILABLE", "available", "Available", "running", "Successful", "InService", "Deployed", "deployed",
	"ENABLED", "Enabled", "enabled", "COMPLETE", "SUCCESS", "SUCCEEDED", "ISSUED", "CREATED", "READY", "associated", "attached",
}

// answers are the texts that the types' code looks into, by member, and by
// operation where they differ.
var answers = map[string]string{
	"AssumeRolePolicyDocument": "%7B%7D", "PolicyDocument": "%7B%7D", "Policy": "{}",
	"EC2 DescribeInternetGateways.State":         "available",
	"EC2 DescribeVpnGateways.State":              "attached",
	"EC2 DescribeNetworkAcls.SubnetId":           "subnet-of-acl",
	"EC2 DescribeVpnGateways.VpcId":              "vpc-of-gateway",
	"CloudFront GetDistribution.Status":          "Deployed",
	"ECS DescribeClusters.AttachmentsStatus":     "UPDATE_COMPLETE",
	"Lambda PublishLayerVersion.LayerVersionArn": "arn:aws:lambda:eu-west-1:123456789012:layer:made:1",
	"Route 53 ListHostedZonesByName.Name":        "sent.example.",
	"ACM DescribeCertificate.DomainName":         "sent.example",
}

func wellValue(v reflect.Value, operation, name string) string {
	if text, ok := answers[operation+name]; ok {
		return text
	}
	if m := v.MethodByName("Values"); m.IsValid() {
		values := m.Call(nil)[0]
		for _, w := range well {
			for i := range values.Len() {
				if values.Index(i).String() == w {
					return w
				}
			}
		}
		return values.Index(0).String()
	}
	switch text, ok := answers[name]; {
	case ok:
		return text
	case strings.HasSuffix(name, "Arn"), strings.HasSuffix(name, "ARN"):
		return "arn:aws:any:eu-west-1:123456789012:thing/made"
	case strings.HasSuffix(name, "Status"), strings.HasSuffix(name, "State"):
		return "available"
	}
	return "made"
}
