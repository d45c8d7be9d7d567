// Package asrtest tests recognisers and programs that use them: [Run] is a conformance suite for
// every [asr.Recognizer], [NewServer] starts a fake of one of the servers that asr/local supports,
// with the faults that they have in practice, and [RunFaults] tests how a client handles them.
//
//	server := asrtest.NewServer(t, asrtest.WhisperCPP)
//	recognizer, err := local.New(local.Config{URL: server.URL})
//
// A fake answers with [Heard], a text with the number of bytes and their hash, which shows whether
// the recording arrived complete.
//
// # Compatibility
//
// Exported names stay; suites may become stricter.
package asrtest
