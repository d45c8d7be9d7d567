// Package asr turns recordings of speech into text, for programs that should run with any
// recogniser: a server, a cloud, or a program on this machine.
//
//	recognizer, err := local.New(local.Config{URL: "http://127.0.0.1:8090"})
//	if err != nil {
//		return err
//	}
//	audio, err := asr.FromFile("lesson.mp3")
//	if err != nil {
//		return err
//	}
//	transcript, err := recognizer.Recognize(ctx, audio)
//	if err != nil {
//		return err
//	}
//	fmt.Println(transcript.Text)
//
// A [Recognizer] gets an [Audio] and returns a [Transcript], which also has the times of its parts.
// The recognisers are in subpackages, so that a program compiles only what it uses:
//
//   - asr/local: any server with OpenAI's transcription interface or the one of whisper.cpp
//     (whisper.cpp, speaches, vLLM, LocalAI, FunASR), from one URL.
//   - asr/cloud: Tencent Cloud.
//   - asr/command: a program on this machine (PocketSphinx, whisper-cli, any other), run once per
//     recording.
//   - asr/asrhttp: an http.Handler that serves any Recognizer with OpenAI's interface.
//   - asr/audiofile: the format and the duration of a recording, from its bytes.
//   - asr/provider: what every recogniser must do, for those who write one.
//   - asr/asrtest: a conformance suite for recognisers, and fake servers with faults.
//
// # Errors
//
// A Recognizer returns an [*Error] whose class errors.Is finds: [ErrUnavailable], [ErrLost],
// [ErrUnusableAudio], [ErrMisconfigured], [ErrRefused], or none. Its methods tell a queue what to
// do:
//
//   - Permanent() is true: retries cannot succeed.
//   - RetryAfter() is positive: the recogniser is unavailable, which is not the fault of the
//     recording. Retry after that time, without counting an attempt.
//   - Suspect() is true: the recogniser was lost while it had the recording, which may be the
//     cause. Retry late, alone and a few times only, or others wait for ever.
//   - None of these: an ordinary failure. Count an attempt.
//
// A program that somebody watches, such as a command, stops at [ErrMisconfigured] and [ErrRefused],
// whose RetryAfter is positive too: a queue waits until an operator has acted.
//
// An error caused by the context of the caller is not an *Error; errors.Is finds the error of the
// context in it.
//
// # Memory and temporary files
//
// A recording is read through [Audio.Open] and streamed. Only a task of asr/cloud, which takes 5 MB
// at most, holds all of it in memory, several times. While it is converted, and in asr/command and
// asr/asrhttp until it is recognised, it is in a directory whose name begins with "lessonkit-asr-",
// below os.TempDir or their Config.Dir. On Unix, New and later recordings delete those of processes
// that were killed.
package asr
