package command_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr"
	"lessonkit.example/asr/command"
)

func TestParsers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		parse  command.Parser
		output string
		want   asr.Transcript
	}{
		{"lines", command.Lines, "hello\n\nworld\n", asr.Transcript{Text: "hello world"}},
		{
			"pocketsphinx", command.Timed,
			"hello world\n<s> 0.000 0.200 0.9\nhello(2) 0.210 0.500 0.99\nworld 0.510 0.900 1.000400\n" +
				"[SPEECH] 0.910 1.000 0.5\n</s> 1.000 1.200 1.0\n\n" +
				"six seven\nsix 2.500 2.700 1.0\nseven 2.710 3.000 1.0\n",
			asr.Transcript{Segments: []asr.Segment{
				{Start: 210 * time.Millisecond, End: 900 * time.Millisecond, Text: "hello world"},
				{Start: 2500 * time.Millisecond, End: 3 * time.Second, Text: "six seven"},
			}, Words: []asr.Word{
				{Start: 210 * time.Millisecond, End: 500 * time.Millisecond, Text: "hello"},
				{Start: 510 * time.Millisecond, End: 900 * time.Millisecond, Text: "world"},
				{Start: 2500 * time.Millisecond, End: 2700 * time.Millisecond, Text: "six"},
				{Start: 2710 * time.Millisecond, End: 3 * time.Second, Text: "seven"},
			}},
		},
		{
			"whisper-cli", command.Timed,
			"\n[00:00:00.000 --> 00:00:02.500]   今天\n[01:02:03.004 --> 01:02:04.000]  练习。\n",
			asr.Transcript{Segments: []asr.Segment{
				{End: 2500 * time.Millisecond, Text: "今天"},
				{Start: 3723004 * time.Millisecond, End: 3724 * time.Second, Text: "练习。"},
			}},
		},
		{
			"sherpa-onnx-offline", command.JSON,
			"Started\n{\"lang\":\"en\", \"text\": \" hello\"}\nreal time factor\n{broken\n",
			asr.Transcript{Text: "hello"},
		},
		{
			"pocketsphinx 5", command.JSON,
			`{"b":0.000,"d":1.500,"p":1.0,"t":"hello world","w":[{"b":0.1,"d":0.4,"p":1.0,"t":"hello"}]}` + "\n" +
				`{"b":2.000,"d":1.000,"p":1.0,"t":"six"}` + "\n",
			asr.Transcript{Segments: []asr.Segment{
				{End: 1500 * time.Millisecond, Text: "hello world"},
				{Start: 2 * time.Second, End: 3 * time.Second, Text: "six"},
			}, Words: []asr.Word{{Start: 100 * time.Millisecond, End: 500 * time.Millisecond, Text: "hello"}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got asr.Transcript
			for line := range strings.Lines(c.output) {
				c.parse(&got, strings.TrimSuffix(line, "\n"))
			}
			require.Equal(t, c.want, got)
		})
	}
}

func FuzzParsers(f *testing.F) {
	f.Add("hello 0.1 0.2 0.3")
	f.Add("[00:00:00.000 --> 99:99:99.999] x")
	f.Add("[8000000:0:0.0 --> 0:0:0.0]")
	f.Add(`{"text":"x"}`)
	f.Fuzz(func(t *testing.T, line string) {
		for _, p := range []command.Parser{command.Lines, command.Timed, command.JSON} {
			var got asr.Transcript
			p(&got, "first")
			p(&got, line)
			for _, s := range got.Segments {
				if s.Start < 0 || s.End < 0 {
					t.Fatalf("%+v", s)
				}
			}
		}
	})
}
