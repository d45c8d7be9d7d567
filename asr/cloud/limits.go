package cloud

import (
	"fmt"
	"time"

	"lessonkit.example/asr"
	"lessonkit.example/asr/audiofile"
	"lessonkit.example/asr/internal/source"
)

// Limits of the interfaces, from the cloud's documentation.
const (
	flashBytes       = 100 << 20
	flashDuration    = 2 * time.Hour
	taskBytes        = 5 << 20
	sentenceDuration = time.Minute
	sentenceBytes    = 3 << 20 / 4 * 3 // 3 MB after base64
)

// examine finds out what it can about the recording, at the cost of reading headers. src tells the format.
func examine(src *source.Source, audio asr.Audio) audiofile.Info {
	if src.Prefix == nil {
		if info, err := source.Inspect(audio); err == nil {
			return info
		}
	}
	return src.Info
}

// choose returns the interface for a recording.
func (r *Recognizer) choose(info audiofile.Info, size int64) Mode {
	mode := r.cfg.mode()
	if mode != Auto {
		return mode
	}
	short := info.Duration > 0 && info.Duration <= sentenceDuration && size <= sentenceBytes
	flash := r.cfg.AppID != "" && flashFormat(info) != "" && size <= flashBytes && info.Duration <= flashDuration
	switch {
	case short && flashFormat(info) != "":
		return Sentence
	case flash:
		return Flash
	case size <= taskBytes && taskFormat(info):
		return Task
	case r.cfg.AppID != "":
		return Flash // which says what is wrong
	}
	return Task
}

// flashFormat is the name of the format for flash and sentence, or "" for one that they do not take.
func flashFormat(info audiofile.Info) string {
	switch info.Format {
	case audiofile.WAV, audiofile.MP3, audiofile.AAC, audiofile.M4A, audiofile.AMR, audiofile.SILK:
		return string(info.Format)
	case audiofile.OGG:
		switch info.Codec {
		case "opus", "": // "" when the first page could not be read at random
			return "ogg-opus"
		}
	}
	return ""
}

// taskFormat tells whether tasks take the format.
func taskFormat(info audiofile.Info) bool {
	switch info.Format {
	case audiofile.WAV, audiofile.MP3, audiofile.AAC, audiofile.M4A, audiofile.AMR, audiofile.FLAC:
		return true
	case audiofile.OGG:
		return info.Codec == "opus" || info.Codec == ""
	}
	return false
}

// within checks a recording against an interface before anything is sent.
func within(op, format string, info audiofile.Info, size, maxBytes int64, longest time.Duration) error {
	name := string(info.Format)
	if info.Codec != "" {
		name += " with " + info.Codec
	}
	switch {
	case format == "":
		return source.Unusable(op, fmt.Sprintf("this interface takes no %s (it takes wav, mp3, m4a, aac, amr and ogg with opus)", name))
	case size > maxBytes:
		return source.Unusable(op, fmt.Sprintf("it has %d bytes; this interface takes up to %d", size, maxBytes))
	case longest > 0 && info.Duration > longest:
		return source.Unusable(op, fmt.Sprintf("it lasts %v; this interface takes up to %v", info.Duration.Round(time.Second), longest))
	}
	return nil
}
