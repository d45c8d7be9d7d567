// Package imagegen is a client for an image-generation service: it turns a prompt, and optionally
// reference images, into image files, whether the service responds at once with base64 data, with
// URLs, or with a task to be polled.
//
// [New] returns a [Client], and [Client.Generate] does everything one request needs. For more
// control, [Client.Submit] sends one request, [Client.Wait] waits for a task by its identifier,
// even if another process submitted it, and [Client.Batch] runs many requests with bounded
// concurrency.
//
// Images are written to a [Sink]: [Dir], [Memory], [Writer], or the caller's own. They are decoded
// from the connection straight into the sink, so memory use stays below a megabyte whatever the
// size and number of the images. Images are committed only after the whole response has been read,
// so one that breaks off leaves none behind.
//
// # Charges
//
// A generation costs money. After a timeout, a truncated response or a 5xx status the client does
// not send the request again. It does, at most [Retry].Max times, when the service has refused it
// before any work, when it cannot have reached the service, and when the connection broke before
// the first byte of a response: the service may then run, and charge, the request more than once.
// [Retry].UnsentOnly excludes this last case. [Error].MayHaveRun and [Result].Ambiguous report when
// a generation may have been charged although its images did not arrive.
//
// A task identifier is reported as an [Event] before the first poll, and in a [*WaitError] whenever
// waiting ends early, so that the task can be resumed.
//
// # Errors
//
// Calls return [*Error] for everything the service or the network refused, [*TaskError] for a task
// that failed, [*WaitError] for a wait that ended before the task did, and [*PartialError] beside a
// [Result] that lacks some images. Errors never contain the API key, a request body, image data or
// the query of a URL.
//
// # Concurrency
//
// A Client is safe for concurrent use. A Sink is used by one call at a time unless its
// documentation says otherwise.
package imagegen
