package cloud

import (
	"fmt"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/provider"
)

// Limits of the interfaces, from the documentation of the cloud.
const (
	flashBytes    = 100 << 20
	flashDuration = 2 * time.Hour
	taskBytes     = 5 << 20
)

// choose returns the interface for a recording.
func (r *Recognizer) choose(info audiofile.Info, size int64) Mode {
	fits := flashFormat(info) != "" && size <= flashBytes && info.Duration <= flashDuration
	if r.cfg.Mode == Flash && !fits && size <= taskBytes && taskFormat(info) {
		return Task
	}
	return r.cfg.Mode
}

// takes reports whether the interface that choose returns takes the format.
func (r *Recognizer) takes(info audiofile.Info, size int64) bool {
	if r.choose(info, size) == Task {
		return taskFormat(info)
	}
	return flashFormat(info) != ""
}

// flashFormat returns the name of the format for the flash interface, or "" for one that it
// does not take.
func flashFormat(info audiofile.Info) string {
	switch info.Format {
	case audiofile.WAV, audiofile.MP3, audiofile.AAC, audiofile.M4A, audiofile.AMR, audiofile.SILK:
		return string(info.Format)
	case audiofile.OGG:
		if info.Codec == "opus" || info.Codec == "" { // "" where the reader is not an io.ReaderAt
			return "ogg-opus"
		}
	}
	return ""
}

// taskFormat reports whether tasks take the format.
func taskFormat(info audiofile.Info) bool {
	return info.Format == audiofile.FLAC || info.Format != audiofile.SILK && flashFormat(info) != ""
}

// checkLimits checks a recording against the limits of an interface before anything is sent.
// taken tells whether the interface takes the format. A maxDuration of 0 is no limit.
func checkLimits(op string, taken bool, src *provider.Source, maxBytes int64, maxDuration time.Duration) error {
	name := string(src.Info.Format)
	if src.Info.Codec != "" {
		name += " with " + src.Info.Codec
	}
	const takes = "wav, mp3, m4a, aac, amr and ogg with opus"
	length := src.Info.Duration.Round(time.Second)
	switch {
	case !taken && src.Info.Format == audiofile.SILK: // ffmpeg does not decode it either
		return provider.Unusable(op, fmt.Sprintf("this interface does not take %s (it takes %s)", name, takes))
	case !taken:
		return &asr.Error{Op: op, Class: asr.ErrMisconfigured, Message: fmt.Sprintf("this interface does not take %s "+
			"(it takes %s): install ffmpeg and let recordings be converted before they are sent", name, takes)}
	case src.Size > maxBytes:
		return provider.Unusable(op,
			fmt.Sprintf("as %s it is larger than the %d MB that this interface takes", src.Info.Format, maxBytes>>20))
	case maxDuration > 0 && src.Info.Duration > maxDuration:
		return provider.Unusable(op, fmt.Sprintf("it lasts %v; this interface takes up to %v", length, maxDuration))
	}
	return nil
}
