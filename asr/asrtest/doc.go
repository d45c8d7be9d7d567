// Package asrtest helps to test recognisers and programs that use them: [Run] is a conformance suite for every
// [asr.Recognizer], [NewServer] a fake of the servers that asr/local and asr/cloud talk to, each in its own dialect and with the
// faults it has in practice, and [RunFaults] checks what a client makes of them.
//
// A fake hears [Heard]: words that name the number of bytes and their hash, so that a test sees whether the recording arrived whole.
//
// Exported names stay; suites may become stricter.
package asrtest
