package sandbox

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// An upstream answers the services that the sandbox has not of its own.
type upstream struct {
	http.Handler
	url  string
	stop func() // ends it and all its copies
	end  func() // ends this copy only; nil in what is none
}

// proxyTo forwards to an emulator and keeps the Host, from which emulators
// build the URLs that they hand out: those must lead back here.
func proxyTo(address string) http.Handler {
	target, err := url.Parse(address)
	if err != nil {
		panic(err) // it is that of a server that is running
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			w.Header().Set("x-amzn-ErrorType", "ServiceUnavailable")
			http.Error(w, "the upstream emulator did not answer: "+err.Error(), http.StatusBadGateway)
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
	}
}

// ask sends a request of the sandbox's own to the upstream, signed only as far
// as emulators look.
func (u *upstream) ask(ctx context.Context, method, path, service, region string, body []byte) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return u.signed(req, service, region), nil
}

// askForm is ask in the query protocol.
func (u *upstream) askForm(ctx context.Context, service, region string, form []byte) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url+"/", bytes.NewReader(form))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return u.signed(req, service, region), nil
}

// Do implements the SDKs' HTTP client, whatever the address that they ask.
func (u *upstream) Do(req *http.Request) (*http.Response, error) {
	if req.Host == "" {
		req.Host = req.URL.Host
	}
	if req.Body == nil {
		req.Body = http.NoBody
	}
	out := newAnswer()
	u.ServeHTTP(out, req)
	return &http.Response{StatusCode: out.status, Header: out.header, Body: io.NopCloser(&out.body), Request: req}, nil
}

func (u *upstream) signed(req *http.Request, service, region string) *answer {
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDSANDBOX/20260101/"+region+"/"+service+
		"/aws4_request, SignedHeaders=host, Signature=00")
	req.Header.Set("X-Amz-Date", "20260101T000000Z")
	out := newAnswer()
	u.ServeHTTP(out, req)
	return out
}
