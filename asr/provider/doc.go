// Package provider has what every recogniser needs, for those who write one: [Base] limits how many
// recordings are in progress and for how long, and tells faults of the recogniser from those of
// recordings; [Open] opens a recording and checks it, [NewTransport] and [Do] send it,
// [StatusError], [ReadBody] and [Excerpt] read an answer, and [Prompt] makes a prompt of words. The
// recognisers of this module are built on it; package asrtest tests the result.
//
// The parameter op of the functions is the Op of the errors that they return: the name of the
// recogniser.
package provider
