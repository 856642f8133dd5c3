package s3

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// minPart is the least size of every part but the last.
const minPart = 5 << 20

type upload struct {
	id, bucket, key string
	headers         http.Header
	tags            []tag
	made            time.Time
	parts           map[int]*part
}

type part struct {
	body     []byte
	etag     string
	modified time.Time
}

func (s *Server) createUpload(c *call, b *bucket) error {
	tags, err := headerTags(c.r.Header)
	if err != nil {
		return err
	}
	u := &upload{
		id: randomID(64), bucket: b.name, key: c.addr.Key, made: s.now(),
		headers: keptHeaders(c.r.Header), tags: tags, parts: map[int]*part{},
	}
	s.uploads[u.id] = u
	writeXML(c.w, http.StatusOK, struct {
		XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ InitiateMultipartUploadResult"`
		Bucket, Key, UploadId string
	}{Bucket: b.name, Key: u.key, UploadId: u.id})
	return nil
}

func (s *Server) upload(c *call, b *bucket) (*upload, error) {
	u := s.uploads[c.r.URL.Query().Get("uploadId")]
	if u == nil || u.bucket != b.name || u.key != c.addr.Key {
		return nil, fail(http.StatusNotFound, "NoSuchUpload", "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.")
	}
	return u, nil
}

// uploadPart answers UploadPart and UploadPartCopy.
func (s *Server) uploadPart(c *call, b *bucket) error {
	u, err := s.upload(c, b)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(c.r.URL.Query().Get("partNumber"))
	if err != nil || n < 1 || n > 10000 {
		return fail(http.StatusBadRequest, "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive").with("ArgumentName", "partNumber")
	}
	p := &part{body: c.body, modified: s.now()}
	copying := c.addr.Operation == "UploadPartCopy"
	if copying {
		from, err := s.source(c)
		if err != nil {
			return err
		}
		p.body = from.body
		if a, z, ranged, err := byteRange(c.r.Header.Get("x-amz-copy-source-range"), int64(len(from.body))); err != nil {
			return err
		} else if ranged {
			p.body = from.body[a:z]
		}
	}
	p.etag = etagOf(p.body)
	u.parts[n] = p
	if copying {
		writeXML(c.w, http.StatusOK, struct {
			XMLName            xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CopyPartResult"`
			LastModified, ETag string
		}{LastModified: stamp(p.modified), ETag: p.etag})
		return nil
	}
	c.w.Header().Set("ETag", p.etag)
	if c.checksum.value != "" {
		c.w.Header().Set(c.checksum.header(), c.checksum.value)
	}
	c.w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Server) completeUpload(c *call, b *bucket) error {
	u, err := s.upload(c, b)
	if err != nil {
		return err
	}
	var in struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []struct {
			PartNumber int
			ETag       string
		}
	}
	if err := xml.Unmarshal(c.body, &in); err != nil || len(in.Part) == 0 {
		return malformedXML
	}
	var body []byte
	sums := md5.New()
	for i, want := range in.Part {
		if i > 0 && want.PartNumber <= in.Part[i-1].PartNumber {
			return fail(http.StatusBadRequest, "InvalidPartOrder", "The list of parts was not in ascending order. Parts must be ordered by part number.")
		}
		p := u.parts[want.PartNumber]
		if p == nil || !matches(want.ETag, p.etag) {
			return fail(http.StatusBadRequest, "InvalidPart", "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.")
		}
		if i < len(in.Part)-1 && len(p.body) < minPart {
			return fail(http.StatusBadRequest, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size")
		}
		sum := md5.Sum(p.body)
		sums.Write(sum[:])
		body = append(body, p.body...)
	}
	h := c.r.Header
	if err := b.mayWrite(u.key, h.Get("If-Match"), h.Get("If-None-Match")); err != nil {
		return err
	}
	v := &version{
		body: body, etag: fmt.Sprintf(`"%s-%d"`, hex.EncodeToString(sums.Sum(nil)), len(in.Part)),
		modified: s.now(), headers: u.headers, tags: u.tags,
	}
	if err := s.store(c, b, v); err != nil {
		return err
	}
	delete(s.uploads, u.id)
	writeXML(c.w, http.StatusOK, struct {
		XMLName                     xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUploadResult"`
		Location, Bucket, Key, ETag string
	}{Location: "/" + b.name + "/" + u.key, Bucket: b.name, Key: u.key, ETag: v.etag})
	return nil
}

func (s *Server) abortUpload(c *call, b *bucket) error {
	u, err := s.upload(c, b)
	if err != nil {
		return err
	}
	delete(s.uploads, u.id)
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) listUploads(c *call, b *bucket) error {
	type row struct{ Key, UploadId, Initiated string }
	var out struct {
		XMLName     xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListMultipartUploadsResult"`
		Bucket      string
		IsTruncated bool
		Upload      []row
	}
	out.Bucket = b.name
	for _, u := range s.uploads {
		if u.bucket == b.name && strings.HasPrefix(u.key, c.r.URL.Query().Get("prefix")) {
			out.Upload = append(out.Upload, row{u.key, u.id, stamp(u.made)})
		}
	}
	slices.SortFunc(out.Upload, func(a, b row) int {
		return strings.Compare(a.Key+a.Initiated, b.Key+b.Initiated)
	})
	writeXML(c.w, http.StatusOK, out)
	return nil
}

func (s *Server) listParts(c *call, b *bucket) error {
	u, err := s.upload(c, b)
	if err != nil {
		return err
	}
	type row struct {
		PartNumber         int
		LastModified, ETag string
		Size               int
	}
	var out struct {
		XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListPartsResult"`
		Bucket, Key, UploadId string
		IsTruncated           bool
		Part                  []row
	}
	out.Bucket, out.Key, out.UploadId = b.name, u.key, u.id
	for _, n := range slices.Sorted(maps.Keys(u.parts)) {
		p := u.parts[n]
		out.Part = append(out.Part, row{n, stamp(p.modified), p.etag, len(p.body)})
	}
	writeXML(c.w, http.StatusOK, out)
	return nil
}
