package command_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/command"
)

// The noise of a program must not become the text of a recording.
func TestNoiseOfAProgramIsNotText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		class  error
		says   string
	}{
		"JSON": {`echo '{"b":0.0,"d":1.0,"t":"hello"}'`, asr.ErrMisconfigured, "prints JSON"},
		"JSON of many lines": {`echo "{"; yes '  "t": "hello",' | head -c 100000; echo; echo "}"`,
			asr.ErrMisconfigured, "prints JSON"},
		"a banner": {`for i in $(seq 400); do echo "INFO: a line of a banner"; done`,
			asr.ErrMisconfigured, "which is not speech"},
		"not UTF-8":                  {`printf 'caf\351\n'`, nil, "its output is not UTF-8"},
		"not UTF-8, no newline":      {`printf 'caf\351'`, nil, "its output is not UTF-8"},
		"GBK with times":             {`printf '[0:0:0.0 --> 0:0:1.0]  \304\343\272\303\n'`, nil, "is not UTF-8"},
		"Latin-1 with times":         {`printf '[0:0:0.0 --> 0:0:1.0]  caf\351s\n'`, nil, "is not UTF-8"},
		"an error and status 0":      {`echo "error: unknown language 'xx'" >&2`, nil, "unknown language 'xx'"},
		"Error and status 0":         {`echo "Error: no model" >&2`, nil, "no model"},
		"ERROR and status 0":         {`echo "ERROR: no model" >&2`, nil, "no model"},
		"a quoted name in an error":  {`echo 'error: "a.bin" is no model' >&2`, nil, "is no model"},
		"a later error and status 0": {`echo loading >&2; echo "error: failed to read" >&2`, nil, "failed to read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := script(t, c.script, nil).Recognize(t.Context(), asr.FromBytes("a.wav", wavOf(time.Second)))
			require.ErrorContains(t, err, c.says)
			require.Equal(t, c.class, err.(*asr.Error).Class)
		})
	}
	// Of very many lines. Parsing all would take minutes.
	rec := script(t, `yes "said in vain" | head -c 9000000; echo "ERROR: said in vain" >&2; exit 1`, nil)
	_, err := rec.Recognize(t.Context(), asr.FromBytes("a.wav", wavOf(time.Second)))
	require.ErrorContains(t, err, "it failed after 19 bytes of messages: more than 8388608 bytes of output")
	rec = script(t, `yes | head -c 1000000`, nil)
	_, err = rec.Recognize(t.Context(), asr.FromBytes("a.wav", wavOf(time.Second)))
	require.ErrorContains(t, err, "more than 250 characters for 1s of audio")
	rec = script(t, `yes | head -c 20000; echo "ERROR: no model" >&2; exit 1`, nil)
	_, err = rec.Recognize(t.Context(), asr.FromBytes("a.wav", wavOf(time.Second)))
	require.ErrorContains(t, err, "ERROR: no model")
	require.NoError(t, err.(*asr.Error).Class, "an ordinary failure, which counts an attempt")
	rec = script(t, `head -c 7000000 /dev/zero | tr '\0' a; echo "ERROR: aaaa" >&2; exit 1`, nil)
	_, err = rec.Recognize(t.Context(), asr.FromBytes("a.wav", wavOf(time.Second)))
	require.ErrorContains(t, err, "it failed after 11 bytes of messages", "too much to look for it in the message")

	rec = script(t, `echo "error: 3 words were unclear" >&2; echo "(music)"; echo "[BLANK_AUDIO] well done"`, nil)
	got, err := rec.Recognize(t.Context(), asr.FromBytes("a.wav", wavOf(time.Second)))
	require.NoError(t, err, "there is a text")
	require.Equal(t, "well done", got.Text)

	rec = script(t, `printf '[00:00:00.000 --> 00:00:01.000]  \345\245\275\344\275\n'
		printf '[00:00:01.000 --> 00:00:02.000]  \240\347\224\273\n'
		echo '[00:00:02.000 --> 00:00:03.000]  (music)'`, func(c *command.Config) { c.Parse = command.Timed })
	got, err = rec.Recognize(t.Context(), asr.FromBytes("a.wav", wavOf(time.Second)))
	require.NoError(t, err, "a character is divided, as by whisper.cpp (its issue 3760)")
	require.Equal(t, []asr.Segment{{End: time.Second, Text: "好\uFFFD"},
		{Start: time.Second, End: 2 * time.Second, Text: "\uFFFD画"}}, got.Segments)

	rec = script(t, `echo 'ERROR: "ngram_search.c", line 1157: nobody speaks' >&2`, nil)
	got, err = rec.Recognize(t.Context(), asr.FromBytes("a.wav", wavOf(time.Second)))
	require.NoError(t, err)
	require.Empty(t, got.Text)
}

func TestErrorsDoNotRepeatWhatWasSaidOrSent(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		`echo "played it twice"; echo "played it twice" >&2; exit 1`:       "it failed after 15 bytes of messages",
		`echo "loading" >&2; echo "heard: played it twice" >&2; exit 1`:    "it failed after 30 bytes of messages",
		`echo "played it"; echo "ERROR: after played it" >&2; exit 1`:      "ERROR: after … …",
		`echo "main: failed with prompt 'Known: 雨桐, Siobhan'" >&2; exit 1`: "main: failed with prompt 'Known: …, …'",
		`echo "error: unknown argument: 雨桐" >&2`:                           "error: unknown argument: …",
		`echo "sh: error while loading" >&2; echo "sh: $1" >&2; exit 127`:  "sh: error while loading",
		`echo "$0: cannot open $1: no space for 雨桐" >&2; echo "x"; exit 1`: "audio/audio.wav: no space for …",
	} {
		audio := asr.FromBytes("a.wav", wavOf(time.Second))
		audio.Words = []string{"雨桐", "Siobhan"}
		_, err := script(t, program, nil).Recognize(t.Context(), audio)
		require.ErrorContains(t, err, want)
		require.NoError(t, err.(*asr.Error).Class, "an ordinary failure, which counts an attempt")
		for _, word := range []string{"雨桐", "Siobhan", "twice"} {
			require.NotContains(t, err.Error(), word, program)
		}
	}
}

func TestPromptThatIsNotTextIsNotTheProgramsFault(t *testing.T) {
	t.Parallel()
	rec := script(t, `[ "$3" = "Known: x" ] && echo heard; echo "error: $3" >&2`, func(c *command.Config) {
		c.Args = append(c.Args, "{prompt}")
	})
	audio := asr.FromBytes("a.wav", wavOf(time.Second))
	audio.Prompt = "Known: \x00x"
	got, err := rec.Recognize(t.Context(), audio)
	require.NoError(t, err)
	require.Equal(t, "heard", got.Text)
	audio.Prompt = "caf\xe9"
	_, err = rec.Recognize(t.Context(), audio)
	require.ErrorContains(t, err, "error: …")
	require.True(t, rec.Status(t.Context()).Available)
}

func TestMessagesOfFFmpegHaveNoAddresses(t *testing.T) {
	t.Parallel()
	rec := script(t, "echo heard", nil)
	damaged := append([]byte("\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00M4A mp42"), make([]byte, 4000)...)
	_, err := rec.Recognize(t.Context(), asr.FromBytes("a.m4a", damaged))
	require.ErrorIs(t, err, asr.ErrUnusableAudio)
	require.NotContains(t, err.Error(), "0x")
	require.NotContains(t, err.Error(), " @ ")
	require.NotContains(t, err.Error(), os.TempDir())
	require.Equal(t, 1, strings.Count(err.Error(), "cannot be used"))
}
