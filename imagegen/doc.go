// Package imagegen is a client of the image-generation service: it turns a prompt, and reference images if there are any,
// into image files, whether the service answers at once with base64 data, with addresses, or with a task to be polled.
//
// [New] makes a [Client]; [Client.Generate] does everything one call needs. Its parts are there for callers that want more
// control: [Client.Submit] sends one request, [Client.Wait] takes up a task by its identifier, also one that another process
// submitted, [Client.Watch] shows every poll, [Client.Batch] runs many requests with a bound.
//
// Images go to a [Sink]: [Dir], [Memory], [Writer], or one of the caller's. They are decoded from the connection straight into
// the sink, so memory stays below a megabyte whatever the size and number of the images, and a sink commits an image only when
// the whole answer has been read: no file is ever seen half written.
//
// # Paying once
//
// A generation costs money, so the client repeats a request only when the service cannot have begun, or when the connection
// broke before the first byte of an answer (at most [Retry].Max times; [Retry].Unsent forbids that too). A deadline, an answer
// cut short and a 5xx status are never repeated. [Error].MayHaveRun and [Result].Ambiguous say when a generation may have been
// charged without its images having arrived. A task identifier leaves the library as an [Event] before the first poll, and in a
// [*WaitError] whenever waiting ends early, so that a paid job can always be taken up again.
//
// # Errors
//
// [*Error] for whatever the service or the network refused, [*TaskError] for a task that failed, [*WaitError] for a wait that
// ended before the task did, [*PartialError] beside a [Result] that lacks some images. Error values never hold the key, a
// request body, image data or the query of a signed address.
//
// # Concurrency
//
// A Client may be used by many goroutines at once. A Sink is used by one call at a time unless its documentation says more.
package imagegen
