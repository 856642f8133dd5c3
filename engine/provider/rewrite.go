package provider

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/org/cdkd-action/engine/value"
)

// Rewrite brings the value at a path into the shape of its SDK member by a
// function, and then maps it by name, with options whose paths begin below it.
// It is for configurations that are arranged differently in CloudFormation and
// in the API, not only named differently. The function must not change its
// argument. T is the member's type, or what it points to.
func Rewrite[T any](path string, rewrite func(any) any, opts ...Option) Option {
	b := Bind[T](opts...)
	return Custom(path, func(v any) (T, error) {
		var t T
		d := decoder{mapping: &b.mapping, request: &Request{}}
		switch v := rewrite(v).(type) {
		case *value.Object:
			d.members(reflect.ValueOf(&t).Elem(), "", v)
		default:
			return t, fmt.Errorf("want an object, got %s", value.Kind(v))
		}
		if fault, ok := errors.AsType[*BindError](d.err); ok {
			return t, fmt.Errorf("%s: want %s, got %s", fault.Path, fault.Want, fault.Got)
		}
		return t, d.err
	})
}
