package sandbox

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/sivchari/kumo"
)

// An upstream answers the services that the sandbox has not of its own.
type upstream struct {
	http.Handler
	url  string
	stop func()
}

// kumoAccount is the one account that kumo knows.
const kumoAccount = "000000000000"

// startKumo runs the Go emulator in this process. Account ids are exchanged on
// the way; they are equally long, which keeps every framing intact.
func startKumo(account string) *upstream {
	srv := kumo.NewServer()
	proxy := proxyTo(srv.URL)
	return &upstream{
		url:  srv.URL,
		stop: srv.Close,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r, err := exchange(r, account, kumoAccount)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			out := newAnswer()
			proxy.ServeHTTP(out, r)
			for name, values := range out.header {
				for _, v := range values {
					w.Header().Add(name, strings.ReplaceAll(v, kumoAccount, account))
				}
			}
			w.WriteHeader(out.status)
			w.Write(bytes.ReplaceAll(out.body.Bytes(), []byte(kumoAccount), []byte(account)))
		}),
	}
}

// exchange returns a copy of a request with one account id for another.
func exchange(r *http.Request, from, to string) (*http.Request, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	address, err := url.Parse(strings.ReplaceAll(r.URL.String(), from, to))
	if err != nil {
		return nil, err
	}
	out := r.Clone(r.Context())
	out.URL = address
	body = bytes.ReplaceAll(body, []byte(from), []byte(to))
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return out, nil
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
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDSANDBOX/20260101/"+region+"/"+service+
		"/aws4_request, SignedHeaders=host, Signature=00")
	req.Header.Set("X-Amz-Date", "20260101T000000Z")
	out := newAnswer()
	u.ServeHTTP(out, req)
	return out, nil
}
