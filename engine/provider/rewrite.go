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
	return Custom(path, Shape[T](rewrite, opts...))
}

// Shape is Rewrite for a value that no binding reaches, such as one element of
// a list that is written by a call for each.
func Shape[T any](rewrite func(any) any, opts ...Option) func(v any) (T, error) {
	b := Bind[T](opts...)
	return func(v any) (T, error) {
		var t T
		o, ok := rewrite(v).(*value.Object)
		if !ok {
			return t, fmt.Errorf("want an object, got %s", value.Kind(v))
		}
		d := decoder{mapping: &b.mapping, request: &Request{}}
		d.members(reflect.ValueOf(&t).Elem(), "", o)
		if fault, ok := errors.AsType[*BindError](d.err); ok {
			return t, fmt.Errorf("%s: want %s, got %s", fault.Path, fault.Want, fault.Got)
		}
		return t, d.err
	}
}
