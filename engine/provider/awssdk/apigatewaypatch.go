package awssdk

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"

	"github.com/org/cdkd-action/engine/provider"
	"github.com/org/cdkd-action/engine/value"
)

// A patch is how the first API Gateway is told of changes: operations on paths
// of the resource, in which / and ~ of names are escaped as in JSON pointers.
type patch []types.PatchOperation

func (p *patch) op(op types.Op, path, value string) {
	o := types.PatchOperation{Op: op, Path: &path}
	if value != "" || op == types.OpReplace {
		o.Value = &value
	}
	*p = append(*p, o)
}

// A patched property is one that an operation replaces. otherwise is its value
// when it has none.
type patched struct{ property, path, otherwise string }

func (p *patch) scalars(old, new *value.Object, fields ...patched) {
	for _, f := range fields {
		if value.Equal(old.Value(f.property), new.Value(f.property)) {
			continue
		}
		v := f.otherwise
		if new.Has(f.property) {
			v = document(new, f.property)
			if s, ok := value.Text(new.Value(f.property)); ok {
				v = s
			}
		}
		p.op(types.OpReplace, f.path, v)
	}
}

// whole brings the settings below a path to others. What lost one of them is
// removed first: none of these can be taken away alone.
func (p *patch) whole(path string, old, new *value.Object, fields ...patched) {
	for name := range old.All() {
		if !new.Has(name) {
			p.op(types.OpRemove, path, "")
			old = nil
			break
		}
	}
	p.scalars(old, new, fields...)
}

// values brings a list to other members, each of which is an operation's value.
func (p *patch) values(path string, old, new []string) {
	for _, v := range less(old, new) {
		p.op(types.OpRemove, path, v)
	}
	for _, v := range less(new, old) {
		p.op(types.OpAdd, path, v)
	}
}

// keys brings a list to other members, each of which is part of a path.
func (p *patch) keys(path string, old, new []string) {
	for _, v := range less(old, new) {
		p.op(types.OpRemove, path+"/"+pointer(v), "")
	}
	for _, v := range less(new, old) {
		p.op(types.OpAdd, path+"/"+pointer(v), "")
	}
}

// entries brings a map to other entries. put is the operation that sets one:
// some maps take only replace, others tell an entry that is new.
func (p *patch) entries(path string, old, new *value.Object, put types.Op) {
	for k := range old.All() {
		if !new.Has(k) {
			p.op(types.OpRemove, path+"/"+pointer(k), "")
		}
	}
	for k, v := range new.All() {
		was, had := old.Get(k)
		if had && value.Equal(was, v) {
			continue
		}
		op := put
		if had {
			op = types.OpReplace
		}
		s, _ := value.Text(v)
		p.op(op, path+"/"+pointer(k), s)
	}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func pointer(name string) string { return pointerEscapes.Replace(name) }

// part returns an object with some of an object's members.
func part(o *value.Object, names ...string) *value.Object {
	some := value.NewObject()
	for k, v := range o.All() {
		if slices.Contains(names, k) {
			some.Set(k, v)
		}
	}
	return some
}

// restARN is the ARN that API Gateway's tag calls take; it has no account.
func restARN(r *provider.Request, resource string) *string {
	return aws.String("arn:" + r.Stack.Partition + ":apigateway:" + r.Stack.Region + "::" + resource)
}
