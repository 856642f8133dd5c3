package s3

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
)

// A failure is an S3 error answer.
type failure struct {
	status        int
	code, message string
	details       []detail
}

type detail struct {
	XMLName xml.Name
	Value   string `xml:",chardata"`
}

func (f *failure) Error() string { return f.code + ": " + f.message }

func fail(status int, code, message string) *failure {
	return &failure{status: status, code: code, message: message}
}

func failf(status int, code, format string, args ...any) *failure {
	return fail(status, code, fmt.Sprintf(format, args...))
}

// with returns a copy that also has an element of that name.
func (f *failure) with(name, value string) *failure {
	g := *f
	g.details = append(g.details[:len(g.details):len(g.details)], detail{xml.Name{Local: name}, value})
	return &g
}

var (
	accessDenied       = fail(http.StatusForbidden, "AccessDenied", "Access Denied")
	malformedXML       = fail(http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
	preconditionFailed = fail(http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	noSuchKey          = fail(http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	notModified        = fail(http.StatusNotModified, "NotModified", "Not Modified")
)

func writeFailure(w *answer, r *http.Request, err error) {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		f = fail(http.StatusInternalServerError, "InternalError", err.Error())
	}
	// An answer to HEAD has no body, so the SDKs see the status only.
	if r.Method == http.MethodHead || f.status == http.StatusNotModified {
		w.WriteHeader(f.status)
		return
	}
	writeXML(w, f.status, struct {
		XMLName   xml.Name `xml:"Error"`
		Code      string
		Message   string
		Details   []detail
		Resource  string
		RequestID string `xml:"RequestId"`
		HostID    string `xml:"HostId"`
	}{
		Code: f.code, Message: f.message, Details: f.details, Resource: r.URL.Path,
		RequestID: w.Header().Get("x-amz-request-id"), HostID: w.Header().Get("x-amz-id-2"),
	})
}

func writeXML(w *answer, status int, v any) {
	text, err := xml.Marshal(v)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(err.Error())
	}
	writeText(w, status, "application/xml", append([]byte(xml.Header), text...))
}

func writeText(w *answer, status int, contentType string, text []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	w.Write(text)
}
