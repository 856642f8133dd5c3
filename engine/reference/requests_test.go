package reference_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"github.com/org/cdkd-action/engine/reference"
)

// An answerer is an AWS that answers everything in one way and keeps what it was
// asked, and in which region.
type answerer struct {
	contentType, body string
	asked             []string
}

func (a *answerer) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	region := strings.Split(r.Header.Get("Authorization"), "/")[2]
	a.asked = append(a.asked, region+" "+string(body))
	return &http.Response{StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {a.contentType}}, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

func (a *answerer) resolver() *reference.Resolver {
	return reference.New(aws.Config{Region: "eu-west-1", HTTPClient: a, Credentials: credentials.NewStaticCredentialsProvider("AKID", "s", "")})
}

// Local and wavelength zones, and those that an account has to opt in to, are none
// of a region's zones; the rest are sorted (T-273, T-274).
func TestZones(t *testing.T) {
	zone := func(name, kind, opt string) string {
		return "<item><zoneName>" + name + "</zoneName><zoneType>" + kind + "</zoneType><optInStatus>" + opt + "</optInStatus></item>"
	}
	a := &answerer{contentType: "text/xml", body: `<DescribeAvailabilityZonesResponse><availabilityZoneInfo>` +
		zone("eu-west-1b", "availability-zone", "opt-in-not-required") +
		zone("eu-west-1-lon-1a", "local-zone", "opted-in") +
		zone("eu-west-1-wl1-ber-wlz-1", "wavelength-zone", "opted-in") +
		zone("eu-west-1z", "availability-zone", "not-opted-in") +
		zone("eu-west-1a", "availability-zone", "opt-in-not-required") + `</availabilityZoneInfo></DescribeAvailabilityZonesResponse>`}
	r := a.resolver()
	for range 2 {
		zones, err := r.AvailabilityZones(t.Context(), "EU-West-1")
		if diff := cmp.Diff([]string{"eu-west-1a", "eu-west-1b"}, zones); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		zones[0] = "mine" // the caller's to change
	}
	if len(a.asked) != 1 || !strings.Contains(a.asked[0], "Filter.2.Name=state&Filter.2.Value.1=available") {
		t.Errorf("asked %q", a.asked)
	}
}

// A version is asked for as it is written: a stage only where one is, since AWS
// refuses a stage and a version that do not belong together. A secret is asked for
// in the region that its ARN names, else in the stack's (T-286, T-287, T-291).
func TestVersionsOfSecrets(t *testing.T) {
	const arn = "arn:aws:secretsmanager:us-east-2:123456789012:secret:db-AbCdEf"
	for reference, want := range map[string]string{
		"db":                               `eu-west-1 {"SecretId":"db"}`,
		"db:SecretString:k":                `eu-west-1 {"SecretId":"db"}`,
		"db:SecretString:k:AWSPREVIOUS":    `eu-west-1 {"SecretId":"db","VersionStage":"AWSPREVIOUS"}`,
		"db:SecretString:k::v1":            `eu-west-1 {"SecretId":"db","VersionId":"v1"}`,
		"db:SecretString:k:AWSPENDING:v1":  `eu-west-1 {"SecretId":"db","VersionId":"v1","VersionStage":"AWSPENDING"}`,
		arn + ":SecretString:k:AWSCURRENT": `us-east-2 {"SecretId":"` + arn + `","VersionStage":"AWSCURRENT"}`,
		arn:                                `us-east-2 {"SecretId":"` + arn + `"}`,
	} {
		a := &answerer{contentType: "application/x-amz-json-1.1", body: `{"SecretString": "{\"k\": \"v\"}"}`}
		if _, secret, err := a.resolver().Dynamic(t.Context(), "secretsmanager", reference); err != nil || !secret {
			t.Errorf("%s: %t, %v", reference, secret, err)
		}
		if diff := cmp.Diff([]string{want}, a.asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", reference, diff)
		}
	}
}

// A parameter's name goes to AWS with its version. Of one that may be secret, also
// of a type that is not known, whoever only looks gets nothing, and nothing is
// decrypted for it (T-288, T-293).
func TestPlainParameters(t *testing.T) {
	for kind, plain := range map[string]bool{"String": true, "StringList": true, "SecureString": false, "": false, "Newer": false} {
		a := &answerer{contentType: "application/x-amz-json-1.1", body: `{"Parameter": {"Type": "` + kind + `", "Value": "text"}}`}
		r := a.resolver()
		var warnings []string
		r.Warn = func(text string) { warnings = append(warnings, text) }
		text, ok, err := r.Plain(t.Context(), "", "/name:3")
		if err != nil || ok != plain || (text == "text") != plain {
			t.Errorf("%s: %q, %t, %v", kind, text, ok, err)
		}
		for range 2 { // asked, and warned about, once
			if text, secret, err := r.Dynamic(t.Context(), "ssm", "/name:3"); err != nil || text != "text" || secret == plain {
				t.Errorf("%s in a deploy: %q, %t, %v", kind, text, secret, err)
			}
		}
		if unknown := kind == "" || kind == "Newer"; unknown != (len(warnings) == 1) || len(warnings) > 1 {
			t.Errorf("%s: warnings %q", kind, warnings)
		}
		want := []string{`eu-west-1 {"Name":"/name:3","WithDecryption":false}`, `eu-west-1 {"Name":"/name:3","WithDecryption":true}`}
		if diff := cmp.Diff(want, a.asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}
