// Package asr is one interface to any speech recogniser, on this machine or in the cloud.
//
// A program hands a [Recognizer] an [Audio] and gets a [Transcript]. The recognisers are in
// subpackages, so that a program compiles only what it uses:
//
//   - asr/local: any server that speaks OpenAI's transcription form or whisper.cpp's own
//     (whisper.cpp, speaches, vLLM, LocalAI, FunASR), from one URL.
//   - asr/cloud: Tencent Cloud.
//   - asr/command: a program on this machine (PocketSphinx, whisper-cli, any other), run once per recording.
//   - asr/asrhttp: an http.Handler that serves any Recognizer in OpenAI's form.
//   - asr/audiofile: the format and the duration of a recording, from its own bytes.
//   - asr/asrtest: a conformance suite for recognisers, and fake servers with faults.
//
// # Errors
//
// A Recognizer returns an [*Error] whose class is found with errors.Is and one of [ErrUnavailable],
// [ErrUnusableAudio], [ErrMisconfigured] and [ErrRefused]. What a queue should do, an error tells by method:
// Permanent() true means that trying again cannot help; RetryAfter() above zero means that the
// recogniser is away, which is not the recording's fault, so trying again after that long should cost no attempt;
// neither means an ordinary failure. An error caused by the caller's own context is neither, and
// errors.Is finds the context's error in it.
//
// # Memory
//
// A recording is read through [Audio.Open] and streamed; no recogniser holds it whole in memory.
//
// # Compatibility
//
// Exported names stay; new fields and new methods on structs may come.
package asr
