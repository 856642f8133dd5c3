package s3

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

type tagging struct {
	XMLName xml.Name `xml:"Tagging"`
	NS      string   `xml:"xmlns,attr,omitempty"`
	TagSet  struct{ Tag []tag }
}

// headerTags reads the tags that a put has in a header, as a query string.
func headerTags(h http.Header) ([]tag, error) {
	q, err := url.ParseQuery(h.Get("x-amz-tagging"))
	if err != nil {
		return nil, fail(http.StatusBadRequest, "InvalidArgument", "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name duplicates.")
	}
	var tags []tag
	for k := range q {
		tags = append(tags, tag{k, q.Get(k)})
	}
	slices.SortFunc(tags, func(a, b tag) int { return strings.Compare(a.Key, b.Key) })
	return tags, nil
}

func (s *Server) getObjectTagging(c *call, b *bucket) error {
	v, err := b.find(c.w.header, c.addr.Key, c.r.URL.Query().Get("versionId"))
	if err != nil {
		return err
	}
	out := tagging{NS: namespace}
	out.TagSet.Tag = v.tags
	writeXML(c.w, http.StatusOK, out)
	return nil
}

// putObjectTagging answers PutObjectTagging and, without a body, DeleteObjectTagging.
func (s *Server) putObjectTagging(c *call, b *bucket) error {
	v, err := b.find(c.w.header, c.addr.Key, c.r.URL.Query().Get("versionId"))
	if err != nil {
		return err
	}
	if c.r.Method == http.MethodDelete {
		v.tags = nil
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	tags, err := parseTagging(c.body, 10)
	if err != nil {
		return err
	}
	v.tags = tags
	c.w.WriteHeader(http.StatusOK)
	return nil
}

func parseTagging(text []byte, most int) ([]tag, error) {
	var in tagging
	if err := xml.Unmarshal(text, &in); err != nil {
		return nil, malformedXML
	}
	seen := map[string]bool{}
	for _, t := range in.TagSet.Tag {
		switch {
		case seen[t.Key]:
			return nil, fail(http.StatusBadRequest, "InvalidTag", "Cannot provide multiple Tags with the same key").with("TagKey", t.Key)
		case t.Key == "" || len(t.Key) > 128 || len(t.Value) > 256:
			return nil, fail(http.StatusBadRequest, "InvalidTag", "The TagKey or TagValue you have provided is invalid").with("TagKey", t.Key)
		case strings.HasPrefix(t.Key, "aws:"):
			return nil, fail(http.StatusBadRequest, "InvalidTag", "System tags cannot be added/updated by requester").with("TagKey", t.Key)
		}
		seen[t.Key] = true
	}
	if len(in.TagSet.Tag) > most {
		return nil, failf(http.StatusBadRequest, "BadRequest", "Tags cannot be greater than %d", most)
	}
	return in.TagSet.Tag, nil
}
