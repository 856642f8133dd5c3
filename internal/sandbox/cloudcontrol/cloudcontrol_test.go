package cloudcontrol_test

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	cc "github.com/aws/aws-sdk-go-v2/service/cloudcontrol"
	"github.com/aws/aws-sdk-go-v2/service/cloudcontrol/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

// thing has one of everything that a schema can say.
var thing = &schema.Type{
	Name: "Acme::Shop::Thing",
	Properties: map[string]*schema.Property{
		"ThingName": {Type: "string"},
		"Size":      {Type: "integer"},
		"Kind":      {Type: "string"},
		"Secret":    {Type: "string"},
		"Policy":    {Type: "object", JSON: true},
		"Net": {Type: "object", Properties: map[string]*schema.Property{
			"Fixed": {Type: "string"}, "Open": {Type: "boolean"},
		}},
		"Labels":   {Type: "array", Items: &schema.Property{Type: "string"}},
		"Arn":      {Type: "string"},
		"Revision": {Type: "integer"},
	},
	Required:          []string{"Kind"},
	PrimaryIdentifier: []string{"ThingName"},
	CreateOnly:        []string{"ThingName", "Net/Fixed"},
	ReadOnly:          []string{"Arn", "Revision"},
	WriteOnly:         []string{"Secret"},
	Provisionable:     true,
}

type world struct {
	*cloudcontrol.Server
	*cc.Client
	now *atomic.Int64 // nanoseconds after the start
	t   *testing.T
}

func start(t *testing.T, delay time.Duration) world {
	t.Helper()
	w := world{now: new(atomic.Int64), t: t}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.Server = cloudcontrol.New(cloudcontrol.Options{
		Delay: delay,
		Now:   func() time.Time { return begin.Add(time.Duration(w.now.Load())) },
		Types: func(name string) (*schema.Type, bool) {
			switch name {
			case thing.Name:
				return thing, true
			case "Acme::Shop::Frozen":
				return &schema.Type{Name: name}, true
			}
			return nil, false
		},
	})
	srv := httptest.NewServer(w.Server)
	t.Cleanup(srv.Close)
	w.Client = cc.New(cc.Options{
		BaseEndpoint: &srv.URL, Region: "eu-west-1", RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", ""),
	})
	return w
}

func (w world) create(state, token string) (*types.ProgressEvent, error) {
	in := &cc.CreateResourceInput{TypeName: &thing.Name, DesiredState: &state}
	if token != "" {
		in.ClientToken = &token
	}
	out, err := w.CreateResource(w.t.Context(), in)
	if err != nil {
		return nil, err
	}
	return out.ProgressEvent, nil
}

func (w world) status(e *types.ProgressEvent) *types.ProgressEvent {
	w.t.Helper()
	out, err := w.GetResourceRequestStatus(w.t.Context(), &cc.GetResourceRequestStatusInput{RequestToken: e.RequestToken})
	if err != nil {
		w.t.Fatal(err)
	}
	return out.ProgressEvent
}

// made creates and expects success.
func (w world) made(state string) string {
	w.t.Helper()
	e, err := w.create(state, "")
	if err != nil {
		w.t.Fatal(err)
	}
	if e = w.status(e); e.OperationStatus != types.OperationStatusSuccess {
		w.t.Fatalf("create of %s: %s %s %s", state, e.OperationStatus, e.ErrorCode, aws.ToString(e.StatusMessage))
	}
	return *e.Identifier
}

func (w world) patch(id, document string) string {
	out, err := w.UpdateResource(w.t.Context(), &cc.UpdateResourceInput{TypeName: &thing.Name, Identifier: &id, PatchDocument: &document})
	if err != nil {
		return code(err)
	}
	e := w.status(out.ProgressEvent)
	return strings.TrimSpace(string(e.OperationStatus) + " " + string(e.ErrorCode))
}

func (w world) model(id string) map[string]any {
	w.t.Helper()
	out, err := w.GetResource(w.t.Context(), &cc.GetResourceInput{TypeName: &thing.Name, Identifier: &id})
	if err != nil {
		w.t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(*out.ResourceDescription.Properties), &m); err != nil {
		w.t.Fatal(err)
	}
	return m
}

func code(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	if err != nil {
		return err.Error()
	}
	return "ok"
}

func TestLifeCycle(t *testing.T) {
	w := start(t, 0)
	id := w.made(`{"ThingName":"t1","Kind":"a","Size":3,"Secret":"s","Net":{"Fixed":"x","Open":true}}`)
	want := map[string]any{
		"ThingName": "t1", "Kind": "a", "Size": 3.0, "Net": map[string]any{"Fixed": "x", "Open": true},
		"Arn": "arn:aws:shop:eu-west-1:123456789012:thing/t1", "Revision": 1.0,
	}
	if diff := cmp.Diff(want, w.model(id)); id != "t1" || diff != "" {
		t.Errorf("after the create of %s, without write-only properties (-want +got):\n%s", id, diff)
	}
	if got := w.patch(id, `[{"op":"replace","path":"/Size","value":4},{"op":"add","path":"/Labels","value":["l"]},{"op":"add","path":"/Secret","value":"new"}]`); got != "SUCCESS" {
		t.Fatalf("update: %s", got)
	}
	want["Size"], want["Labels"] = 4.0, []any{"l"}
	if diff := cmp.Diff(want, w.model(id)); diff != "" {
		t.Errorf("after the update (-want +got):\n%s", diff)
	}
	if got := w.Resource("eu-west-1", thing.Name, id)["Secret"]; got != "new" {
		t.Errorf("the write-only property is %v", got)
	}
	list, err := w.ListResources(t.Context(), &cc.ListResourcesInput{TypeName: &thing.Name})
	if err != nil || len(list.ResourceDescriptions) != 1 || *list.ResourceDescriptions[0].Identifier != id {
		t.Errorf("list: %v, %v", list, err)
	}

	remove := func() string {
		out, err := w.DeleteResource(t.Context(), &cc.DeleteResourceInput{TypeName: &thing.Name, Identifier: &id})
		if err != nil {
			return code(err)
		}
		e := w.status(out.ProgressEvent)
		return strings.TrimSpace(string(e.OperationStatus) + " " + string(e.ErrorCode))
	}
	if got := remove(); got != "SUCCESS" {
		t.Errorf("delete: %s", got)
	}
	if got := remove(); got != "FAILED NotFound" {
		t.Errorf("second delete (T-1008): %s", got)
	}
	_, err = w.GetResource(t.Context(), &cc.GetResourceInput{TypeName: &thing.Name, Identifier: &id})
	if code(err) != "ResourceNotFoundException" {
		t.Errorf("read after the delete (T-1010): %v", err)
	}
	if got := w.patch(id, `[]`); got != "ResourceNotFoundException" {
		t.Errorf("update after the delete: %s", got)
	}
}

func TestCreateIsChecked(t *testing.T) {
	w := start(t, 0)
	w.made(`{"ThingName":"taken","Kind":"a"}`)
	for name, tc := range map[string]struct{ state, code, message string }{
		"unknown property":             {`{"Kind":"a","Nope":1}`, "InvalidRequest", "#: extraneous key [Nope] is not permitted"},
		"unknown nested property":      {`{"Kind":"a","Net":{"Nope":1}}`, "InvalidRequest", "#/Net: extraneous key [Nope] is not permitted"},
		"missing property":             {`{"Size":1}`, "InvalidRequest", "#: required key [Kind] not found"},
		"number as text":               {`{"Kind":"a","Size":"1"}`, "InvalidRequest", "#/Size: expected type: integer, found: string"},
		"boolean as text":              {`{"Kind":"a","Net":{"Open":"true"}}`, "InvalidRequest", "#/Net/Open: expected type: boolean, found: string"},
		"wrong list element":           {`{"Kind":"a","Labels":[1]}`, "InvalidRequest", "#/Labels/0: expected type: string, found: integer"},
		"null":                         {`{"Kind":"a","Size":null}`, "InvalidRequest", "#/Size: expected type: integer, found: null"},
		"read-only property (T-1001)":  {`{"Kind":"a","Arn":"arn:x"}`, "InvalidRequest", "#: Encountered unsupported property [Arn]"},
		"name that exists (T-1012)":    {`{"ThingName":"taken","Kind":"a"}`, "AlreadyExists", "already exists"},
		"a document may be JSON text":  {`{"Kind":"a","Policy":"{}"}`, "", ""},
		"a document may be an object":  {`{"Kind":"a","Policy":{"any":1}}`, "", ""},
		"a name is made up if missing": {`{"Kind":"a"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := w.create(tc.state, "")
			if err != nil {
				t.Fatal(err)
			}
			if e.OperationStatus != types.OperationStatusInProgress || e.Identifier != nil {
				t.Errorf("first answer: %s, identifier %v", e.OperationStatus, aws.ToString(e.Identifier))
			}
			e = w.status(e)
			if string(e.ErrorCode) != tc.code || !strings.Contains(aws.ToString(e.StatusMessage), tc.message) {
				t.Errorf("got %s %s: %s", e.OperationStatus, e.ErrorCode, aws.ToString(e.StatusMessage))
			}
			if tc.code == "" && aws.ToString(e.Identifier) == "" {
				t.Error("no identifier")
			}
		})
	}
	if _, err := w.create(`not JSON`, ""); code(err) != "ValidationException" {
		t.Errorf("a state that is not JSON: %v", err)
	}
	for typeName, want := range map[string]string{"Acme::No::Such": "TypeNotFoundException", "Acme::Shop::Frozen": "UnsupportedActionException"} {
		_, err := w.CreateResource(t.Context(), &cc.CreateResourceInput{TypeName: &typeName, DesiredState: aws.String("{}")})
		if code(err) != want {
			t.Errorf("%s: got %v, want %s (T-1011)", typeName, err, want)
		}
	}
}

func TestPatches(t *testing.T) {
	for name, tc := range map[string]struct{ patch, want string }{
		"create-only property":                    {`[{"op":"replace","path":"/ThingName","value":"t"}]`, "NotUpdatableException"},
		"nested create-only property":             {`[{"op":"replace","path":"/Net/Fixed","value":"x"}]`, "NotUpdatableException"},
		"create-only below a container, as it is": {`[{"op":"replace","path":"/Net","value":{"Fixed":"x"}}]`, "NotUpdatableException"},
		"sibling of a create-only property":       {`[{"op":"replace","path":"/Net/Open","value":false}]`, "SUCCESS"},
		"read-only property (T-1005)":             {`[{"op":"add","path":"/Arn","value":"arn"}]`, "ValidationException"},
		"replace of a write-only property":        {`[{"op":"replace","path":"/Secret","value":"x"}]`, "ValidationException"},
		"add of a write-only property (T-1004)":   {`[{"op":"add","path":"/Secret","value":"x"}]`, "SUCCESS"},
		"add of what exists (T-1005)":             {`[{"op":"add","path":"/Size","value":9}]`, "SUCCESS"},
		"remove of what is not there":             {`[{"op":"remove","path":"/Labels"}]`, "ValidationException"},
		"remove of what is required":              {`[{"op":"remove","path":"/Kind"}]`, "FAILED InvalidRequest"},
		"wrong type":                              {`[{"op":"add","path":"/Size","value":"9"}]`, "FAILED InvalidRequest"},
		"not a patch":                             {`{}`, "ValidationException"},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, 0)
			id := w.made(`{"ThingName":"t","Kind":"a","Size":1,"Secret":"s","Net":{"Fixed":"x","Open":true}}`)
			if got := w.patch(id, tc.patch); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// One token is one request, whatever became of the answer (T-806, T-1001).
func TestClientTokens(t *testing.T) {
	w := start(t, time.Minute)
	first, err := w.create(`{"Kind":"a"}`, "token")
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.create(`{"Kind":"a"}`, "token")
	if err != nil || *again.RequestToken != *first.RequestToken {
		t.Errorf("the same again: %v, %v", again, err)
	}
	if _, err := w.create(`{"Kind":"b"}`, "token"); code(err) != "ClientTokenConflictException" {
		t.Errorf("other input: %v", err)
	}
	w.now.Add(int64(37 * time.Hour))
	later, err := w.create(`{"Kind":"a"}`, "token")
	if err != nil || *later.RequestToken == *first.RequestToken {
		t.Errorf("after its 36 hours: %v, %v", later, err)
	}
	if n := len(w.Resources()); n != 1 {
		t.Errorf("%d resources, want the first one", n)
	}
}

func TestProgress(t *testing.T) {
	w := start(t, 3*time.Second)
	e, err := w.create(`{"ThingName":"t","Kind":"a"}`, "")
	if err != nil {
		t.Fatal(err)
	}
	if e = w.status(e); e.OperationStatus != types.OperationStatusInProgress || aws.ToString(e.Identifier) != "t" {
		t.Errorf("meanwhile: %s of %s", e.OperationStatus, aws.ToString(e.Identifier))
	}
	if _, err := w.create(`{"ThingName":"t","Kind":"a"}`, ""); code(err) != "ConcurrentOperationException" {
		t.Errorf("a second operation meanwhile: %v", err)
	}
	w.now.Add(int64(3 * time.Second))
	if e = w.status(e); e.OperationStatus != types.OperationStatusSuccess {
		t.Errorf("when it is due: %s", e.OperationStatus)
	}

	e, err = w.create(`{"ThingName":"u","Kind":"a"}`, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.CancelResourceRequest(t.Context(), &cc.CancelResourceRequestInput{RequestToken: e.RequestToken}); err != nil {
		t.Fatal(err)
	}
	w.now.Add(int64(time.Hour))
	if e = w.status(e); e.OperationStatus != types.OperationStatusCancelComplete || w.Resource("eu-west-1", thing.Name, "u") != nil {
		t.Errorf("after the cancel (T-1025): %s", e.OperationStatus)
	}
	list, err := w.ListResourceRequests(t.Context(), &cc.ListResourceRequestsInput{ResourceRequestStatusFilter: &types.ResourceRequestStatusFilter{
		OperationStatuses: []types.OperationStatus{types.OperationStatusCancelComplete},
	}})
	if err != nil || len(list.ResourceRequestStatusSummaries) != 1 {
		t.Errorf("cancelled requests: %v, %v", list, err)
	}
	if _, err := w.GetResourceRequestStatus(t.Context(), &cc.GetResourceRequestStatusInput{RequestToken: aws.String("none")}); code(err) != "RequestTokenNotFoundException" {
		t.Errorf("unknown token (T-1024): %v", err)
	}
}

// A handler that fails may leave something behind (T-1002).
func TestFailures(t *testing.T) {
	for _, remnant := range []bool{false, true} {
		w := start(t, 0)
		w.Fail(cloudcontrol.Failure{Operation: "CREATE", Code: "NotStabilized", Message: "still starting", Remnant: remnant})
		e, err := w.create(`{"ThingName":"t","Kind":"a"}`, "")
		if err != nil {
			t.Fatal(err)
		}
		e = w.status(e)
		there := w.Resource("eu-west-1", thing.Name, "t") != nil
		if e.ErrorCode != types.HandlerErrorCodeNotStabilized || there != remnant || (e.Identifier != nil) != remnant {
			t.Errorf("remnant %t: %s, identifier %s, there %t", remnant, e.ErrorCode, aws.ToString(e.Identifier), there)
		}
	}
}

// A name that is not the identifier is still in what is made up.
func TestNamesInAttributes(t *testing.T) {
	s := cloudcontrol.New(cloudcontrol.Options{})
	id, err := s.Put("eu-west-1", "AWS::SQS::Queue", map[string]any{"QueueName": "orders"})
	if err != nil {
		t.Fatal(err)
	}
	if want := "https://orders.sqs.eu-west-1.amazonaws.com/queue"; id != want {
		t.Errorf("identifier %s, want %s", id, want)
	}
	want := map[string]any{"QueueName": "orders", "QueueUrl": id, "Arn": "arn:aws:sqs:eu-west-1:123456789012:queue/orders"}
	if diff := cmp.Diff(want, s.Resource("eu-west-1", "AWS::SQS::Queue", id)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every type that can be created takes what its schema says, however odd.
func TestAllSchemas(t *testing.T) {
	s := cloudcontrol.New(cloudcontrol.Options{})
	for _, name := range schema.Names() {
		typ, _ := schema.Lookup(name)
		text, err := cloudcontrol.SchemaText(typ)
		if err != nil || !json.Valid([]byte(text)) {
			t.Errorf("%s: %v", name, err)
		}
		model := map[string]any{}
		for _, required := range typ.Required {
			model[required] = "x"
			if typ.Properties[required].Type == "object" {
				model[required] = map[string]any{}
			}
		}
		if _, err := s.Put("us-east-1", name, model); err != nil && typ.Provisionable {
			t.Errorf("%s: %v", name, err)
		}
	}
}
