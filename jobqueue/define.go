package jobqueue

import "context"

// Definition joins the name of a kind of jobs with the type of its arguments, so that a wrong type
// does not compile. [Define] returns it; it can be a package-level variable, and is safe for
// concurrent use.
type Definition[T any] struct {
	kind string
}

// Define returns the definition of a kind of jobs with arguments of type T. Jobs of the same kind
// that were enqueued or handled by its name are the same.
func Define[T any](kind string) Definition[T] { return Definition[T]{kind: kind} }

// Params returns the parameters of a job with the arguments args; the caller may set the other
// fields. They are for [Client.EnqueueMany], a store's EnqueueTx and package jobtest.
func (d Definition[T]) Params(args T) Params { return Params{Kind: d.kind, Args: args} }

// Enqueue adds a job with the arguments args: see [Client.Enqueue].
func (d Definition[T]) Enqueue(ctx context.Context, c *Client, args T) (InsertResult, error) {
	return c.Enqueue(ctx, d.Params(args))
}

// Handle makes h the handler of the kind: see [Handle].
func (d Definition[T]) Handle(
	w *Worker, h func(ctx context.Context, job *Job, args T) error, opts ...HandleOption,
) {
	Handle(w, d.kind, h, opts...)
}
