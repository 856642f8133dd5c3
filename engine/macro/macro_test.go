package macro_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/macro"
	"github.com/org/cdkd-action/engine/template"
)

// A formation is CloudFormation, as far as change sets on empty stacks go. It
// speaks the query protocol.
type formation struct {
	processed string
	statuses  []string // of the change sets, one a look; the last stays
	reason    string
	denied    string // an action that the caller must not use

	created []url.Values
	deleted []string
	actions []string
}

func (f *formation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // the SDK's own form
	action := r.Form.Get("Action")
	f.actions = append(f.actions, action)
	if action == f.denied {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`)
		return
	}
	result := ""
	switch action {
	case "CreateChangeSet":
		f.created = append(f.created, r.Form)
		result = "<Id>arn:set</Id>"
	case "DescribeChangeSet":
		status := f.statuses[0]
		if len(f.statuses) > 1 {
			f.statuses = f.statuses[1:]
		}
		result = "<Status>" + status + "</Status><StatusReason>" + f.reason + "</StatusReason>"
	case "GetTemplate":
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(f.processed)) // into memory
		result = "<TemplateBody>" + b.String() + "</TemplateBody>"
		if r.Form.Get("TemplateStage") != "Processed" || r.Form.Get("ChangeSetName") == "" {
			result = ""
		}
	case "DeleteStack":
		f.deleted = append(f.deleted, r.Form.Get("StackName"))
	}
	fmt.Fprintf(w, `<%sResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><%sResult>%s</%sResult></%sResponse>`, action, action, result, action, action)
}

const (
	sam = `{"Transform": "AWS::Serverless-2016-10-31", "Parameters": {
		"Given": {"Type": "String"}, "Default": {"Type": "CommaDelimitedList", "Default": "a,b"},
		"Secret": {"Type": "String", "NoEcho": true}, "Vpc": {"Type": "AWS::EC2::VPC::Id"}, "Subnets": {"Type": "List<AWS::EC2::Subnet::Id>"},
		"Paths": {"Type": "AWS::SSM::Parameter::Value<List<String>>"}, "Odd": {"Type": "Acme::Odd"}},
		"Resources": {"F": {"Type": "AWS::Serverless::Function"}}}`
	expanded = `{"Resources": {"F": {"Type": "AWS::Lambda::Function"}, "FRole": {"Type": "AWS::IAM::Role"}}}`
)

type trial struct {
	*macro.Expander
	waited  []time.Duration
	warned  []string
	lent    string
	removed bool
}

func try(t *testing.T, f *formation) *trial {
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	tr := &trial{}
	tr.Expander = &macro.Expander{
		Client: cloudformation.New(cloudformation.Options{
			Region: "eu-west-1", BaseEndpoint: &server.URL, RetryMaxAttempts: 1,
			Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider("AKID", "secret", "")),
		}),
		Upload: func(_ context.Context, stack string, body []byte) (string, func(), error) {
			tr.lent = string(body)
			return "https://bucket/" + stack, func() { tr.removed = true }, nil
		},
		Wait: func(_ context.Context, d time.Duration) error { tr.waited = append(tr.waited, d); return nil },
		Cleanup: func(d time.Duration) (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), d)
		},
		Warn: func(text string) { tr.warned = append(tr.warned, text) },
	}
	return tr
}

func (tr *trial) expand(t *testing.T, body string) (*template.Template, error) {
	t.Helper()
	tmpl, err := template.Parse("sam.json", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return tr.Expand(t.Context(), tmpl, []byte(body), map[string]string{"Given": "value", "Secret": "s3cret"})
}

// A template is expanded by a change set on a stack that is made for it and
// deleted afterwards; every parameter has a value, a secret one not its own (T-81,
// T-83).
func TestExpand(t *testing.T) {
	f := &formation{processed: expanded, statuses: []string{"CREATE_PENDING", "CREATE_IN_PROGRESS", "CREATE_COMPLETE"}}
	tr := try(t, f)
	got, err := tr.expand(t, sam)
	if err != nil {
		t.Fatal(err)
	}
	if got.Resource("FRole") == nil || len(got.Macros()) > 0 {
		t.Errorf("got %v", got.Body)
	}
	in := f.created[0]
	parameters := map[string]string{}
	for i := 1; in.Has(fmt.Sprintf("Parameters.member.%d.ParameterKey", i)); i++ {
		parameters[in.Get(fmt.Sprintf("Parameters.member.%d.ParameterKey", i))] = in.Get(fmt.Sprintf("Parameters.member.%d.ParameterValue", i))
	}
	want := map[string]string{"Given": "value", "Default": "a,b", "Secret": "placeholder", "Vpc": "vpc-00000000", "Subnets": "subnet-00000000", "Paths": "placeholder,placeholder", "Odd": "placeholder"}
	if diff := cmp.Diff(want, parameters); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if in.Get("ChangeSetType") != "CREATE" || in.Get("Capabilities.member.1") != "CAPABILITY_AUTO_EXPAND" || in.Get("TemplateBody") != sam {
		t.Errorf("change set: %v", in)
	}
	stack := in.Get("StackName")
	if !strings.HasPrefix(stack, "cdkd-macro-expand-") || len(stack) != len("cdkd-macro-expand-")+16 || in.Get("ChangeSetName") != stack+"-changeset" {
		t.Errorf("stack %s, change set %s", stack, in.Get("ChangeSetName"))
	}
	if diff := cmp.Diff([]string{stack}, f.deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]time.Duration{2 * time.Second, 3 * time.Second}, tr.waited); diff != "" {
		t.Errorf("waited (-want +got):\n%s", diff)
	}
	if len(tr.warned) != 1 || !strings.Contains(tr.warned[0], "parameter Odd") {
		t.Errorf("warned: %v", tr.warned)
	}
}

func TestExpandRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		f      formation
		body   string
		want   string
		remedy string
		stacks int // made, and deleted again
	}{
		{"the change set fails", formation{statuses: []string{"FAILED"}, reason: "no such macro Nope"}, sam, "the change set failed: no such macro Nope", "correct", 1},
		{"early validation fails for good (T-84)", formation{statuses: []string{"FAILED"}, reason: "AWS::EarlyValidation::PropertyValidation"}, sam, "AWS::EarlyValidation::PropertyValidation", "correct", 3},
		{"it never ends (T-81)", formation{statuses: []string{"CREATE_IN_PROGRESS"}}, sam, "not made after 10m0s", "correct", 1},
		{"a macro is left (T-85)", formation{statuses: []string{"CREATE_COMPLETE"}, processed: sam}, sam, "what came back still uses AWS::Serverless-2016-10-31", "correct", 1},
		{"what comes back is no template (T-85)", formation{statuses: []string{"CREATE_COMPLETE"}, processed: "Resources: {}"}, sam, "what came back: template sam.json: not JSON", "correct", 1},
		{"resources are no object (T-85)", formation{statuses: []string{"CREATE_COMPLETE"}, processed: `{"Resources": []}`}, sam, "Resources: want an object", "correct", 1},
		{"it is too long (T-82)", formation{}, `{"Transform": "M", "Description": "` + strings.Repeat("x", 1<<20) + `"}`, "CloudFormation takes 1048576", "correct", 0},
		{"the caller must not", formation{denied: "CreateChangeSet"}, sam, "AccessDenied", "allow cloudformation:CreateChangeSet", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := try(t, &c.f)
			_, err := tr.expand(t, c.body)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "have CloudFormation expand template sam.json (") {
				t.Fatalf("want %q, got %v", c.want, err)
			}
			var e *macro.Error
			if !errors.As(err, &e) || !strings.Contains(e.Remedy(), c.remedy) {
				t.Errorf("remedy: %v", err)
			}
			if len(c.f.deleted) != c.stacks {
				t.Errorf("%d stacks were deleted, want %d", len(c.f.deleted), c.stacks)
			}
		})
	}
}

// What early validation refuses for the moment is tried again on another stack
// (T-84).
func TestEarlyValidation(t *testing.T) {
	f := &formation{processed: expanded, statuses: []string{"FAILED", "FAILED", "CREATE_COMPLETE"}, reason: "AWS::EarlyValidation::X"}
	tr := try(t, f)
	if _, err := tr.expand(t, sam); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]time.Duration{2 * time.Second, 4 * time.Second}, tr.waited); diff != "" {
		t.Errorf("waited (-want +got):\n%s", diff)
	}
	if f.created[0].Get("StackName") == f.created[1].Get("StackName") || len(f.deleted) != 3 {
		t.Errorf("stacks: %v", f.deleted)
	}
}

// A template that is too long for a request goes by the state bucket, and not for
// longer than it is needed (T-82). A stack that stays is named.
func TestLongTemplate(t *testing.T) {
	f := &formation{processed: expanded, statuses: []string{"CREATE_COMPLETE"}, denied: "DeleteStack"}
	tr := try(t, f)
	body := strings.Replace(sam, `"Resources"`, `"Description": "`+strings.Repeat("x", 60000)+`", "Resources"`, 1)
	if _, err := tr.expand(t, body); err != nil {
		t.Fatal(err)
	}
	stack := f.created[0].Get("StackName")
	if f.created[0].Has("TemplateBody") || f.created[0].Get("TemplateURL") != "https://bucket/"+stack || tr.lent != body || !tr.removed {
		t.Errorf("url %s, removed %t", f.created[0].Get("TemplateURL"), tr.removed)
	}
	if said := strings.Join(tr.warned, "\n"); !strings.Contains(said, "aws cloudformation delete-stack --stack-name "+stack) {
		t.Errorf("warned: %s", said)
	}
}
