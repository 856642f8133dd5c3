package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/sivchari/kumo"
)

// kumoChild, in the environment, makes a process that links this package serve
// kumo instead of being what it is. Kumo keeps the state of all its servers in
// variables of its packages: two sandboxes in one process would see each
// other's resources, and a sandbox those of the one before.
const kumoChild = "CDKD_SANDBOX_KUMO"

func init() {
	if os.Getenv(kumoChild) == "" {
		return
	}
	fmt.Println("kumo at", kumo.NewServer().URL)
	io.Copy(io.Discard, os.Stdin) // until the sandbox ends
	os.Exit(0)
}

var kumoAddress = regexp.MustCompile(`kumo at (http://\S+)`)

// Kumo's services do not agree on the account that they are in. Of AWS's own
// policies it has none; those that are asked for are made below a path.
const (
	kumoAccount  = "000000000000"
	otherAccount = "123456789012" // of the services below

	awsPolicy  = "arn:aws:iam::aws:policy/"
	kumoPolicy = "arn:aws:iam::" + otherAccount + ":policy/aws-managed/"
)

var inOtherAccount = []string{
	"iam", "cloudformation", "cloudtrail", "config", "ds", "dlm", "eks", "kafka", "mq", "pipes", "route53resolver",
	"sagemaker", "scheduler", "organizations", "servicequotas", "appmesh", "macie2", "emr-serverless",
}

// startKumo runs this program once more, as kumo.
func startKumo(ctx context.Context, account string) (*upstream, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start kumo: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), kumoChild+"=1")
	at, stop, err := launch(ctx, cmd, kumoAddress)
	if err != nil {
		return nil, fmt.Errorf("start kumo: %w", err)
	}
	proxy := proxyTo(at)
	return &upstream{url: at, stop: stop, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serveKumo(proxy, account, w, r)
	})}, nil
}

// serveKumo exchanges account ids on the way to kumo and back. They are equally
// long, which keeps every framing intact.
func serveKumo(proxy http.Handler, account string, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c := identify(r, body)
	theirs, isIAM := kumoAccount, c.Service == "iam"
	if slices.Contains(inOtherAccount, c.Service) {
		theirs = otherAccount
	}
	body = bytes.ReplaceAll(body, []byte(account), []byte(theirs))
	if isIAM {
		body = managedPolicy(proxy, r, body)
	}
	address, err := url.Parse(strings.ReplaceAll(r.URL.String(), account, theirs))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	tag := alarmTags(proxy, r, c, body, theirs)
	out := newAnswer()
	proxy.ServeHTTP(out, kumoRequest(r, address, body))
	if tag != nil && out.status < 300 {
		tag()
	}
	text := out.body.Bytes()
	if c.form != nil && out.status >= 400 && bytes.HasPrefix(text, []byte("{")) {
		// Of what it does not know, kumo complains in JSON in every protocol.
		var complaint struct {
			Type    string `json:"__type"`
			Message string `json:"message"`
		}
		if json.Unmarshal(text, &complaint) == nil {
			refuse(w, c, out.status, complaint.Type, complaint.Message)
			return
		}
	}
	if result := []byte("<" + c.Action + "Result"); c.form != nil && !bytes.Contains(text, result) {
		// Kumo leaves an empty result out, which Go's clients do not forgive.
		text = bytes.Replace(text, []byte("<ResponseMetadata>"), append(result, "/><ResponseMetadata>"...), 1)
		out.header.Del("Content-Length")
	}
	if isIAM {
		text = bytes.ReplaceAll(text, []byte(kumoPolicy), []byte(awsPolicy))
		out.header.Del("Content-Length")
	}
	for _, values := range out.header {
		for i, v := range values {
			values[i] = strings.ReplaceAll(v, theirs, account)
		}
	}
	out.body = *bytes.NewBuffer(bytes.ReplaceAll(text, []byte(theirs), []byte(account)))
	out.send(w)
}

func kumoRequest(r *http.Request, address *url.URL, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.URL, out.Body, out.ContentLength = address, io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return out
}

// managedPolicy makes a policy of AWS's that a request names, and returns the
// request's body with the name that it has in kumo.
func managedPolicy(proxy http.Handler, r *http.Request, body []byte) []byte {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return body
	}
	rest, ok := strings.CutPrefix(form.Get("PolicyArn"), awsPolicy)
	if !ok {
		return body
	}
	dir, name := path.Split("/aws-managed/" + rest)
	create := url.Values{
		"Action": {"CreatePolicy"}, "Version": {"2010-05-08"}, "Path": {dir}, "PolicyName": {name},
		"PolicyDocument": {`{"Version":"2012-10-17","Statement":[]}`},
	}
	// It may exist already; if it could not be made, the request says so.
	proxy.ServeHTTP(newAnswer(), kumoRequest(r, r.URL, []byte(create.Encode())))
	form.Set("PolicyArn", kumoPolicy+rest)
	return []byte(form.Encode())
}
