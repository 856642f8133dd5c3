// Package s3 is a strict, small Amazon S3 held in memory.
//
// It exists because what a state backend leans on is what emulators leave out:
// conditional puts and deletes, versions and delete markers, a bucket's region
// and the redirect to it, the expected owner, checksums. Where the real
// service refuses, this one refuses, with the same status and code. It keeps a
// bucket's settings (policy, encryption, lifecycle, …) as the documents that
// were put, and does not act on them, versioning excepted.
//
// Requests must be signed (by header or by query), but signatures are not
// verified; the credential scope says which region was asked. What the service
// would do and this package does not, it refuses with NotImplemented.
package s3

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// Options say whose S3 it is. The zero value is good.
type Options struct {
	AccountID string           // owner of all buckets; "" is 123456789012
	Region    string           // of requests that do not name one; "" is us-east-1
	Now       func() time.Time // nil is time.Now

	// Stored, when set, is told of every object that a PutObject stores. It is
	// called before that, one call at a time, and must not ask the server
	// anything.
	Stored func(Put)
}

// A Put is an object that a request is about to store.
type Put struct {
	Bucket, Key string
	Body        []byte
	Header      http.Header
	// Before returns what is still stored under a key of the bucket, nil for
	// nothing.
	Before func(key string) []byte
}

// A Server is one account's S3 in all regions. It is an http.Handler and safe
// for concurrent use.
type Server struct {
	account, region string
	now             func() time.Time
	stored          func(Put)

	mu      sync.Mutex // guards everything below, and what hangs on it
	buckets map[string]*bucket
	uploads map[string]*upload
}

// New returns an S3 without buckets.
func New(o Options) *Server {
	s := &Server{
		account: o.AccountID,
		region:  o.Region,
		now:     o.Now,
		stored:  o.Stored,
		buckets: map[string]*bucket{},
		uploads: map[string]*upload{},
	}
	if s.account == "" {
		s.account = "123456789012"
	}
	if s.region == "" {
		s.region = "us-east-1"
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// A call is one request on its way through the server.
type call struct {
	w        *answer
	r        *http.Request
	addr     Address
	region   string // the one asked under
	body     []byte
	checksum checksum // of the body, as the client declared it
}

// ServeHTTP answers one S3 request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Server", "AmazonS3")
	h.Set("x-amz-request-id", strings.ToUpper(randomID(16)))
	h.Set("x-amz-id-2", randomID(56))
	out := &answer{header: h}
	c := &call{w: out, r: r, addr: ParseAddress(r)}
	if err := s.serve(c); err != nil {
		writeFailure(out, r, err)
	}
	w.WriteHeader(out.status)
	w.Write(out.body)
}

// An answer is kept until the mutex is free again, so that a client that reads
// slowly holds up nobody else.
type answer struct {
	header http.Header
	status int
	body   []byte
}

func (a *answer) Header() http.Header  { return a.header }
func (a *answer) WriteHeader(code int) { a.status = code }
func (a *answer) Write(text []byte) (int, error) {
	a.body = append(a.body, text...)
	return len(text), nil
}

func (s *Server) serve(c *call) error {
	op, ok := operations[c.addr.Operation]
	if !ok {
		return failf(http.StatusNotImplemented, "NotImplemented",
			"A header or query you provided implies functionality that is not implemented: %s", c.addr.Operation)
	}
	scope, err := s.authenticate(c.r)
	if err != nil {
		return err
	}
	c.region = scope
	if err := c.readBody(); err != nil {
		return err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if c.addr.Bucket == "" || c.addr.Operation == "CreateBucket" {
		return op(s, c, nil)
	}
	b := s.buckets[c.addr.Bucket]
	if b == nil {
		return fail(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist").with("BucketName", c.addr.Bucket)
	}
	if owner := c.r.Header.Get("x-amz-expected-bucket-owner"); owner != "" && owner != b.owner {
		return accessDenied
	}
	// The location may be asked anywhere; everything else only at home.
	if b.region != c.region && c.addr.Operation != "GetBucketLocation" {
		c.w.Header().Set("x-amz-bucket-region", b.region)
		return fail(http.StatusMovedPermanently, "PermanentRedirect",
			"The bucket you are attempting to access must be addressed using the specified endpoint. "+
				"Please send all future requests to this endpoint.").
			with("Endpoint", b.name+".s3."+b.region+".amazonaws.com").with("Bucket", b.name)
	}
	if b.owner != s.account {
		return accessDenied
	}
	return op(s, c, b)
}

// authenticate returns the region that the request was signed for.
func (s *Server) authenticate(r *http.Request) (region string, err error) {
	q := r.URL.Query()
	credential := q.Get("X-Amz-Credential")
	if credential != "" {
		made, err := time.Parse("20060102T150405Z", q.Get("X-Amz-Date"))
		if err != nil {
			return "", fail(http.StatusBadRequest, "AuthorizationQueryParametersError", "X-Amz-Date must be in the ISO8601 Long Format")
		}
		lasts, err := time.ParseDuration(q.Get("X-Amz-Expires") + "s")
		if err != nil || lasts > 7*24*time.Hour {
			return "", fail(http.StatusBadRequest, "AuthorizationQueryParametersError", "X-Amz-Expires must be a number of seconds of at most a week")
		}
		if s.now().After(made.Add(lasts)) {
			return "", fail(http.StatusForbidden, "AccessDenied", "Request has expired")
		}
	} else {
		_, rest, signed := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		if !signed {
			return "", accessDenied
		}
		credential, _, _ = strings.Cut(rest, ",")
	}
	// AKID/20260102/eu-west-1/s3/aws4_request
	parts := strings.Split(credential, "/")
	if len(parts) != 5 || parts[3] != "s3" {
		return "", fail(http.StatusBadRequest, "AuthorizationHeaderMalformed", "The authorization header is malformed; the credential is not scoped to s3")
	}
	if parts[2] == "" {
		return s.region, nil
	}
	return parts[2], nil
}
