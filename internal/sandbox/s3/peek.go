package s3

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// An Object is one version of an object, as a test sees it without a request.
type Object struct {
	Key          string
	VersionID    string // "null" without versioning
	DeleteMarker bool
	Body         []byte // not to be changed
	ETag         string // quoted
	ContentType  string
	Modified     time.Time
}

func (v *version) object(key string) Object {
	return Object{
		Key: key, VersionID: v.id, DeleteMarker: v.marker, Body: v.body, ETag: v.etag,
		ContentType: v.headers.Get("Content-Type"), Modified: v.modified,
	}
}

// Buckets returns the names of all buckets, sorted, other accounts' included.
func (s *Server) Buckets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.buckets))
}

// Object returns an object's current version.
func (s *Server) Object(bucket, key string) (Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.buckets[bucket]; b != nil {
		if v := b.current(key); v != nil {
			return v.object(key), true
		}
	}
	return Object{}, false
}

// Version returns one version of an object; an empty id is the current one.
func (s *Server) Version(bucket, key, id string) (Object, bool) {
	if id == "" {
		return s.Object(bucket, key)
	}
	for _, o := range s.Versions(bucket, key) {
		if o.VersionID == id && !o.DeleteMarker {
			return o, true
		}
	}
	return Object{}, false
}

// Objects returns the current objects of a bucket by key, without those deleted.
func (s *Server) Objects(bucket string) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Object
	if b := s.buckets[bucket]; b != nil {
		for _, key := range slices.Sorted(maps.Keys(b.objects)) {
			if v := b.current(key); v != nil {
				all = append(all, v.object(key))
			}
		}
	}
	return all
}

// Versions returns all versions of one key, delete markers too, newest first.
func (s *Server) Versions(bucket, key string) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Object
	if b := s.buckets[bucket]; b != nil && b.objects[key] != nil {
		for _, v := range slices.Backward(b.objects[key].versions) {
			all = append(all, v.object(key))
		}
	}
	return all
}

// AddBucket makes a bucket without a request. An owner other than "" makes it
// another account's, which refuses every request.
func (s *Server) AddBucket(name, region, owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if owner == "" {
		owner = s.account
	}
	s.addBucket(name, region, owner)
}

// PutObject stores an object without a request. The bucket must exist.
func (s *Server) PutObject(bucket, key string, body []byte) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &version{body: body, etag: etagOf(body), modified: s.now(), headers: keptHeaders(http.Header{})}
	s.buckets[bucket].add(key, v)
	return v.object(key)
}
