package provider

import (
	"context"

	"github.com/org/cdkd-action/engine/value"
)

// waitHandle stands for AWS::CloudFormation::WaitConditionHandle. Nothing is
// behind one without a WaitCondition, which cannot be provisioned; templates
// have it as a placeholder, so it has an id and no more.
type waitHandle struct{}

func (waitHandle) Create(_ context.Context, r *Request) (Created, error) {
	id := r.Stack.Name + "-" + r.LogicalID
	made := Created{PhysicalID: id, Attributes: value.NewObject("Id", id)}
	if r.Made != nil {
		r.Made(made)
	}
	return made, nil
}

func (waitHandle) Update(context.Context, *Request) (Updated, error) { return Updated{}, nil }
func (waitHandle) Delete(context.Context, *Request) (Deleted, error) { return Deleted{}, nil }

func (waitHandle) Read(_ context.Context, r *Request) (*value.Object, error) {
	return r.Properties, nil
}
