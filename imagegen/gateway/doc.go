// Package gateway serves the image-generation interface over any generator: a model, another service through an imagegen.Client,
// or the drawings of package draw.
//
// [New] makes a [Gateway], an http.Handler; [Gateway.Run] does the work and must be running. Every request becomes a task in the
// [Store], so that nothing that has begun is lost: a caller that goes away finds the result under the task, or by repeating the
// request with the same Idempotency-Key; tasks of a store in a directory survive a restart.
//
// # Modes
//
// [Sync] answers with image data, [Async] with a task. [Auto], the default, waits for [Config].Budget and answers with image data if
// they are there, with the task if not, which defeats proxies that cut requests off after a hundred seconds.
//
// # Paying once
//
// A gateway in front of a paid service keeps the service's own task identifier, if the generator is a [Submitter], as
// imagegen.Client is, and resumes the waiting after a restart. Work that was interrupted without one is reported as failed, not
// repeated, unless [Config].Rerun says that generating costs nothing.
//
// # Memory
//
// References stream from the request into the store, images from the generator into the store and from there into the answer, whose
// length is known beforehand; neither is ever held.
package gateway
