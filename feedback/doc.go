// Package feedback implements a teaching-feedback service, for programs that serve teachers:
// profiles of students, voice sessions whose recordings are transcribed in the background and
// summarized into feedback text, and dated feedback records.
//
//	lessons, err := feedback.New(feedback.Config{
//		Store:       sqlstore.NewPostgres(db, outbox), // outbox enqueues the work in the background
//		Audio:       recordings,                       // package audiodir or audios3
//		Transcriber: transcriber,
//		Summarizer:  summary.Local{},
//	})
//	if err != nil {
//		return err
//	}
//	api := feedbackhttp.Handler(feedbackhttp.Config{Service: lessons, Authenticate: authenticate})
//	return http.ListenAndServe("127.0.0.1:8080", api)
//
// [New] returns a [Service] on top of a [Store] and an [AudioStore]. Package sqlstore is a Store on
// PostgreSQL or SQLite, packages audiodir and audios3 are AudioStores in a directory and in a
// bucket, package summary has implementations of [Summarizer], package feedbackhttp serves the HTTP
// API and package feedbackclient calls it, and package feedbacktest tests other AudioStores.
//
// # Background work
//
// The recordings are transcribed by a queue of the program's: the outbox of the [Store] adds a
// [Task] as a job within the store's transaction, a worker calls [Service.RunTask] with it, and
// [Service.FailTask] when it gives the job up. [Service.Events] reports what changes meanwhile. Any
// queue that can add a job within such a transaction will do; examples/embedded uses package
// jobqueue.
//
// # Guarantees
//
// A recording is durable, and its transcription a job, before its upload is acknowledged. Each part
// of a lesson has one text, of the attempt that holds it: one that comes late changes nothing. What
// a teacher has written is never overwritten by generated text.
//
// # Ownership
//
// Everything belongs to one teacher, whose identifier is the first argument of every operation.
// What belongs to another teacher is reported as [ErrNotFound].
//
// # Errors
//
// Failures that a caller can act on are an [*Error]: errors.Is finds its kind (ErrNotFound,
// ErrInvalid and so on), its Message can be shown to the caller, and the wrapped cause is for logs.
// All other errors are internal faults. Besides the kinds that its documentation names, every
// operation may fail with ErrUnavailable, and one that stores text or recordings with ErrLimit and
// ErrStorageFull.
//
// # Concurrency
//
// A Service is safe for concurrent use, also by several processes that share a database and an
// audio store.
//
// # Compatibility
//
// Exported names and the JSON form of [Task] stay as they are within a major version. Methods may
// be added to [Store] and [AudioStore] in minor versions.
package feedback
