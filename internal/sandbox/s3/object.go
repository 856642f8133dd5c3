package s3

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func (s *Server) putObject(c *call, b *bucket) error {
	h := c.r.Header
	if err := b.mayWrite(c.addr.Key, h.Get("If-Match"), h.Get("If-None-Match")); err != nil {
		return err
	}
	tags, err := headerTags(h)
	if err != nil {
		return err
	}
	v := &version{
		body: c.body, etag: etagOf(c.body), modified: s.now(),
		headers: keptHeaders(h), checksum: c.checksum, tags: tags,
	}
	if s.stored != nil {
		s.stored(Put{Bucket: b.name, Key: c.addr.Key, Body: v.body, Header: h, Before: b.bodyOf})
	}
	if err := s.store(c, b, v); err != nil {
		return err
	}
	c.w.Header().Set("ETag", v.etag)
	c.w.WriteHeader(http.StatusOK)
	return nil
}

// store adds a version under the call's key and sets the headers of the answer.
func (s *Server) store(c *call, b *bucket, v *version) error {
	if len(c.addr.Key) > 1024 {
		return fail(http.StatusBadRequest, "KeyTooLongError", "Your key is too long")
	}
	b.add(c.addr.Key, v)
	out := c.w.Header()
	if b.versioning != "" {
		out.Set("x-amz-version-id", v.id)
	}
	out.Set("x-amz-server-side-encryption", v.headers.Get("x-amz-server-side-encryption"))
	if v.checksum.value != "" {
		out.Set(v.checksum.header(), v.checksum.value)
		out.Set("x-amz-checksum-type", "FULL_OBJECT")
	}
	return nil
}

// keptHeaders are those that an object gives back as they came.
func keptHeaders(in http.Header) http.Header {
	kept := http.Header{}
	for _, name := range []string{
		"Content-Type", "Cache-Control", "Content-Disposition", "Content-Language", "Expires",
		"x-amz-storage-class", "x-amz-website-redirect-location",
		"x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id", "x-amz-server-side-encryption-bucket-key-enabled",
	} {
		if v := in.Get(name); v != "" {
			kept.Set(name, v)
		}
	}
	// aws-chunked is how the body travelled, not what it is.
	var encodings []string
	for each := range strings.SplitSeq(in.Get("Content-Encoding"), ",") {
		if each = strings.TrimSpace(each); each != "" && each != "aws-chunked" {
			encodings = append(encodings, each)
		}
	}
	if len(encodings) > 0 {
		kept.Set("Content-Encoding", strings.Join(encodings, ","))
	}
	for name, values := range in {
		if strings.HasPrefix(strings.ToLower(name), "x-amz-meta-") {
			kept[name] = values
		}
	}
	if kept.Get("Content-Type") == "" {
		kept.Set("Content-Type", "binary/octet-stream")
	}
	if kept.Get("x-amz-server-side-encryption") == "" {
		kept.Set("x-amz-server-side-encryption", "AES256")
	}
	return kept
}

// find returns the version that a read asks for, or the right refusal.
func (b *bucket) find(out http.Header, key, id string) (*version, error) {
	if id != "" {
		v := b.version(key, id)
		if v == nil {
			return nil, fail(http.StatusNotFound, "NoSuchVersion", "The specified version does not exist.").with("Key", key).with("VersionId", id)
		}
		out.Set("x-amz-version-id", v.id)
		if v.marker {
			out.Set("x-amz-delete-marker", "true")
			return nil, fail(http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.").with("ResourceType", "DeleteMarker")
		}
		return v, nil
	}
	v := b.latest(key)
	if v == nil {
		return nil, noSuchKey.with("Key", key)
	}
	if b.versioning != "" {
		out.Set("x-amz-version-id", v.id)
	}
	if v.marker {
		out.Set("x-amz-delete-marker", "true")
		return nil, noSuchKey.with("Key", key)
	}
	return v, nil
}

// getObject answers GetObject and HeadObject.
func (s *Server) getObject(c *call, b *bucket) error {
	q := c.r.URL.Query()
	v, err := b.find(c.w.header, c.addr.Key, q.Get("versionId"))
	if err != nil {
		return err
	}
	out := c.w.Header()
	out.Set("ETag", v.etag)
	out.Set("Last-Modified", v.modified.UTC().Format(http.TimeFormat))
	if err := mayRead(c.r.Header, v); err != nil {
		return err
	}
	for name, values := range v.headers {
		out[name] = values
	}
	out.Set("Accept-Ranges", "bytes")
	if len(v.tags) > 0 {
		out.Set("x-amz-tagging-count", strconv.Itoa(len(v.tags)))
	}
	for name := range q {
		if field, ok := strings.CutPrefix(name, "response-"); ok {
			out.Set(field, q.Get(name))
		}
	}
	body, status := v.body, http.StatusOK
	if from, to, ranged, err := byteRange(c.r.Header.Get("Range"), int64(len(body))); err != nil {
		return err
	} else if ranged {
		out.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(body)))
		body, status = body[from:to], http.StatusPartialContent
	} else if v.checksum.value != "" && strings.EqualFold(c.r.Header.Get("x-amz-checksum-mode"), "ENABLED") {
		out.Set(v.checksum.header(), v.checksum.value)
		out.Set("x-amz-checksum-type", "FULL_OBJECT")
	}
	out.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		c.w.Write(body)
	}
	return nil
}

// mayRead checks a read's conditions; a matching tag beats the dates.
func mayRead(h http.Header, v *version) error {
	modified := v.modified.Truncate(time.Second)
	if list := h.Get("If-Match"); list != "" {
		if !matches(list, v.etag) {
			return preconditionFailed.with("Condition", "If-Match")
		}
	} else if t, err := http.ParseTime(h.Get("If-Unmodified-Since")); err == nil && modified.After(t) {
		return preconditionFailed.with("Condition", "If-Unmodified-Since")
	}
	if list := h.Get("If-None-Match"); list != "" {
		if matches(list, v.etag) {
			return notModified
		}
	} else if t, err := http.ParseTime(h.Get("If-Modified-Since")); err == nil && !modified.After(t) {
		return notModified
	}
	return nil
}

// byteRange reads a Range header with one range. Like S3, it ignores one that
// it cannot read.
func byteRange(header string, size int64) (from, to int64, ok bool, err error) {
	spec, isBytes := strings.CutPrefix(header, "bytes=")
	first, last, isRange := strings.Cut(spec, "-")
	if !isBytes || !isRange {
		return 0, 0, false, nil
	}
	a, errA := strconv.ParseInt(first, 10, 64)
	z, errZ := strconv.ParseInt(last, 10, 64)
	switch {
	case first == "" && errZ == nil:
		from, to = max(0, size-z), size
	case errA == nil && last == "":
		from, to = a, size
	case errA == nil && errZ == nil && a <= z:
		from, to = a, min(z+1, size)
	default:
		return 0, 0, false, nil
	}
	if from >= to {
		return 0, 0, false, fail(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable").with("RangeRequested", header)
	}
	return from, to, true, nil
}
