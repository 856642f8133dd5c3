package asset

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/assembly"
	"github.com/org/cdkd-action/engine/value"
)

var (
	own = Storage{"cdkd-assets-123456789012-eu-west-1", "cdkd-container-assets-123456789012-eu-west-1"}
	at  = Environment{Stack: "S", AccountID: "123456789012", Region: "eu-west-1"}
)

func bootstrapped() *assembly.AssetManifest {
	return &assembly.AssetManifest{
		Files: []assembly.FileAsset{{ID: "f", Path: "asset.f", Packaging: "zip", Destinations: []assembly.FileDestination{
			{ID: "current", Bucket: "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}", Key: "f.zip", Region: "eu-west-1"},
		}}},
		Images: []assembly.ImageAsset{{ID: "i", Destinations: []assembly.ImageDestination{
			{ID: "current", Repository: "cdk-hnb659fds-container-assets-123456789012-eu-west-1", Tag: "i"},
		}}},
	}
}

func TestWhatIsRedirected(t *testing.T) {
	bucket := func(name, region, path string) *assembly.AssetManifest {
		return &assembly.AssetManifest{Files: []assembly.FileAsset{{ID: "f", Path: path, Destinations: []assembly.FileDestination{{Bucket: name, Key: "k", Region: region}}}}}
	}
	for _, c := range []struct {
		rule string
		m    *assembly.AssetManifest
		want bool
	}{
		{"no manifest", nil, false},
		{"the CDK's bucket, with placeholders", bucket("cdk-x1-assets-${AWS::AccountId}-${AWS::Region}", "", "a"), true},
		{"the CDK's bucket, written out", bucket("cdk-x1-assets-123456789012-eu-west-1", "${AWS::Region}", "a"), true},
		{"only templates count as none (T-102)", bucket("cdk-x1-assets-123456789012-eu-west-1", "", "S.template.json"), false},
		{"a destination in another region (T-140)", bucket("cdk-x1-assets-123456789012-us-east-1", "us-east-1", "a"), false},
		{"another account's bucket (T-140)", bucket("cdk-x1-assets-210987654321-eu-west-1", "", "a"), false},
		{"a bucket of the app's own (T-140)", bucket("my-assets", "", "a"), false},
		{"a staging bucket (T-140)", bucket("cdk-app-staging-123456789012-eu-west-1", "", "a"), false},
		{"a repository's form is no bucket's", bucket("cdk-x1-container-assets-123456789012-eu-west-1", "", "a"), false},
	} {
		if got := Redirect(c.m, at) != nil; got != c.want {
			t.Errorf("%s: redirected is %v", c.rule, got)
		}
	}
}

func TestRedirectManifest(t *testing.T) { // (T-143)
	m := bootstrapped()
	got := Redirect(m, at).Manifest(m, own)
	want := bootstrapped()
	want.Files[0].Destinations[0].Bucket, want.Files[0].Destinations[0].Owned = own.Bucket, true
	want.Images[0].Destinations[0].Repository = own.Repository
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(bootstrapped(), m); diff != "" {
		t.Errorf("the app's manifest was changed (-want +got):\n%s", diff)
	}
}

func TestRedirectTemplate(t *testing.T) {
	r := Redirect(bootstrapped(), at)
	for _, c := range []struct{ rule, in, want string }{
		{"every spelling (T-141)",
			`["cdk-hnb659fds-assets-123456789012-eu-west-1",
			  {"Fn::Sub": "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"},
			  {"Fn::Sub": "cdk-hnb659fds-assets-${AWS::AccountId}-eu-west-1"},
			  {"Fn::Sub": "cdk-hnb659fds-assets-123456789012-${AWS::Region}"}]`,
			`["cdkd-assets-123456789012-eu-west-1", {"Fn::Sub": "cdkd-assets-123456789012-eu-west-1"},
			  {"Fn::Sub": "cdkd-assets-123456789012-eu-west-1"}, {"Fn::Sub": "cdkd-assets-123456789012-eu-west-1"}]`},
		{"a repository, and not the bucket whose name ends likewise (T-141)",
			`{"Fn::Sub": "${AWS::AccountId}.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}/cdk-hnb659fds-container-assets-${AWS::AccountId}-${AWS::Region}:i"}`,
			`{"Fn::Sub": "${AWS::AccountId}.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}/cdkd-container-assets-123456789012-eu-west-1:i"}`},
		{"several in one text",
			`"arn:aws:s3:::cdk-hnb659fds-assets-123456789012-eu-west-1,arn:aws:s3:::cdk-hnb659fds-assets-123456789012-eu-west-1/*"`,
			`"arn:aws:s3:::cdkd-assets-123456789012-eu-west-1,arn:aws:s3:::cdkd-assets-123456789012-eu-west-1/*"`},
		{"a host name goes on after it (T-141)", `"https://cdk-hnb659fds-assets-123456789012-eu-west-1.s3.amazonaws.com"`, `"https://cdkd-assets-123456789012-eu-west-1.s3.amazonaws.com"`},
		{"parts of longer names stay (T-141)",
			`["cdk-hnb659fds-assets-123456789012-eu-west-10", "my.cdk-hnb659fds-assets-123456789012-eu-west-1", "my-cdk-hnb659fds-assets-123456789012-eu-west-1", "cdk-hnb659fds-assets-123456789012-eu-west-1_x"]`,
			`["cdk-hnb659fds-assets-123456789012-eu-west-10", "my.cdk-hnb659fds-assets-123456789012-eu-west-1", "my-cdk-hnb659fds-assets-123456789012-eu-west-1", "cdk-hnb659fds-assets-123456789012-eu-west-1_x"]`},
		{"in parts of a join (T-142)",
			`{"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":s3:::cdk-hnb659fds-assets-", {"Ref": "AWS::AccountId"}, "-", {"Ref": "AWS::Region"}, "/*", {"Ref": "P"}, "x"]]}`,
			`{"Fn::Join": ["", ["arn:aws:s3:::cdkd-assets-123456789012-eu-west-1/*", {"Ref": "P"}, "x"]]}`},
		{"a join with a delimiter (T-142)",
			`{"Fn::Join": ["-", ["cdk-hnb659fds-assets", {"Ref": "AWS::AccountId"}, {"Ref": "AWS::Region"}]]}`,
			`{"Fn::Join": ["-", ["cdkd-assets-123456789012-eu-west-1"]]}`},
		{"a join that does not name it is left as written (T-142)",
			`{"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":sns:", {"Ref": "AWS::Region"}]]}`,
			`{"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":sns:", {"Ref": "AWS::Region"}]]}`},
		{"a join whose delimiter is not known is left (T-142)",
			`{"Fn::Join": [{"Ref": "D"}, ["cdk-hnb659fds-assets", {"Ref": "AWS::AccountId"}, {"Ref": "AWS::Region"}]]}`,
			`{"Fn::Join": [{"Ref": "D"}, ["cdk-hnb659fds-assets", {"Ref": "AWS::AccountId"}, {"Ref": "AWS::Region"}]]}`},
		{"keys stay (T-143)", `{"cdk-hnb659fds-assets-123456789012-eu-west-1": 1}`, `{"cdk-hnb659fds-assets-123456789012-eu-west-1": 1}`},
	} {
		in, err := value.Parse([]byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		want, _ := value.Parse([]byte(c.want))
		before := value.JSON(in)
		got, changed := r.Value(in, own)
		if diff := cmp.Diff(value.JSON(want), value.JSON(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.rule, diff)
		}
		if changed != (c.in != c.want) {
			t.Errorf("%s: changed is %v", c.rule, changed)
		}
		if value.JSON(in) != before {
			t.Errorf("%s: the template was changed", c.rule)
		}
	}
}

func TestMissedName(t *testing.T) { // (T-145)
	r := Redirect(bootstrapped(), at)
	props, _ := value.Parse([]byte(`{"Code": {"S3Bucket": "cdk-hnb659fds-assets-123456789012-eu-west-1"}, "Other": ["x"]}`))
	err, _ := r.Missed(props).(*MissedError)
	if err == nil || err.Path != "Code.S3Bucket" {
		t.Errorf("got %v", err)
	}
	moved, _ := r.Value(props, own)
	if err := r.Missed(moved); err != nil {
		t.Errorf("after it was redirected: %v", err)
	}
	if err := (*Redirection)(nil).Missed(props); err != nil {
		t.Errorf("nothing is redirected, and still: %v", err)
	}
}
