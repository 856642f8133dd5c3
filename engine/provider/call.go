package provider

import "context"

// An Operation is a method expression of an SDK client, such as
// (*sqs.Client).CreateQueue. It is a static reference: the linker keeps this
// operation and no other.
type Operation[C, In, Out, O any] = func(*C, context.Context, *In, ...func(*O)) (*Out, error)

// Invoke sends one bound call:
//
//	out, err := provider.Invoke(ctx, r, client, (*sqs.Client).CreateQueue, createQueueInput)
func Invoke[C, In, Out, O any](ctx context.Context, r *Request, client func(*Session) *C, op Operation[C, In, Out, O], b *Binding[In]) (*Out, error) {
	in, err := b.Input(r)
	if err != nil {
		return nil, err
	}
	return op(client(r.Session), ctx, in)
}

// Call is Invoke as a function of the request, for a Delete or a satellite
// whose answer says nothing.
func Call[C, In, Out, O any](client func(*Session) *C, op Operation[C, In, Out, O], b *Binding[In]) func(context.Context, *Request) error {
	return func(ctx context.Context, r *Request) error {
		_, err := Invoke(ctx, r, client, op, b)
		return err
	}
}
