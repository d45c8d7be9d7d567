// Package provider has what every recogniser must do, for those who write one: [Open] a recording
// and check it, send it ([NewTransport], [Do]), classify an answer ([StatusError]) and read it
// ([ReadBody], [RetryAfter], [Excerpt]), limit the time ([TimeLimit]), make a prompt of words
// ([Prompt]), and report that the caller has given up ([Interrupted]). The recognisers of this
// module are built on it; package asrtest tests the result.
//
// A recogniser whose service works in tasks passes the name of each to Audio.SaveTask as soon as it
// is created, continues Audio.Task instead of sending the recording again, creates a new one if the
// service no longer knows that, and calls SaveTask with "" when a task has failed for good.
//
// The parameter op of the functions is the Op of the errors that they return: the name of the
// recogniser.
//
// # Compatibility
//
// Exported names stay; fields of structs may be added.
package provider
