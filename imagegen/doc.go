// Package imagegen is a client for image-generation services that speak the interface below, as
// OpenAI's image API and compatible services do: it turns a prompt into image files.
//
//	client, err := imagegen.New(imagegen.Config{BaseURL: address, APIKey: key})
//	if err != nil {
//		return err
//	}
//	request := &imagegen.Request{Prompt: "a red fox in the snow", Size: "16:9"}
//	result, err := client.Generate(ctx, request, imagegen.Dir(".", "fox-{i}{ext}"))
//	if err != nil {
//		return err
//	}
//	fmt.Println(result.Images[0].Path)
//
// # The interface
//
// Every request has the header Authorization: Bearer KEY.
//
//   - POST /v1/images/generations with the JSON members model, prompt, n and size.
//   - POST /v1/images/edits, if the [Request] has References, with a multipart form of the same
//     fields and a file image[] for each reference.
//   - GET /v1/tasks/ID, to poll a task: first after 10 to 15 seconds, then every 3 to 5.
//
// A size is one of 13 ratios: 1:1, 16:9, 9:16, 4:3, 3:4, 3:2, 2:3, 5:4, 4:5, 2:1, 1:2, 21:9, 9:21.
// The service may choose for each request how it responds; the content of the response decides:
//
//   - data[].b64_json: the images, which take precedence over what follows.
//   - data[].url, a string or a list of strings: addresses to fetch the images from.
//   - data.id: a task. Its data.status becomes completed, with data.result.images[].url, or failed,
//     with data.error.message.
//   - error with code, type and message, in data[] also for a single image.
//
// [Client.Generate] does everything that a request needs. For more control, [Client.Submit] sends
// one request, and [Client.Wait] waits for a task by its identifier, even if another process
// submitted it. Package gateway serves this interface, and package imagegentest imitates it in
// tests.
//
// # Images
//
// Images are written to a [Sink]: [Dir], [Memory], [Writer], or the caller's own. They are decoded
// from the connection straight into the sink, so memory use stays below a megabyte whatever the
// size and number of the images. Images are committed only after the whole response has been read,
// so one that breaks off leaves none behind. Their data is not decoded: an image that the service
// itself has cut off is stored as it came.
//
// # Charges
//
// A generation costs money, so a request is sent again, at most [Config].MaxRetries times, only if
// it cannot have started: the service could not be reached, or has answered that it does not accept
// the request now (status 429, or 503, with a Retry-After). Any other failure ends the call, and
// [Error].MayHaveRun, also in the text of the error, says when images may have been generated and
// charged although they did not arrive: after a broken connection, a timeout, a truncated response
// or another 5xx status. A request with an IdempotencyKey is sent again as well if its connection
// broke before a response: a service that does not honor the key would charge it twice.
//
// A task identifier is reported as an [Event] before the first poll, and in a [*WaitError] whenever
// waiting ends early, so that the task can be resumed.
//
// # Errors
//
// Calls return [*Error] for everything the service or the network refused, [*TaskError] for a task
// that failed, [*WaitError] for a wait that ended before the task did, and [*PartialError] beside a
// [Result] that lacks some images. errors.Is tells a content filter's refusal by [ErrModerated],
// and a failure of the Sink by [ErrStore], after which more images should not be paid for.
// Errors never contain the API key, a request body, image data or the query of a URL.
package imagegen
