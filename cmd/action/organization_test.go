package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/org/cdkd-action/internal/sandbox"
)

// organization ID... gives the script accounts more than its own: each is an AWS of
// its own with its default state bucket, which the sessions of its roles reach. It is
// at the one address that the program knows, as AWS is.
func organization(ts *testscript.TestScript, _ bool, accounts []string) {
	own, err := url.Parse(awsOf(ts).URL)
	ts.Check(err)
	of := map[string]*url.URL{}
	for _, id := range accounts {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		aws, err := sandbox.Start(ctx, sandbox.Options{AccountID: id})
		cancel()
		ts.Check(err)
		ts.Defer(func() { aws.Close() })
		aws.S3.AddBucket("cdkd-state-"+id, "us-east-1", "")
		of[id], err = url.Parse(aws.URL)
		ts.Check(err)
	}
	sts := sessions{of: of, next: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		to := own
		if key := sessionKey.FindStringSubmatch(r.In.Header.Get("Authorization")); key != nil {
			to = of[key[1]]
		}
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
	}}}
	front := httptest.NewServer(sts)
	ts.Defer(front.Close)
	ts.Setenv("AWS_ENDPOINT_URL", front.URL)
	ts.Setenv("CDKD_STATE_BUCKET", "")
}

// sessionKey is the access key of a session of a role, which holds its account.
var sessionKey = regexp.MustCompile(`Credential=ASIAROLE([0-9]{12})/`)

var assumedRole = regexp.MustCompile(`arn:aws:iam::([0-9]{12}):role/`)

// sessions answers who assumes a role, and hands on what else is asked.
type sessions struct {
	of   map[string]*url.URL
	next http.Handler
}

func (s sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	if err != nil || form.Get("Action") != "AssumeRole" {
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.next.ServeHTTP(w, r)
		return
	}
	role := assumedRole.FindStringSubmatch(form.Get("RoleArn"))
	if role == nil || s.of[role[1]] == nil {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not authorized to perform: sts:AssumeRole on resource: %s</Message></Error></ErrorResponse>`, form.Get("RoleArn"))
		return
	}
	fmt.Fprintf(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIAROLE%s</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
		role[1], time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}
