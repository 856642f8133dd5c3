package main

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"golang.org/x/net/http/httpproxy"
)

// httpClient is what every request to AWS goes through.
func httpClient() *awshttp.BuildableClient {
	proxy := proxyFromEnv()
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.Proxy = func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
		t.MaxIdleConnsPerHost = 64 // a wide stack talks to one service at once
	})
}

// proxyFromEnv follows the proxy variables. Unlike in Go's own reading of them
// the lower-case ones win, as in curl, and a CIDR in NO_PROXY is compared with
// literal addresses only.
func proxyFromEnv() func(*url.URL) (*url.URL, error) {
	either := func(name string) string {
		if v := os.Getenv(strings.ToLower(name)); v != "" {
			return v
		}
		return os.Getenv(name)
	}
	c := &httpproxy.Config{HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), CGI: os.Getenv("REQUEST_METHOD") != ""}
	var names, networks []string
	for _, entry := range strings.Split(either("NO_PROXY"), ",") {
		if _, _, err := net.ParseCIDR(strings.TrimSpace(entry)); err == nil {
			networks = append(networks, entry)
		} else {
			names = append(names, entry)
		}
	}
	c.NoProxy = strings.Join(names, ",")
	byName := c.ProxyFunc()
	c.NoProxy = strings.Join(append(names, networks...), ",")
	byAddress := c.ProxyFunc()
	return func(u *url.URL) (*url.URL, error) {
		if net.ParseIP(u.Hostname()) != nil {
			return byAddress(u)
		}
		return byName(u)
	}
}
