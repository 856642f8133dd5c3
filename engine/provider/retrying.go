package provider

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/org/cdkd-action/engine/retry"
	"github.com/org/cdkd-action/engine/routine"
	"github.com/org/cdkd-action/engine/value"
)

// Retrying returns a provider whose operations are tried again by a policy. A
// create that made its resource before it failed is resumed, not repeated; one
// that got no answer is looked for before it is sent again.
//
// Custom resources and nested stacks are never wrapped: their requests may
// have reached somebody's code. Neither need Cloud Control's reads be.
func Retrying(p Provider, policies Policies) Provider { return &retrying{p, policies} }

// Policies are what Retrying goes by.
type Policies struct {
	Create, Update, Delete retry.Policy
	// Stop, when set, calls off waits for another attempt when it closes, in
	// place of the request's Draining. It ends no other wait.
	Stop <-chan struct{}
	// Crowded and the reports are those of retry.Task.
	Crowded          func() bool
	Retrying, GaveUp func(line string)
}

type retrying struct {
	p Provider
	Policies
}

// What the SDK driver can do beyond a Provider, for creates that failed
// half-way.
type (
	resumer interface {
		Resume(ctx context.Context, r *Request, made Created) (Created, error)
	}
	finder interface {
		Find(ctx context.Context, r *Request) (physicalID string, err error)
	}
)

func (w *retrying) task(r *Request) retry.Task {
	stop := w.Stop
	if stop == nil {
		stop = r.Draining
	}
	retrying := func(line string) {
		if w.Retrying != nil {
			w.Retrying(line)
		}
		r.waiting(strings.TrimPrefix(line, r.LogicalID+": "), "")
	}
	return retry.Task{Name: r.LogicalID, Draining: stop, Crowded: w.Crowded, Retrying: retrying, GaveUp: w.GaveUp}
}

func (w *retrying) Create(ctx context.Context, r *Request) (made Created, err error) {
	var partial *PartialError
	var last error
	err = retry.Do(ctx, w.Policies.Create, w.task(r), func(ctx context.Context) error {
		if partial == nil && Ambiguous(last) {
			if id := w.find(ctx, r); id != "" {
				partial = &PartialError{Made: Created{PhysicalID: id}, Err: last}
			}
		}
		made, last = w.create(ctx, r, partial)
		if p := (*PartialError)(nil); errors.As(last, &p) {
			partial = p
		}
		return last
	})
	// No answer is no reason to try again, but one to look what became of it.
	if err != nil && partial == nil && ctx.Err() == nil && Ambiguous(err) {
		if id := w.find(ctx, r); id != "" {
			return w.create(ctx, r, &PartialError{Made: Created{PhysicalID: id}, Err: err})
		}
	}
	return made, err
}

func (w *retrying) create(ctx context.Context, r *Request, partial *PartialError) (Created, error) {
	if resume, ok := w.p.(resumer); ok && partial != nil {
		return resume.Resume(ctx, r, partial.Made)
	}
	return w.p.Create(ctx, r)
}

// find looks for what an unanswered create made. A failing search finds
// nothing: the create's own refusal then tells.
func (w *retrying) find(ctx context.Context, r *Request) string {
	f, ok := w.p.(finder)
	if !ok {
		return ""
	}
	id, err := f.Find(ctx, r)
	if err != nil {
		return ""
	}
	return id
}

func (w *retrying) Update(ctx context.Context, r *Request) (out Updated, err error) {
	err = retry.Do(ctx, w.Policies.Update, w.task(r), func(ctx context.Context) error {
		var err error
		out, err = w.p.Update(ctx, r)
		return err
	})
	return out, err
}

func (w *retrying) Delete(ctx context.Context, r *Request) (out Deleted, err error) {
	err = retry.Do(ctx, w.Policies.Delete, w.task(r), func(ctx context.Context) error {
		var err error
		out, err = w.p.Delete(ctx, r)
		return err
	})
	return out, err
}

func (w *retrying) Read(ctx context.Context, r *Request) (*value.Object, error) {
	return w.p.Read(ctx, r)
}

// Ambiguous tells whether a failed call may have had its effect all the same:
// no answer came, or one that says nothing about it, or none that was
// understood.
func Ambiguous(err error) bool {
	if err == nil {
		return false
	}
	if early, ok := errors.AsType[interface {
		error
		NothingSent() bool
	}](err); ok && early.NothingSent() {
		return false
	}
	if _, ok := errors.AsType[*routine.PanicError](err); ok {
		return true
	}
	if status, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok {
		code := status.HTTPStatusCode() // 0: no response at all
		return code == 0 || code == 408 || code >= 500
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
