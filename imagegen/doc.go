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
// size and number of the images. A sink commits an image only after the whole response has been
// read, so no file is ever visible half written.
//
// # Paying once
//
// A generation costs money, so the client sends a request again only when the service cannot have
// started, or when the connection broke before the first byte of a response (at most [Retry].Max
// times; [Retry].UnsentOnly forbids that too). After a timeout, a truncated response or a 5xx
// status it never does. [Error].MayHaveRun and [Result].Ambiguous report when a generation may have
// been charged although its images did not arrive. A task identifier is reported as an [Event]
// before the first poll, and in a [*WaitError] whenever waiting ends early, so that a paid task can
// always be resumed.
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
