package state

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/org/cdkd-action/engine/value"
)

// A reader takes typed members out of an object and notes what is wrong with
// them. A member that is null counts as absent, as it does for the writers of
// these objects.
type reader struct {
	from     *value.Object
	where    string // names the object in problems
	problems *[]string
}

func (r reader) bad(name, want string) {
	*r.problems = append(*r.problems, fmt.Sprintf("%s of %s is %s and must be %s",
		name, r.where, value.Kind(r.from.Value(name)), want))
}

func member[T any](r reader, name, want string) (v T) {
	m := r.from.Value(name)
	if m == nil {
		return v
	}
	v, ok := m.(T)
	if !ok {
		r.bad(name, want)
	}
	return v
}

func (r reader) text(name string) string { return member[string](r, name, "a string") }
func (r reader) flag(name string) bool   { return member[bool](r, name, "a boolean") }
func (r reader) list(name string) []any  { return member[[]any](r, name, "a list") }
func (r reader) object(name string) *value.Object {
	return member[*value.Object](r, name, "an object")
}

// time reads Unix milliseconds; a number out of range reads as 0.
func (r reader) time(name string) int64 {
	n, _ := integer(member[json.Number](r, name, "a number"))
	return n
}

func (r reader) texts(name string) []string {
	l := r.list(name)
	if l == nil {
		return nil
	}
	out := make([]string, 0, len(l))
	for _, v := range l {
		s, ok := v.(string)
		if !ok {
			r.bad(name, "a list of strings")
			return nil
		}
		out = append(out, s)
	}
	return out
}

// objects reads a list of objects and calls each with its place in the list.
func (r reader) objects(name string, each func(reader)) {
	for i, v := range r.list(name) {
		where := fmt.Sprintf("%s[%d] of %s", name, i, r.where)
		o, ok := v.(*value.Object)
		if !ok {
			*r.problems = append(*r.problems, fmt.Sprintf("%s is %s and must be an object", where, value.Kind(v)))
			continue
		}
		each(reader{o, where, r.problems})
	}
}

// integer reads a whole number however it is written.
func integer(n json.Number) (int64, bool) {
	if i, err := n.Int64(); err == nil {
		return i, true
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// moment reads Unix milliseconds, the zero time for what is not a finite
// number. What is beyond the years that can be written is the last of them.
func moment(v any) time.Time {
	n, ok := v.(json.Number)
	if !ok {
		return time.Time{}
	}
	const latest = 253402300799000 // the end of the year 9999
	f, err := n.Float64()
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(max(0, min(f, latest))))
}

// version reads an object's version member; ok is false when it is not one of
// 1 to newest. missing is what an absent member means.
func version(key string, o *value.Object, name string, missing, newest int64) (int64, error) {
	v, there := o.Get(name)
	if !there {
		v = value.Int(missing)
	}
	n, isNumber := v.(json.Number)
	i, ok := integer(n)
	if !isNumber || !ok || i < 1 || i > newest {
		understood := "1"
		if newest > 1 {
			understood += " to " + strconv.FormatInt(newest, 10)
		}
		found := value.Kind(v)
		if isNumber {
			found = n.String()
		} else if !there {
			found = "none"
		}
		return 0, &VersionError{Key: key, Found: found, Understood: understood, isNewer: isNumber && (!ok || i > newest)}
	}
	return i, nil
}

// A writer lays members over the object that was read, so that order and
// unknown members stay as they were.
type writer struct{ o *value.Object }

func over(read *value.Object) writer {
	o := &value.Object{}
	for name, v := range read.All() {
		o.Set(name, v)
	}
	return writer{o}
}

// put sets the member, or removes it when keep is false.
func (w writer) put(name string, v any, keep bool) {
	if keep {
		w.o.Set(name, v)
	} else {
		w.o.Delete(name)
	}
}

// flag leaves a false that was read.
func (w writer) flag(name string, b bool) {
	if b != (w.o.Value(name) == true) {
		w.put(name, true, b)
	}
}

func (w writer) text(name, s string)              { w.put(name, s, s != "") }
func (w writer) object(n string, o *value.Object) { w.put(n, o, o != nil) }
func (w writer) texts(name string, l []string)    { w.put(name, texts(l), len(l) > 0) }
func (w writer) list(name string, l []any)        { w.put(name, l, len(l) > 0) }

func texts(l []string) []any {
	out := make([]any, len(l))
	for i, s := range l {
		out[i] = s
	}
	return out
}

// parseObject reads the body of an object of the bucket.
func parseObject(key string, b []byte) (*value.Object, error) {
	v, err := value.Parse(b)
	if err != nil {
		return nil, &MalformedError{Key: key, Problems: []string{"not JSON: " + err.Error()}}
	}
	o, ok := v.(*value.Object)
	if !ok {
		return nil, &MalformedError{Key: key, Problems: []string{"the body is " + value.Kind(v) + " and must be an object"}}
	}
	return o, nil
}
