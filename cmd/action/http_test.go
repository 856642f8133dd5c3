package main

import (
	"net/url"
	"testing"
)

// The lower-case variables win, and a CIDR in NO_PROXY is compared with literal
// addresses only: no name is resolved for it (T-1209).
func TestProxyFromEnv(t *testing.T) {
	const both = "http://lower:1"
	for _, tt := range []struct {
		name string
		env  map[string]string
		url  string
		want string // "": none
	}{
		{"none", nil, "https://s3.eu-west-1.amazonaws.com", ""},
		{"upper case", map[string]string{"HTTPS_PROXY": "http://upper:1"}, "https://s3.eu-west-1.amazonaws.com", "http://upper:1"},
		{"lower case wins", map[string]string{"HTTPS_PROXY": "http://upper:1", "https_proxy": both}, "https://s3.eu-west-1.amazonaws.com", both},
		{"of the scheme", map[string]string{"http_proxy": both}, "https://s3.eu-west-1.amazonaws.com", ""},
		{"a domain", map[string]string{"https_proxy": both, "no_proxy": ".amazonaws.com"}, "https://s3.eu-west-1.amazonaws.com", ""},
		{"lower case of no_proxy wins", map[string]string{"https_proxy": both, "NO_PROXY": ".amazonaws.com", "no_proxy": "example.org"}, "https://s3.eu-west-1.amazonaws.com", both},
		{"all", map[string]string{"https_proxy": both, "no_proxy": "*"}, "https://s3.eu-west-1.amazonaws.com", ""},
		{"a network and a name", map[string]string{"https_proxy": both, "no_proxy": "10.0.0.0/8"}, "https://internal.example.org", both},
		{"a network and an address in it", map[string]string{"https_proxy": both, "no_proxy": "10.0.0.0/8"}, "https://10.1.2.3", ""},
		{"a network and another address", map[string]string{"https_proxy": both, "no_proxy": "10.0.0.0/8"}, "https://192.0.2.1", both},
		{"a network beside a name", map[string]string{"https_proxy": both, "no_proxy": "10.0.0.0/8, example.org"}, "https://sub.example.org", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "REQUEST_METHOD"} {
				t.Setenv(name, tt.env[name])
			}
			u, err := url.Parse(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			got, err := proxyFromEnv()(u)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			if got != nil {
				text = got.String()
			}
			if text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}
