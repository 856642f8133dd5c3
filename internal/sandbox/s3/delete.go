package s3

import (
	"encoding/xml"
	"errors"
	"net/http"
)

func (s *Server) deleteObject(c *call, b *bucket) error {
	id := c.r.URL.Query().Get("versionId")
	if err := b.mayDelete(c.addr.Key, c.r.Header.Get("If-Match")); err != nil {
		return err
	}
	if marker := b.delete(c.addr.Key, id, s.now()); marker != nil {
		c.w.Header().Set("x-amz-delete-marker", "true")
		id = marker.id
	}
	if id != "" && b.versioning != "" {
		c.w.Header().Set("x-amz-version-id", id)
	}
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) deleteObjects(c *call, b *bucket) error {
	if c.checksum.value == "" && c.r.Header.Get("Content-MD5") == "" {
		return fail(http.StatusBadRequest, "InvalidRequest", "Missing required header for this request: Content-MD5 OR x-amz-checksum-*")
	}
	var in struct {
		XMLName xml.Name `xml:"Delete"`
		Quiet   bool
		Object  []struct{ Key, VersionId, ETag string }
	}
	if err := xml.Unmarshal(c.body, &in); err != nil || len(in.Object) == 0 || len(in.Object) > 1000 {
		return malformedXML
	}
	type deleted struct {
		Key                   string
		VersionId             string `xml:",omitempty"`
		DeleteMarker          bool   `xml:",omitempty"`
		DeleteMarkerVersionId string `xml:",omitempty"`
	}
	type refused struct {
		Key       string
		VersionId string `xml:",omitempty"`
		Code      string
		Message   string
	}
	var out struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ DeleteResult"`
		Deleted []deleted
		Error   []refused
	}
	for _, o := range in.Object {
		if err, ok := errors.AsType[*failure](b.mayDelete(o.Key, o.ETag)); ok {
			out.Error = append(out.Error, refused{o.Key, o.VersionId, err.code, err.message})
			continue
		}
		d := deleted{Key: o.Key, VersionId: o.VersionId}
		if marker := b.delete(o.Key, o.VersionId, s.now()); marker != nil {
			d.DeleteMarker, d.DeleteMarkerVersionId = true, marker.id
		}
		if !in.Quiet {
			out.Deleted = append(out.Deleted, d)
		}
	}
	writeXML(c.w, http.StatusOK, out)
	return nil
}
