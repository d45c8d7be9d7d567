package asr_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
)

// gone is an error that Audio.Open returns.
type gone struct{}

func (gone) Error() string      { return "gone" }
func (gone) Permanent() bool    { return true }
func (gone) PublicText() string { return "the recording is gone" }

func TestErrorMethods(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	for _, c := range []struct {
		name      string
		err       asr.Error
		permanent bool
		after     time.Duration
		text      string
		public    string
	}{
		{
			"no class", asr.Error{Op: "local", Message: "unexpected answer", Status: 500, Err: cause}, false, 0,
			"recognise (local): unexpected answer (HTTP 500): cause", "the recogniser failed",
		},
		{
			"permanent cause", asr.Error{Op: "local", Message: "open audio", Err: gone{}}, true, 0,
			"recognise (local): open audio: gone", "the recording is gone",
		},
		{
			"unavailable", asr.Error{Class: asr.ErrUnavailable}, false, 15 * time.Second,
			"recognise: the recogniser is not available", "the recogniser is not available",
		},
		{
			"unavailable with After", asr.Error{Class: asr.ErrUnavailable, After: time.Hour}, false, time.Hour,
			"recognise: the recogniser is not available", "the recogniser is not available",
		},
		{
			"unusable", asr.Error{Class: asr.ErrUnusableAudio, Message: "it is empty", After: time.Hour}, true, 0,
			"recognise: the audio cannot be used: it is empty", "the audio cannot be used: it is empty",
		},
		{
			"misconfigured", asr.Error{Class: asr.ErrMisconfigured, Message: "wrong key", Code: "4002"},
			false, time.Minute,
			"recognise: the recogniser is misconfigured: wrong key (code 4002)", "the recogniser is misconfigured",
		},
		{
			"permanently misconfigured", asr.Error{Class: asr.ErrMisconfigured, Final: true}, true, 0,
			"recognise: the recogniser is misconfigured", "the recogniser is misconfigured",
		},
		{
			"refused", asr.Error{Class: asr.ErrRefused, Code: "4004", Status: 200}, false, 10 * time.Minute,
			"recognise: the account is refused (code 4004, HTTP 200)", "the account is refused",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := fmt.Errorf("job 7: %w", &c.err)
			var advice interface {
				Permanent() bool
				RetryAfter() time.Duration
			}
			require.ErrorAs(t, err, &advice)
			require.Equal(t, c.permanent, advice.Permanent())
			require.Equal(t, c.after, advice.RetryAfter())
			require.Equal(t, c.text, c.err.Error())
			require.Equal(t, c.public, c.err.PublicText())
			if c.err.Class != nil {
				require.ErrorIs(t, err, c.err.Class)
			}
			if c.err.Err != nil {
				require.ErrorIs(t, err, c.err.Err)
			}
		})
	}
}

func TestJoinTextSpacesDependOnTheScript(t *testing.T) {
	t.Parallel()
	for want, texts := range map[string][]string{
		"":               {"", " ", "\n"},
		"a b":            {" a", "", "b "},
		"你好。世界":          {"你好。", " 世界"},
		"hello 世界":       {"hello", "世界"},
		"こんにちは":          {"こん", "にちは"},
		"안녕 하세요":         {"안녕", "하세요"},
		"第一节 page two 好": {"第一节", "page two", "好"},
	} {
		require.Equal(t, want, asr.JoinText(texts...))
	}
	require.Equal(t, "a b", asr.JoinSegments([]asr.Segment{{Text: "a"}, {Text: "b"}}))
}

func TestFromFileOpensRepeatedly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lesson.wav")
	require.NoError(t, os.WriteFile(path, []byte("sound"), 0o600))
	audio, err := asr.FromFile(path)
	require.NoError(t, err)
	require.Equal(t, "lesson.wav", audio.Name)
	require.EqualValues(t, 5, audio.Size)
	for range 2 {
		r, err := audio.Open()
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, "sound", string(b))
	}
	_, err = asr.FromFile(path + ".gone")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = asr.FromFile(t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
}
