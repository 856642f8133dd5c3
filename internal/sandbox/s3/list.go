package s3

import (
	"encoding/base64"
	"encoding/xml"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

type prefixRow struct{ Prefix string }

// A page walks keys in order, folds those below a delimiter into prefixes and
// stops at a number of rows. It is what the three listings share.
type page struct {
	prefix, delimiter string
	encode            func(string) string
	room              int
	folded            string // the prefix that was last emitted, raw
	prefixes          []prefixRow
	truncated         bool
}

func newPage(q url.Values) (*page, int, error) {
	most := 1000
	if text := q.Get("max-keys"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, 0, fail(http.StatusBadRequest, "InvalidArgument", "Provided max-keys not an integer or within integer range").with("ArgumentName", "max-keys")
		}
		most = min(n, 1000)
	}
	encode := func(s string) string { return s }
	switch q.Get("encoding-type") {
	case "":
	case "url":
		// Spaces as +, slashes as they are.
		encode = func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "%2F", "/") }
	default:
		return nil, 0, fail(http.StatusBadRequest, "InvalidArgument", "Invalid Encoding Method specified in Request").with("ArgumentName", "encoding-type")
	}
	return &page{prefix: q.Get("prefix"), delimiter: q.Get("delimiter"), encode: encode, room: most}, most, nil
}

// fold says what to do with a key below the prefix: emit it, or nothing
// because it went into a common prefix. After is the last row of the page
// before; it hides a prefix that was on it.
func (p *page) fold(key, after string) (emit bool) {
	if p.delimiter != "" {
		if i := strings.Index(key[len(p.prefix):], p.delimiter); i >= 0 {
			common := key[:len(p.prefix)+i+len(p.delimiter)]
			if common == p.folded || common == after {
				return false
			}
			if p.room == 0 {
				p.truncated = true
				return false
			}
			p.room--
			p.folded = common
			p.prefixes = append(p.prefixes, prefixRow{p.encode(common)})
			return false
		}
	}
	if p.room == 0 {
		p.truncated = true
		return false
	}
	p.room--
	return true
}

type objectRow struct {
	Key          string
	LastModified string
	ETag         string
	Size         int
	StorageClass string
	Owner        *owner `xml:",omitempty"`
}

// listObjects answers ListObjectsV2 and its predecessor.
func (s *Server) listObjects(c *call, b *bucket) error {
	q := c.r.URL.Query()
	p, most, err := newPage(q)
	if err != nil {
		return err
	}
	v2 := c.addr.Operation == "ListObjectsV2"
	var out struct {
		XMLName               xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListBucketResult"`
		Name                  string
		Prefix                string
		Delimiter             string `xml:",omitempty"`
		EncodingType          string `xml:",omitempty"`
		MaxKeys               int
		IsTruncated           bool
		KeyCount              *int    `xml:",omitempty"`
		StartAfter            string  `xml:",omitempty"`
		ContinuationToken     string  `xml:",omitempty"`
		NextContinuationToken string  `xml:",omitempty"`
		Marker                *string `xml:",omitempty"`
		NextMarker            string  `xml:",omitempty"`
		Contents              []objectRow
		CommonPrefixes        []prefixRow
	}
	after := q.Get("marker")
	if v2 {
		after = q.Get("start-after")
		if token := q.Get("continuation-token"); token != "" {
			raw, err := base64.URLEncoding.DecodeString(token)
			if err != nil {
				return fail(http.StatusBadRequest, "InvalidArgument", "The continuation token provided is incorrect").with("ArgumentName", "continuation-token")
			}
			after = string(raw)
		}
	}
	last := ""
	for _, key := range slices.Sorted(maps.Keys(b.objects)) {
		v := b.current(key)
		if v == nil || !strings.HasPrefix(key, p.prefix) || key <= after {
			continue
		}
		if p.fold(key, after) {
			last = key
			row := objectRow{Key: p.encode(key), LastModified: stamp(v.modified), ETag: v.etag, Size: len(v.body), StorageClass: storageClass(v)}
			if !v2 || q.Get("fetch-owner") == "true" {
				row.Owner = &owner{canonicalID(s.account)}
			}
			out.Contents = append(out.Contents, row)
		} else if p.truncated {
			break
		} else if p.folded != "" {
			// The next page begins behind everything under the prefix.
			last = max(last, p.folded)
		}
	}
	out.Name, out.Prefix, out.Delimiter, out.EncodingType = b.name, p.encode(p.prefix), p.encode(p.delimiter), q.Get("encoding-type")
	out.MaxKeys, out.IsTruncated, out.CommonPrefixes = most, p.truncated && most > 0, p.prefixes
	if v2 {
		count := len(out.Contents) + len(out.CommonPrefixes)
		out.KeyCount, out.StartAfter, out.ContinuationToken = &count, p.encode(q.Get("start-after")), q.Get("continuation-token")
		if out.IsTruncated {
			out.NextContinuationToken = base64.URLEncoding.EncodeToString([]byte(last))
		}
	} else {
		marker := p.encode(after)
		out.Marker = &marker
		if out.IsTruncated && p.delimiter != "" {
			out.NextMarker = p.encode(last)
		}
	}
	writeXML(c.w, http.StatusOK, out)
	return nil
}

func storageClass(v *version) string {
	if class := v.headers.Get("x-amz-storage-class"); class != "" {
		return class
	}
	return "STANDARD"
}

// A versionRow is a Version or a DeleteMarker; the two kinds come in one order.
type versionRow struct {
	XMLName      xml.Name
	Key          string
	VersionId    string
	IsLatest     bool
	LastModified string
	ETag         string `xml:",omitempty"`
	Size         *int   `xml:",omitempty"`
	StorageClass string `xml:",omitempty"`
	Owner        owner
}

func (s *Server) listVersions(c *call, b *bucket) error {
	q := c.r.URL.Query()
	p, most, err := newPage(q)
	if err != nil {
		return err
	}
	afterKey, afterVersion := q.Get("key-marker"), q.Get("version-id-marker")
	if afterVersion != "" && afterKey == "" {
		return fail(http.StatusBadRequest, "InvalidArgument", "A version-id marker cannot be specified without a key marker.")
	}
	var out struct {
		XMLName             xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListVersionsResult"`
		Name                string
		Prefix              string
		Delimiter           string `xml:",omitempty"`
		EncodingType        string `xml:",omitempty"`
		KeyMarker           string
		VersionIdMarker     string
		MaxKeys             int
		IsTruncated         bool
		NextKeyMarker       string `xml:",omitempty"`
		NextVersionIdMarker string `xml:",omitempty"`
		Rows                []versionRow
		CommonPrefixes      []prefixRow
	}
	lastKey, lastVersion := "", ""
keys:
	for _, key := range slices.Sorted(maps.Keys(b.objects)) {
		if !strings.HasPrefix(key, p.prefix) || key < afterKey || key == afterKey && afterVersion == "" {
			continue
		}
		skipping := key == afterKey
		versions := b.objects[key].versions
		for i, v := range slices.Backward(versions) {
			if skipping {
				skipping = v.id != afterVersion
				continue
			}
			if !p.fold(key, afterKey) {
				if p.truncated {
					break keys
				}
				if p.folded != "" && p.folded > lastKey {
					lastKey, lastVersion = p.folded, ""
				}
				continue
			}
			lastKey, lastVersion = key, v.id
			row := versionRow{
				XMLName: xml.Name{Local: "Version"}, Key: p.encode(key), VersionId: v.id, IsLatest: i == len(versions)-1,
				LastModified: stamp(v.modified), Owner: owner{canonicalID(s.account)},
			}
			if v.marker {
				row.XMLName.Local = "DeleteMarker"
			} else {
				size := len(v.body)
				row.ETag, row.Size, row.StorageClass = v.etag, &size, storageClass(v)
			}
			out.Rows = append(out.Rows, row)
		}
	}
	out.Name, out.Prefix, out.Delimiter, out.EncodingType = b.name, p.encode(p.prefix), p.encode(p.delimiter), q.Get("encoding-type")
	out.KeyMarker, out.VersionIdMarker, out.MaxKeys, out.IsTruncated = p.encode(afterKey), afterVersion, most, p.truncated && most > 0
	out.CommonPrefixes = p.prefixes
	if out.IsTruncated {
		out.NextKeyMarker, out.NextVersionIdMarker = p.encode(lastKey), lastVersion
	}
	writeXML(c.w, http.StatusOK, out)
	return nil
}
