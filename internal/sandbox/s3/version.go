package s3

import (
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
)

// A version is one version of an object, or a delete marker. It is never
// changed once made, its tags excepted.
type version struct {
	id       string // "null" for what was put without versioning
	marker   bool
	body     []byte
	etag     string // quoted
	modified time.Time
	headers  http.Header // those kept and given back: Content-Type, x-amz-meta-*, …
	checksum checksum
	tags     []tag
}

type tag struct{ Key, Value string }

// A history is the versions of one key, the latest last.
type history struct{ versions []*version }

// current returns the latest version unless there is none or it is a marker.
func (b *bucket) current(key string) *version {
	if v := b.latest(key); v != nil && !v.marker {
		return v
	}
	return nil
}

// bodyOf is the current version's body, nil when there is none.
func (b *bucket) bodyOf(key string) []byte {
	if v := b.current(key); v != nil {
		return v.body
	}
	return nil
}

func (b *bucket) latest(key string) *version {
	h := b.objects[key]
	if h == nil {
		return nil
	}
	return h.versions[len(h.versions)-1]
}

func (b *bucket) version(key, id string) *version {
	if h := b.objects[key]; h != nil {
		for _, v := range h.versions {
			if v.id == id {
				return v
			}
		}
	}
	return nil
}

// add makes v the latest version of a key, with an id as the bucket's
// versioning has it.
func (b *bucket) add(key string, v *version) {
	v.id = "null"
	if b.versioning == "Enabled" {
		v.id = randomID(32)
	} else {
		b.remove(key, "null")
	}
	h := b.objects[key]
	if h == nil {
		h = &history{}
		b.objects[key] = h
	}
	h.versions = append(h.versions, v)
}

// remove takes one version away for good.
func (b *bucket) remove(key, id string) {
	h := b.objects[key]
	if h == nil {
		return
	}
	for i, v := range h.versions {
		if v.id == id {
			h.versions = append(h.versions[:i:i], h.versions[i+1:]...)
			break
		}
	}
	if len(h.versions) == 0 {
		delete(b.objects, key)
	}
}

// delete does what DeleteObject does: a version is removed, and without an id
// the key gets a delete marker in a bucket that ever had versions. It returns
// the marker that was made or removed.
func (b *bucket) delete(key, id string, at time.Time) (marker *version) {
	switch {
	case id != "":
		if v := b.version(key, id); v != nil && v.marker {
			marker = v
		}
		b.remove(key, id)
	case b.versioning == "":
		b.remove(key, "null")
	default:
		marker = &version{marker: true, modified: at}
		b.add(key, marker)
	}
	return marker
}

// mayWrite checks the conditions of a put against the current version.
func (b *bucket) mayWrite(key, ifMatch, ifNoneMatch string) error {
	v := b.current(key)
	if ifNoneMatch != "" {
		if ifNoneMatch != "*" {
			return fail(http.StatusNotImplemented, "NotImplemented", "A header you provided implies functionality that is not implemented").with("Header", "If-None-Match")
		}
		if v != nil {
			return preconditionFailed.with("Condition", "If-None-Match")
		}
	}
	if ifMatch != "" {
		if v == nil {
			return noSuchKey.with("Key", key)
		}
		if !matches(ifMatch, v.etag) {
			return preconditionFailed.with("Condition", "If-Match")
		}
	}
	return nil
}

// mayDelete checks a delete's condition. A delete marker is there, but never
// matches.
func (b *bucket) mayDelete(key, ifMatch string) error {
	if v := b.latest(key); ifMatch != "" && v != nil && v.marker {
		return preconditionFailed.with("Condition", "If-Match")
	}
	return b.mayWrite(key, ifMatch, "")
}

// matches reports whether a list of entity tags holds one.
func matches(list, etag string) bool {
	for each := range strings.SplitSeq(list, ",") {
		each = strings.TrimSpace(each)
		if each == "*" || strings.Trim(each, `"`) == strings.Trim(etag, `"`) {
			return true
		}
	}
	return false
}

func etagOf(body []byte) string {
	sum := md5.Sum(body)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}
