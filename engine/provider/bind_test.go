package provider

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/document"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/org/cdkd-action/engine/schema"
	"github.com/org/cdkd-action/engine/value"
)

func object(t testing.TB, text string) *value.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	o, err := value.ParseObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func request(t testing.TB, props, previous string) *Request {
	return &Request{
		Stack: Stack{Name: "Shop", Region: "eu-west-1"}, LogicalID: "Thing", Type: "AWS::Some::Thing",
		Properties: object(t, props), Previous: object(t, previous),
	}
}

var sdkOnly = cmpopts.IgnoreTypes(document.NoSerde{})

func equalInput(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, sdkOnly); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
}

func TestRoleBindsByName(t *testing.T) {
	b := Bind[iam.CreateRoleInput](Only("RoleName", "AssumeRolePolicyDocument", "MaxSessionDuration", "Tags", "Path", "PermissionsBoundary"))
	in, err := b.Input(request(t, `{"RoleName":"r","MaxSessionDuration":"7200","Description":"left out","Path":null,
		"AssumeRolePolicyDocument":{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:<b>"}]},
		"Tags":[{"Key":"a","Value":"1"},{"Key":"b","Value":2}],"ManagedPolicyArns":["x"]}`, ""))
	if err != nil {
		t.Fatal(err)
	}
	equalInput(t, &iam.CreateRoleInput{
		RoleName:                 aws.String("r"),
		MaxSessionDuration:       aws.Int32(7200),
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:<b>"}]}`),
		Tags:                     []iamtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}},
	}, in)
}

func TestQueueAttributesAreABag(t *testing.T) {
	b := Bind[sqs.CreateQueueInput](Bag("Attributes", "DelaySeconds", "FifoQueue", "RedrivePolicy", "KmsMasterKeyId=KmsKey"))
	in, err := b.Input(request(t, `{"QueueName":"q","DelaySeconds":5,"FifoQueue":true,"KmsMasterKeyId":"k",
		"RedrivePolicy":{"maxReceiveCount":3},"Tags":[{"Key":"a","Value":"1"}]}`, ""))
	if err != nil {
		t.Fatal(err)
	}
	equalInput(t, &sqs.CreateQueueInput{
		QueueName: aws.String("q"),
		Attributes: map[string]string{
			"DelaySeconds": "5", "FifoQueue": "true", "RedrivePolicy": `{"maxReceiveCount":3}`, "KmsKey": "k"},
		Tags: map[string]string{"a": "1"},
	}, in)
}

// thing has the shapes that the services imported here do not.
type thing struct {
	Name     *string
	Enabled  bool
	Count    *int64
	Ratio    *float64
	At       *time.Time
	Choice   union
	Origins  *origins
	Inner    *inner
	List     []inner
	ByName   map[string]inner
	TagsOf   []otherTag
	Switch   *attributeBoolean
	Body     []byte
	Flat     *string
	Token    *string
	Specials []string
}

type (
	union   interface{ isUnion() }
	textOf  struct{ Text string }
	origins struct {
		Quantity *int32
		Items    []string
	}
	inner struct {
		ID   *string
		Mode mode
		Deep *inner
	}
	mode             string
	otherTag         struct{ TagKey, TagValue *string }
	attributeBoolean struct{ Value *bool }
)

func (textOf) isUnion() {}

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		rule, props, previous string
		opts                  []Option
		want                  thing
	}{
		{rule: "names ignore case and punctuation", props: `{"na-me":"x","COUNT":1}`, want: thing{Name: aws.String("x"), Count: aws.Int64(1)}},
		{rule: "text becomes booleans and numbers", props: `{"Enabled":"True","Count":"10","Ratio":"0.5"}`,
			want: thing{Enabled: true, Count: aws.Int64(10), Ratio: aws.Float64(0.5)}},
		{rule: "numbers and booleans become text", props: `{"Name":10,"Flat":false}`, want: thing{Name: aws.String("10"), Flat: aws.String("false")}},
		{rule: "whole floats are integers", props: `{"Count":1e3}`, want: thing{Count: aws.Int64(1000)}},
		{rule: "as text, too", props: `{"Count":"30.0","Ratio":"3e1"}`, want: thing{Count: aws.Int64(30), Ratio: aws.Float64(30)}},
		{rule: "a number that becomes text stays as written", props: `{"Name":1e400,"Flat":1.0}`, want: thing{Name: aws.String("1e400"), Flat: aws.String("1.0")}},
		{rule: "large numbers keep every digit", props: `{"Count":9007199254740993}`, want: thing{Count: aws.Int64(9007199254740993)}},
		{rule: "times as text", props: `{"At":"2026-01-02T03:04:05Z"}`, want: thing{At: aws.Time(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))}},
		{rule: "times as seconds", props: `{"At":1700000000}`, want: thing{At: aws.Time(time.Unix(1700000000, 0).UTC())}},
		{rule: "lists with a quantity", props: `{"Origins":["a","b"]}`, want: thing{Origins: &origins{aws.Int32(2), []string{"a", "b"}}}},
		{rule: "an empty list is sent", props: `{"Specials":[]}`, want: thing{Specials: []string{}}},
		{rule: "boxed scalars", props: `{"Switch":"true"}`, want: thing{Switch: &attributeBoolean{aws.Bool(true)}}},
		{rule: "structs, lists, maps and enums", props: `{"Inner":{"Id":"1","Mode":"ON","Deep":{"ID":"2"}},"List":[{"Id":"3"},null],"ByName":{"a-B":{"Id":"4"}}}`,
			want: thing{Inner: &inner{ID: aws.String("1"), Mode: "ON", Deep: &inner{ID: aws.String("2")}},
				List: []inner{{ID: aws.String("3")}}, ByName: map[string]inner{"a-B": {ID: aws.String("4")}}}},
		{rule: "tags as a list, spelled otherwise", props: `{"TagsOf":[{"Key":"a","Value":"1"}]}`,
			want: thing{TagsOf: []otherTag{{aws.String("a"), aws.String("1")}}}},
		{rule: "tags as a map become a list", props: `{"TagsOf":{"a":"1"}}`, want: thing{TagsOf: []otherTag{{aws.String("a"), aws.String("1")}}}},
		{rule: "renames at any depth", props: `{"Title":"x","Inner":{"Deep":{"Nick":"y"}}}`,
			opts: []Option{Rename{"Title": "Name", "Inner.Deep.Nick": "ID"}},
			want: thing{Name: aws.String("x"), Inner: &inner{Deep: &inner{ID: aws.String("y")}}}},
		{rule: "a rename reaches into a struct", props: `{"Key":"x"}`, opts: []Option{Rename{"Key": "Inner.Deep.ID"}},
			want: thing{Inner: &inner{Deep: &inner{ID: aws.String("x")}}}},
		{rule: "a rename spreads an object", props: `{"Box":{"Name":"x","Count":2}}`, opts: []Option{Rename{"Box": "."}},
			want: thing{Name: aws.String("x"), Count: aws.Int64(2)}},
		{rule: "skipped", props: `{"Name":"x","Inner":{"Id":"1","Mode":"m"}}`, opts: []Option{Skip("Name", "Inner.Mode")}, want: thing{Inner: &inner{ID: aws.String("1")}}},
		{rule: "a list as JSON text", props: `{"Name":[1,{"a":"b"}]}`, opts: []Option{JSON("Name")}, want: thing{Name: aws.String(`[1,{"a":"b"}]`)}},
		{rule: "unions by hand", props: `{"Choice":"x"}`,
			opts: []Option{Custom("Choice", func(v any) (union, error) { return textOf{v.(string)}, nil })}, want: thing{Choice: textOf{"x"}}},
		{rule: "a value behind a pointer by hand", props: `{"Name":"x"}`,
			opts: []Option{Custom("Name", func(v any) (string, error) { return v.(string) + "!", nil })}, want: thing{Name: aws.String("x!")}},
		{rule: "a removed property is cleared", props: `{"Inner":{"Id":"1"}}`, previous: `{"Name":"x","Inner":{"Mode":"ON"}}`,
			opts: []Option{Clear{"Name": "", "Inner.Mode": "OFF", "Flat": "never was"}}, want: thing{Name: aws.String(""), Inner: &inner{ID: aws.String("1"), Mode: "OFF"}}},
		{rule: "clearing makes the object it needs", props: `{}`, previous: `{"Inner":{"Mode":"ON"}}`,
			opts: []Option{Clear{"Inner.Mode": "OFF"}}, want: thing{Inner: &inner{Mode: "OFF"}}},
		{rule: "id, token and last word", props: `{}`, opts: []Option{ID("Name"), Token("Token"),
			Finish(func(r *Request, in *thing) error { in.Flat = aws.String(r.LogicalID); return nil })},
			want: thing{Name: aws.String("id-1"), Token: aws.String("tok"), Flat: aws.String("Thing")}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			r := request(t, c.props, c.previous)
			r.PhysicalID, r.Token = "id-1", "tok"
			before := value.JSON(r.Properties)
			in, err := Bind[thing](c.opts...).Input(r)
			if err != nil {
				t.Fatal(err)
			}
			equalInput(t, &c.want, in)
			if after := value.JSON(r.Properties); after != before {
				t.Errorf("the properties were changed: %s, were %s", after, before)
			}
		})
	}
}

func TestBindErrorsNameThePlaceAndNoValue(t *testing.T) {
	for _, c := range []struct{ props, path, want, got string }{
		{`{"Count":"s3cret"}`, "Count", "a whole number", "a string"},
		{`{"Count":1.5}`, "Count", "a whole number", "a number"},
		{`{"Count":4.9999999999999999999}`, "Count", "a whole number", "a number"},
		{`{"Count":1e400}`, "Count", "a whole number that fits into 64 bits", "a number"},
		{`{"Count":9223372036854775808}`, "Count", "a whole number that fits into 64 bits", "a number"},
		{`{"Origins":{"Quantity":2147483648}}`, "Origins.Quantity", "a whole number that fits into 32 bits", "a number"},
		{`{"Ratio":1e400}`, "Ratio", "a number that fits into 64 bits", "a number"},
		{`{"Ratio":"NaN"}`, "Ratio", "a number", "a string"},
		{`{"Ratio":"Infinity"}`, "Ratio", "a number", "a string"},
		{`{"Ratio":"0x1p4"}`, "Ratio", "a number", "a string"},
		{`{"At":1e300}`, "At", "a time (RFC 3339, or seconds since 1970)", "a number"},
		{`{"Enabled":"maybe"}`, "Enabled", "true or false", "a string"},
		{`{"List":[{"Id":"1"},{"Deep":"x"}]}`, "List[1].Deep", "an object", "a string"},
		{`{"Specials":"x"}`, "Specials", "a list", "a string"},
		{`{"Specials":[["s3cret"]]}`, "Specials[0]", "text or an object", "a list"},
		{`{"At":"yesterday"}`, "At", "a time (RFC 3339, or seconds since 1970)", "a string"},
		{`{"Body":"x"}`, "Body", "a list", "a string"},
		{`{"Choice":{}}`, "Choice", "a value that this call can take", "an object"},
	} {
		t.Run(c.props, func(t *testing.T) {
			_, err := Bind[thing]().Input(request(t, c.props, ""))
			var fault *BindError
			if !errors.As(err, &fault) {
				t.Fatalf("want a BindError, got %v", err)
			}
			want := &BindError{Stack: "Shop", LogicalID: "Thing", Type: "AWS::Some::Thing", Path: c.path, Want: c.want, Got: c.got}
			if diff := cmp.Diff(want, fault); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCoverage(t *testing.T) {
	text := &schema.Property{Type: "string"}
	deep := &schema.Property{Type: "object", Properties: map[string]*schema.Property{"Id": text, "Unknown": text}}
	deep.Properties["Deep"] = deep
	typ := &schema.Type{
		Properties: map[string]*schema.Property{
			"Name": text, "Arn": text, "Missing": text, "Inner": deep, "List": {Type: "array", Items: deep}, "Sat": text,
			"Tags": {}, "Choice": {}, "Count": {}, "Named": {}, "Half": deep, "Body": text, "ByHand": deep},
		ReadOnly: []string{"Arn", "List/*/Unknown"},
	}
	res := Resource{
		Name: "Named", Tags: Tags{Property: "Tags"}, Handled: []string{"ByHand"},
		Inputs:     []Input{Bind[thing](Rename{"Half": "Inner"}), Bind[struct{ Half *struct{ Unknown *string } }]()},
		Satellites: []Satellite{{Properties: []string{"Sat"}}},
	}
	want := Coverage{
		Handled:   []string{"Body", "ByHand", "Choice", "Count", "Half", "Inner", "List", "Name", "Named", "Sat", "Tags"},
		Unhandled: []string{"Body", "Choice", "Inner.Unknown", "Missing"},
	}
	if diff := cmp.Diff(want, res.Coverage(typ)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		rule, props string
		want        []string
	}{
		{"used at any depth", `{"List":[{"Id":"x"}],"Inner":{"Deep":{"Id":1}},"Missing":1}`, []string{"Missing"}},
		{"below a property", `{"Inner":{"Unknown":"x"}}`, []string{"Inner.Unknown"}},
		{"functions are not properties", `{"Inner":{"Fn::GetAtt":["Missing","Unknown"]}}`, nil},
		{"both branches count", `{"Inner":{"Fn::If":["C",{"Id":"x"},{"Unknown":"x"}]}}`, []string{"Inner.Unknown"}},
		{"AWS::NoValue is no use", `{"Missing":{"Fn::If":["C",{"Ref":"AWS::NoValue"},{"Ref":"AWS::NoValue"}]}}`, nil},
		{"null is no use", `{"Missing":null}`, nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			if diff := cmp.Diff(c.want, used(want.Unhandled, object(t, c.props))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnbindIsTheWayBack(t *testing.T) {
	queue, ok := schema.Lookup("AWS::SQS::Queue")
	if !ok {
		t.Fatal("no schema of AWS::SQS::Queue")
	}
	got := Unbind(&sqs.GetQueueAttributesOutput{Attributes: map[string]string{
		"DelaySeconds": "5", "FifoQueue": "true", "RedrivePolicy": `{"maxReceiveCount":3}`, "QueueArn": "arn:q", "KmsMasterKeyId": "",
	}}, queue, Bag("Attributes", "DelaySeconds", "FifoQueue", "RedrivePolicy", "KmsMasterKeyId"))
	if want := object(t, `{"DelaySeconds":5,"FifoQueue":true,"RedrivePolicy":{"maxReceiveCount":3}}`); !value.Equal(want, got) {
		t.Errorf("queue: want %s, got %s", value.JSON(want), value.JSON(got))
	}
	role, _ := schema.Lookup("AWS::IAM::Role")
	got = Unbind(&iamtypes.Role{
		RoleName: aws.String("r"), Arn: aws.String("arn:r"), RoleId: aws.String("AROA"), MaxSessionDuration: aws.Int32(3600),
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17"}`),
		Tags:                     []iamtypes.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
		PermissionsBoundary:      &iamtypes.AttachedPermissionsBoundary{PermissionsBoundaryArn: aws.String("arn:b")},
		CreateDate:               aws.Time(time.Unix(0, 0)),
	}, role, Rename{"PermissionsBoundary": "PermissionsBoundary.PermissionsBoundaryArn"})
	want := object(t, `{"RoleName":"r","MaxSessionDuration":3600,"AssumeRolePolicyDocument":{"Version":"2012-10-17"},"Tags":[{"Key":"a","Value":"1"}],"PermissionsBoundary":"arn:b"}`)
	if !value.Equal(want, got) {
		t.Errorf("role: want %s, got %s", value.JSON(want), value.JSON(got))
	}
}

func TestCompare(t *testing.T) {
	d := Compare(object(t, `{"Same":1,"Gone":2,"Other":[1]}`), object(t, `{"Same":1.0,"New":3,"Other":[1,2]}`))
	if diff := cmp.Diff([]string{"New", "Other", "Gone"}, d.Properties()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !d.Removed("Gone") || d.Removed("Other") || d.Changed("Same") || !d.Changed("Same", "New") {
		t.Error("Gone is removed, Other changed, Same neither")
	}
}

func FuzzBind(f *testing.F) {
	f.Add(`{"Name":"x","List":[{"Id":1}],"Origins":["a"],"TagsOf":{"a":"b"},"At":1,"ByName":{"a":{}}}`)
	b := Bind[thing](Clear{"Inner.Mode": "OFF"})
	f.Fuzz(func(t *testing.T, text string) {
		o, err := value.ParseObject([]byte(text))
		if err != nil {
			return
		}
		before := value.JSON(o)
		_, err = b.Input(&Request{Properties: o, Previous: o})
		if _, ok := errors.AsType[*BindError](err); err != nil && !ok {
			t.Errorf("want a BindError, got %v", err)
		}
		if after := value.JSON(o); after != before {
			t.Errorf("binding changed the properties: %s, were %s", after, before)
		}
	})
}
