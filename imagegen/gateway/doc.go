// Package gateway serves the image-generation interface over HTTP, for any generator: a model,
// another service through an imagegen.Client, or the pictures of package draw.
//
//	tasks := gateway.NewMemoryTasks(gateway.Performer{Generator: generator, Files: files}, 2)
//	g, err := gateway.New(gateway.Config{Tasks: tasks, Files: files, Keys: keys})
//	go tasks.Run(ctx)
//	http.Handle("/", g)
//
// [New] returns a [Gateway], which is an http.Handler. It checks requests, stores their references
// in [Files], and adds a task for each to [Tasks], which performs it with a [Performer].
// [NewMemoryTasks] keeps tasks in memory; examples/image-gateway keeps them in a job queue on
// SQLite, so that they survive a crash. Either way a caller that disconnects finds the result under
// the task, or by repeating the request with the same Idempotency-Key.
//
// # Modes
//
// [Sync] responds with image data and [Async] with a task. [Auto], the default, waits for
// [Config].Budget and responds with image data if it is ready, else with the task: proxies that cut
// requests after a hundred seconds do no harm.
//
// # Charges
//
// In front of a paid service, a Performer saves the service's own task identifier, if the generator
// is a [Submitter], as imagegen.Client is, and resumes waiting for that task. Interrupted work
// without such an identifier is reported as failed and not repeated, unless [Performer].Rerun
// permits it.
//
// # OpenAI clients
//
// The endpoints and errors are those of OpenAI's image API, so its clients work with a gateway in
// mode [Sync]; a task means nothing to them. They send what takes longer than their timeout again,
// as another request, unless they are told not to retry. A size in pixels is mapped to the nearest
// ratio, and "auto" leaves the ratio to the generator; the response header Image-Ratio says so. An
// output_format of "png" or "jpeg" converts the images, a response_format of "url" returns signed
// URLs, and /v1/models lists the model. Parameters that change nothing are accepted, such as stream
// false, or any output_compression of PNG. What cannot be honored, such as stream true or a
// quality, is refused with status 400, never ignored.
//
// # Memory
//
// References stream from the request into Files, and images from the generator into Files and from
// there into the response, whose length is known beforehand. Neither is held in memory, except
// images that are converted: see package fit.
package gateway
