// Package feedback is a teacher's feedback book: students' profiles, dated
// feedback records, and voice sessions whose recordings are transcribed in the
// background and summarised into feedback text.
//
// [New] makes a [Service] over a [Store] and an [AudioStore]; every operation
// is a method of Service that needs no HTTP. Package feedbackhttp puts an HTTP
// interface on top, package sqlstore keeps the rows in PostgreSQL or SQLite,
// package audiodir keeps the recordings in a directory, package summary makes
// summaries, and package feedbacktest checks other implementations.
//
// # Background work
//
// The package has no queue of its own. A store calls its outbox inside the
// transaction that creates work, with a [Task] to be kept as a job by whatever
// queue shares the database. The queue's worker hands the task to
// [Service.Perform], and to [Service.Abandon] when it gives a job up.
//
// # Ownership
//
// Everything belongs to one teacher, whose identifier is the first argument of
// every operation. What belongs to somebody else does not exist: the answer is
// [ErrNotFound].
//
// # Errors
//
// Failures that a caller can act on are an [*Error]: errors.Is finds its kind
// (ErrNotFound, ErrInvalid and so on), its Message is fit for the person who
// asked, and the cause is for the log. Everything else is an internal fault.
//
// # Concurrency
//
// A Service is safe for concurrent use, also by several processes that share a
// database and an audio store.
//
// # Compatibility
//
// Exported names and the JSON form of [Task] stay as they are within a major
// version. Methods may be added to [Store] and [AudioStore] in minor versions.
package feedback
