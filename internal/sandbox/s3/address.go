package s3

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// An Address is what a request is about: an operation by the name it has in
// the API reference, on a bucket or an object.
type Address struct {
	Operation string
	Bucket    string
	Key       string
}

// ParseAddress reads a request's address. Both styles are understood: the
// bucket as first part of the path, or of a host like b.s3.eu-west-1.amazonaws.com
// or b.localhost. A request that the API does not have gets an operation name
// that describes it.
func ParseAddress(r *http.Request) Address {
	a := Address{Bucket: hostBucket(r.Host)}
	path := strings.TrimPrefix(r.URL.Path, "/")
	if a.Bucket == "" {
		a.Bucket, a.Key, _ = strings.Cut(path, "/")
	} else {
		a.Key = path
	}
	switch {
	case a.Bucket == "":
		a.Operation = serviceOperation(r)
	case a.Key == "":
		a.Operation = bucketOperation(r.Method, r.URL.Query())
	default:
		a.Operation = objectOperation(r)
	}
	return a
}

func hostBucket(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > 0 {
		host = host[:i]
	}
	for _, mark := range []string{".s3.", ".s3-", ".localhost"} {
		if i := strings.Index(host, mark); i > 0 && (mark != ".localhost" || i+len(mark) == len(host)) {
			name := host[:i]
			return strings.TrimSuffix(strings.TrimPrefix(name, "s3."), ".s3")
		}
	}
	return ""
}

func serviceOperation(r *http.Request) string {
	if r.Method == http.MethodGet {
		return "ListBuckets"
	}
	return r.Method + " Service"
}

func bucketOperation(method string, q url.Values) string {
	for _, d := range documents {
		if q.Has(d.query) {
			return d.operation(method, q)
		}
	}
	switch {
	case method == http.MethodGet && q.Has("location"):
		return "GetBucketLocation"
	case method == http.MethodGet && q.Has("policyStatus"):
		return "GetBucketPolicyStatus"
	case method == http.MethodGet && q.Has("versions"):
		return "ListObjectVersions"
	case method == http.MethodGet && q.Has("uploads"):
		return "ListMultipartUploads"
	case method == http.MethodPost && q.Has("delete"):
		return "DeleteObjects"
	}
	if name := unknownParameter(q); name != "" {
		return method + " Bucket?" + name
	}
	switch method {
	case http.MethodGet:
		if q.Get("list-type") == "2" {
			return "ListObjectsV2"
		}
		return "ListObjects"
	case http.MethodHead:
		return "HeadBucket"
	case http.MethodPut:
		return "CreateBucket"
	case http.MethodDelete:
		return "DeleteBucket"
	}
	return method + " Bucket"
}

func objectOperation(r *http.Request) string {
	q := r.URL.Query()
	copying := r.Header.Get("x-amz-copy-source") != ""
	switch {
	case q.Has("uploads") && r.Method == http.MethodPost:
		return "CreateMultipartUpload"
	case q.Has("uploadId"):
		switch {
		case r.Method == http.MethodPut && copying:
			return "UploadPartCopy"
		case r.Method == http.MethodPut:
			return "UploadPart"
		case r.Method == http.MethodPost:
			return "CompleteMultipartUpload"
		case r.Method == http.MethodDelete:
			return "AbortMultipartUpload"
		case r.Method == http.MethodGet:
			return "ListParts"
		}
	case q.Has("tagging"):
		return verb(r.Method) + "ObjectTagging"
	case q.Has("acl"):
		return verb(r.Method) + "ObjectAcl"
	case q.Has("attributes"):
		return verb(r.Method) + "ObjectAttributes"
	}
	if name := unknownParameter(q); name != "" {
		return r.Method + " Object?" + name
	}
	switch {
	case r.Method == http.MethodPut && copying:
		return "CopyObject"
	case r.Method == http.MethodPost:
		return "POST Object"
	}
	return verb(r.Method) + "Object"
}

// unknownParameter returns a query parameter that asks for a sub-resource not
// known here, so that it is refused instead of taken for the plain operation.
func unknownParameter(q url.Values) string {
	known := []string{
		"list-type", "prefix", "delimiter", "max-keys", "continuation-token", "start-after", "encoding-type",
		"fetch-owner", "marker", "key-marker", "version-id-marker", "versionId", "partNumber", "x-id",
		"max-buckets", "bucket-region",
	}
	for name := range q {
		lower := strings.ToLower(name)
		if !slices.Contains(known, name) && !strings.HasPrefix(lower, "x-amz-") && !strings.HasPrefix(lower, "response-") {
			return name
		}
	}
	return ""
}

func verb(method string) string {
	return map[string]string{
		http.MethodGet: "Get", http.MethodHead: "Head", http.MethodPut: "Put", http.MethodDelete: "Delete",
	}[method]
}
