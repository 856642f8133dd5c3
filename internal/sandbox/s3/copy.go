package s3

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"
)

// source finds the object that a copy copies, and checks its conditions.
func (s *Server) source(c *call) (*version, error) {
	path, query, _ := strings.Cut(c.r.Header.Get("x-amz-copy-source"), "?")
	path, err := url.PathUnescape(strings.TrimPrefix(path, "/"))
	if err != nil {
		return nil, fail(http.StatusBadRequest, "InvalidArgument", "Invalid copy source encoding.")
	}
	name, key, _ := strings.Cut(path, "/")
	b := s.buckets[name]
	if b == nil {
		return nil, fail(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist").with("BucketName", name)
	}
	if want := c.r.Header.Get("x-amz-source-expected-bucket-owner"); b.owner != s.account || want != "" && want != b.owner {
		return nil, accessDenied
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, fail(http.StatusBadRequest, "InvalidArgument", "Invalid copy source.")
	}
	v, err := b.find(http.Header{}, key, q.Get("versionId"))
	if err != nil {
		return nil, err
	}
	conditions := http.Header{}
	for _, name := range []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"} {
		conditions.Set(name, c.r.Header.Get("x-amz-copy-source-"+name))
	}
	if mayRead(conditions, v) != nil { // also 304 is a failed condition here
		return nil, preconditionFailed
	}
	return v, nil
}

func (s *Server) copyObject(c *call, b *bucket) error {
	from, err := s.source(c)
	if err != nil {
		return err
	}
	h := c.r.Header
	if err := b.mayWrite(c.addr.Key, h.Get("If-Match"), h.Get("If-None-Match")); err != nil {
		return err
	}
	v := &version{body: from.body, etag: etagOf(from.body), modified: s.now(), headers: from.headers, checksum: from.checksum, tags: from.tags}
	if h.Get("x-amz-metadata-directive") == "REPLACE" {
		v.headers = keptHeaders(h)
	}
	if h.Get("x-amz-tagging-directive") == "REPLACE" {
		if v.tags, err = headerTags(h); err != nil {
			return err
		}
	}
	if err := s.store(c, b, v); err != nil {
		return err
	}
	writeXML(c.w, http.StatusOK, struct {
		XMLName      xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CopyObjectResult"`
		LastModified string
		ETag         string
	}{LastModified: stamp(v.modified), ETag: v.etag})
	return nil
}
