// Package stateshape says what the objects of a state bucket look like, for
// tests: whatever a test has written there stays within the shapes that the
// cdkd command line reads.
//
// It is the specification a second time, as tables, and shares nothing with the
// code that writes the objects but the JSON values. What a reader may meet and
// has to keep (a member that a newer release added) a writer may only carry
// forward: it is accepted in an object whose earlier version has it.
package stateshape

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/org/cdkd-action/engine/value"
	"github.com/org/cdkd-action/internal/sandbox/s3"
)

// An Object is one version of an object of a state bucket.
type Object struct {
	Key    string
	Body   []byte
	Before []byte // what it was made from; nil: nothing
}

// Check returns what is wrong with an object, whoever wrote it.
func Check(o Object) error {
	_, err := check(o)
	return err
}

var recordKey = regexp.MustCompile(`^(.*)/[^/]+/state\.json$`)

// Written returns what is wrong with an object that this program wrote by a
// request: its shape, its form, its version, or that it was written over
// another one unseen.
func Written(p s3.Put) error {
	o := Object{Key: p.Key, Body: p.Body, Before: p.Before(p.Key)}
	over := o.Before != nil
	if names := recordKey.FindStringSubmatch(p.Key); !over && names != nil {
		o.Before = p.Before(names[1] + "/state.json") // of the oldest form, which is moved
	}
	f, err := check(o)
	if err != nil || f == nil {
		return err
	}
	if over && f.guarded && p.Header.Get("If-Match") == "" {
		return fmt.Errorf("%s: written over another version without If-Match", p.Key)
	}
	if got := p.Header.Get("Content-Type"); got != f.contentType {
		return fmt.Errorf("%s: its content type is %q, want %q", p.Key, got, f.contentType)
	}
	if f.newest > 0 {
		v, err := value.ParseObject(p.Body)
		if err != nil {
			return err
		}
		if got := value.JSON(v.Value("version")); got != fmt.Sprint(f.newest) {
			return fmt.Errorf("%s: written in version %s, want %d", p.Key, got, f.newest)
		}
	}
	return nil
}

// Watch returns what a sandbox takes as Stored: what is written to the state
// buckets and is not as it should be fails the test. where says whose it is.
func Watch(t testing.TB, where string, buckets ...string) func(s3.Put) {
	return func(p s3.Put) {
		if !slices.Contains(buckets, p.Bucket) {
			return
		}
		if err := Written(p); err != nil {
			t.Errorf("%s: in bucket %s: %v", where, p.Bucket, err)
		}
	}
}

// Keys are expressions for the keys of the objects that have a shape.
func Keys() (keys []*regexp.Regexp) {
	for _, f := range families {
		if f.shape != nil {
			keys = append(keys, f.key)
		}
	}
	return keys
}

// A family is one kind of object.
type family struct {
	key         *regexp.Regexp // its groups are the stack's name and region, where it has them
	contentType string
	lines       bool // a JSON object a line
	shape       shape
	named       bool // stackName and region are those of the key
	guarded     bool // never written over without a condition
	newest      int  // the version that is written; 0: the shape says which
}

// check finds the object's family, nil for objects of others' shapes.
func check(o Object) (*family, error) {
	i := slices.IndexFunc(families, func(f *family) bool { return f.key.MatchString(o.Key) })
	if i < 0 {
		return nil, fmt.Errorf("%s: the state bucket has no such key", o.Key)
	}
	f := families[i]
	if f.shape == nil {
		return nil, nil
	}
	c := checker{before: string(o.Before)}
	if f.lines {
		c.lines(f, o)
	} else {
		c.document(f, o)
	}
	if c.problems == nil {
		return f, nil
	}
	return f, fmt.Errorf("%s: %w", o.Key, errors.Join(c.problems...))
}

// A checker collects what is wrong with one object.
type checker struct {
	before   string
	problems []error
}

func (c *checker) bad(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

// document checks a body that is one JSON object, two-space indented, without a
// newline at its end.
func (c *checker) document(f *family, o Object) {
	v, err := value.ParseObject(o.Body)
	if err != nil {
		c.bad("%w", err)
		return
	}
	form, err := value.MarshalIndent(v)
	if err != nil {
		c.bad("%w", err)
	} else if !bytes.Equal(form, o.Body) {
		c.bad("it is not indented as it should be")
	}
	f.shape(c, "", v)
	if names := f.key.FindStringSubmatch(o.Key); f.named && len(names) > 2 {
		if got := v.String("stackName"); got != names[1] {
			c.bad("stackName is %q and the key's is %q", got, names[1])
		}
		if got := v.String("region"); got != names[2] {
			c.bad("region is %q and the key's is %q", got, names[2])
		}
	}
}

func (c *checker) lines(f *family, o Object) {
	if !bytes.HasSuffix(o.Body, []byte("\n")) {
		c.bad("the last line has no end")
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(o.Body), "\n"), "\n") {
		v, err := value.ParseObject([]byte(line))
		if err != nil {
			c.bad("line %d: %w", i+1, err)
			continue
		}
		f.shape(c, fmt.Sprintf("line %d", i+1), v)
	}
}
