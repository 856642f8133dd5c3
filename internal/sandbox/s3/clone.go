package s3

import (
	"maps"
	"slices"
)

// Clone returns an S3 with the same in it. What happens to one of them does not
// show in the other.
func (s *Server) Clone() *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := New(Options{AccountID: s.account, Region: s.region, Now: s.now, Stored: s.stored})
	for name, b := range s.buckets {
		c.buckets[name] = b.clone()
	}
	for id, u := range s.uploads {
		copied := *u
		copied.parts = maps.Clone(u.parts)
		c.uploads[id] = &copied
	}
	return c
}

func (b *bucket) clone() *bucket {
	c := *b
	c.documents = maps.Clone(b.documents)
	c.objects = make(map[string]*history, len(b.objects))
	for key, h := range b.objects {
		copied := &history{make([]*version, len(h.versions))}
		for i, v := range h.versions {
			w := *v
			w.tags = slices.Clone(v.tags)
			copied.versions[i] = &w
		}
		c.objects[key] = copied
	}
	return &c
}
