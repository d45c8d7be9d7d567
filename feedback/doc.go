// Package feedback implements a teaching-feedback service: student profiles, dated feedback
// records, and voice sessions whose recordings are transcribed in the background and summarized
// into feedback text.
//
// [New] returns a [Service] on top of a [Store] and an [AudioStore]. Package sqlstore is a Store on
// PostgreSQL or SQLite, packages audiodir and audios3 are AudioStores in a directory and in a
// bucket, package summary has implementations of [Summarizer], package feedbackhttp serves the HTTP
// API and package feedbackclient calls it, and package feedbacktest tests other AudioStores.
//
// # From the request to the stored text
//
//  1. The HTTP handler calls [Service.StartUpload], which checks the limits, and [Upload.Receive],
//     which streams the body to [AudioStore.Stage].
//  2. [Upload.Submit] calls [StagedAudio.Keep]: from here on the audio is durable.
//  3. [Store.InsertSegment] inserts the segment and gives its outbox a [Task], in one transaction.
//  4. The handler answers; with the commit, the outbox has made the task a job of a queue.
//  5. A worker of the queue calls [Service.RunTask] with the task and the [Attempt].
//  6. [Store.StartTranscription] marks the segment as transcribing by the attempt's lease token.
//  7. [Transcriber.Transcribe] reads the recording through [AudioStore.Open] and returns the text.
//  8. [Store.FinishTranscription] stores it, unless another attempt has taken the segment over.
//  9. [Service.Events] reports each of these changes, which it reads with [Store.Changes].
//  10. If the queue gives the job up, it calls [Service.FailTask]; [Service.RetrySegment] restarts.
//
// The package has no queue of its own: any queue that can add a job within the store's transaction
// will do.
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
// All other errors are internal faults.
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
