package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/imagegen/cli"
	"lessonkit.example/imagegen/imagegentest"
)

type program struct {
	fake *imagegentest.Server
	dir  string
	env  map[string]string
}

func setup(t *testing.T, o imagegentest.Options, steps ...imagegentest.Step) *program {
	fake := imagegentest.New(t, o)
	fake.Script(steps...)
	return &program{fake, t.TempDir(),
		map[string]string{"IMAGE_BASE_URL": fake.Listen(), "IMAGE_API_KEY": imagegentest.APIKey}}
}

// run runs the program; DIR in an argument is the program's directory.
func (p *program) run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "DIR", p.dir)
	}
	code = cli.Run(t.Context(), args, func(name string) string { return p.env[name] }, strings.NewReader(stdin), &out,
		&err)
	require.NotContains(t, out.String()+err.String(), imagegentest.APIKey)
	return code, out.String(), err.String()
}

func TestImagesAreStoredUnderTheirNames(t *testing.T) {
	t.Parallel()
	p := setup(t, imagegentest.Options{})
	code, stdout, stderr := p.run(t, "", "-size", "16:9", "-n", "2", "-o", "DIR/fox-{i}{ext}", "a", "red", "fox")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, p.dir+"/fox-1.png\n"+p.dir+"/fox-2.png\n", stdout)
	require.Contains(t, stderr, "image 2: ")
	require.Equal(t, "a red fox", p.fake.Counts().Posts[0].Fields["prompt"])
	for _, name := range strings.Fields(stdout) {
		require.FileExists(t, name)
	}
}

func TestPromptComesFromFileOrStandardInput(t *testing.T) {
	t.Parallel()
	p := setup(t, imagegentest.Options{})
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "prompt"), []byte("from a file\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "a.png"), []byte("\x89PNG\r\n\x1a\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "key"), []byte(imagegentest.APIKey+"\n"), 0o600))
	delete(p.env, "IMAGE_API_KEY")
	code, stdout, stderr := p.run(t, "", "-q", "-key-file", "DIR/key", "-ref", "DIR/a.png", "-ref",
		"data:image/gif;base64,R0lGODlh", "-o", "-", "@DIR/prompt")
	require.Equal(t, 0, code)
	require.Empty(t, stderr)
	require.True(t, strings.HasPrefix(stdout, "\x89PNG"))
	require.Equal(t, "from a file", p.fake.Counts().Posts[0].Fields["prompt"])
	require.Len(t, p.fake.Counts().Posts[0].Files, 2)
	code, _, _ = p.run(t, " from a pipe\n", "-key-file", "DIR/key", "-o", "DIR/x{ext}", "-")
	require.Equal(t, 0, code)
	require.Equal(t, "from a pipe", p.fake.Counts().Posts[1].Fields["prompt"])

	// A prompt that is too long is refused, not cut.
	code, _, stderr = p.run(t, strings.Repeat("a", 1<<20+1), "-key-file", "DIR/key", "-o", "DIR/x{ext}", "-")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "longer than 1 MiB")
	require.Len(t, p.fake.Counts().Posts, 2)
}

func TestExitStatuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		step imagegentest.Step
		code int
		says string
	}{
		"help":         {[]string{"-h"}, imagegentest.OK(), 0, ""},
		"unknown flag": {[]string{"-what"}, imagegentest.OK(), 2, "-what"},
		"no prompt":    {nil, imagegentest.OK(), 2, "no prompt"},
		"empty prompt": {[]string{"-"}, imagegentest.OK(), 2, "prompt is empty"},
		"missing file": {[]string{"@/does/not/exist"}, imagegentest.OK(), 2, "no such file"},
		"bad size":     {[]string{"-size", "5:3", "x"}, imagegentest.OK(), 2, "use one of 1:1 16:9"},
		"flag after prompt": {[]string{"a fox", "-size", "16:9"}, imagegentest.OK(), 2,
			"-size follows the prompt"},
		"= after prompt":    {[]string{"a", "fox", "--n=2"}, imagegentest.OK(), 2, "--n=2 follows the prompt"},
		"other words":       {[]string{"-o", "DIR/x", "a", "-", "-20", "fox"}, imagegentest.OK(), 0, ""},
		"quoted flag":       {[]string{"-o", "DIR/x", "the flag -size"}, imagegentest.OK(), 0, ""},
		"batch and -o":      {[]string{"-batch", "x", "-out", "DIR", "-o", "y"}, imagegentest.OK(), 2, "-o"},
		"fit without size":  {[]string{"-fit", "x"}, imagegentest.OK(), 2, "-fit needs -size"},
		"resume and prompt": {[]string{"-resume", "t", "x"}, imagegentest.OK(), 2, "excludes"},
		"bad address":       {[]string{"-base-url", "ftp://x", "x"}, imagegentest.OK(), 2, "http or https"},
		"missing reference": {[]string{"-ref", "/does/not/exist.png", "x"}, imagegentest.OK(), 2, "no such file"},
		"missing directory": {[]string{"-o", "/does/not/exist/x", "x"}, imagegentest.OK(), 2, "could not be stored"},
		"refused":           {[]string{"x"}, imagegentest.Status(400, 0), 3, "scripted status 400"},
		"unknown task":      {[]string{"-resume", "t"}, imagegentest.OK(), 3, "no such task"},
		"failed task": {[]string{"x"},
			imagegentest.Raw(`{"data":{"id":"t","status":"failed","error":{"message":"not allowed"}}}`), 4,
			"not allowed"},
		"content filter": {[]string{"x"},
			imagegentest.Raw(`{"error":{"code":"moderation_blocked","message":"no knives"}}`), 6, "no knives"},
		"no images":        {[]string{"x"}, imagegentest.Empty(), 4, "no images"},
		"server error":     {[]string{"x"}, imagegentest.Status(500, 0), 1, "charged"},
		"some are missing": {[]string{"-n", "3", "-o", "DIR/{i}", "x"}, imagegentest.ItemError(1), 1, "filtered"},
		"gave up": {[]string{"-timeout", "100ms", "-o", "DIR/fox {i}{ext}", "-size", "2:1", "-fit", "-key-file",
			"DIR/my key", "-allow-private", "x"}, imagegentest.Raw(`{"data":{"id":"t-1"}}`), 5, "-resume t-1"},
		"submitted, not now": {[]string{"-submit-only", "x"}, imagegentest.Raw(`{"data":{"id":"t-1"}}`), 0, ""},
		"submitted, no file": {[]string{"-submit-only", "-o", "-", "x"}, imagegentest.Raw(`{"data":{"id":"t-1"}}`), 0,
			""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := setup(t, imagegentest.Options{}, test.step)
			require.NoError(t, os.WriteFile(filepath.Join(p.dir, "my key"), []byte(imagegentest.APIKey), 0o600))
			code, stdout, stderr := p.run(t, " \n", test.args...)
			require.Equal(t, test.code, code, "%s%s", stdout, stderr)
			require.Contains(t, stderr, test.says)
			switch name {
			case "help":
				require.Contains(t, stdout, "5 stopped waiting")
			case "gave up":
				require.Contains(t, stderr, "imagegen -base-url "+p.env["IMAGE_BASE_URL"]+" -o '"+p.dir+
					"/fox {i}{ext}' -key-file '"+p.dir+"/my key' -allow-private -fit -size 2:1 -resume t-1")
			case "submitted, not now", "submitted, no file":
				require.Equal(t, "t-1\n", stdout)
			case "some are missing":
				require.Equal(t, p.dir+"/1\n"+p.dir+"/3\n", stdout)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	p := setup(t, imagegentest.Options{}, imagegentest.ItemError(0))
	code, stdout, _ := p.run(t, "", "-json", "-q", "-n", "2", "-size", "21:9", "-fit", "-o", "DIR/{i}{ext}", "x")
	require.Equal(t, 1, code)
	var out struct {
		Images []struct {
			Path          string
			Width, Height int
		}
		Usage map[string]any
		Error string
		Exit  int
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &out))
	require.Len(t, out.Images, 1)
	require.Equal(t, p.dir+"/2.png", out.Images[0].Path)
	require.Equal(t, []int{63, 27}, []int{out.Images[0].Width, out.Images[0].Height})
	require.Contains(t, out.Error, "filtered")
	require.Equal(t, 1, out.Exit)
	require.Contains(t, out.Usage, "total_tokens")
}

func TestJSONContainsTheTaskOfAnError(t *testing.T) {
	t.Parallel()
	p := setup(t, imagegentest.Options{}, imagegentest.Raw(`{"error":{"message":"no"},"data":{"id":"t-1"}}`))
	_, stdout, _ := p.run(t, "", "-json", "-q", "x")
	require.Contains(t, stdout, `"task_id": "t-1"`)
}

func TestBatchTellsWhatItCannotCrop(t *testing.T) {
	t.Parallel()
	p := setup(t, imagegentest.Options{Image: func(imagegentest.Post, int) []byte { return []byte("GIF89a") }})
	file := prompts(t, p.dir, `{"prompt":"a"}`)
	code, stdout, stderr := p.run(t, "", "-batch", file, "-out", "DIR", "-fit", "-size", "16:9")
	require.Equal(t, cli.ExitDone, code)
	require.FileExists(t, strings.TrimSpace(stdout))
	require.Contains(t, stderr, "0001: image 1 is not cropped: only PNG, JPEG and WebP can be cropped")
}

func TestBatchOfWrongLinesSendsNothing(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		`{"prompt":"x","sise":"1:1"}`:                             `line 2: json: unknown field "sise"`,
		`{"prompt":" "}`:                                          "line 2: the prompt is empty",
		`{"prompt":"x","size":"5:3"}`:                             "line 2: unsupported size",
		`{"prompt":"x","n":-1}`:                                   "line 2: n is -1",
		`{"prompt":"x"} {}`:                                       "line 2: more than one JSON value",
		`{"prompt":"x","name":"a/b"}`:                             "line 2: name",
		`{"prompt":"x","name":"a\nb"}`:                            "line 2: name",
		`{"prompt":"x","name":"` + strings.Repeat("狐", 81) + `"}`: "line 2: the name has 243 bytes",
		`{"prompt":"x","references":["/no/such.png"]}`:            "line 2: stat /no/such.png: no such file",
		`"x"`:                      "line 2: json: cannot unmarshal string",
		`{“prompt”:“x”}`:           "line 2: invalid character 'â' looking for beginning of object key string; a line",
		"{\"prompt\":\"caf\xe9\"}": "is not UTF-8",
		`{"prompt":"a \ud83d"}`:    "line 2: the prompt has U+FFFD",
	} {
		p := setup(t, imagegentest.Options{})
		code, _, stderr := p.run(t, "", "-batch", prompts(t, p.dir, `{"prompt":"a"}`, line), "-out", "DIR")
		require.Equal(t, cli.ExitUsage, code)
		require.Contains(t, stderr, says)
		require.Empty(t, p.fake.Counts().Posts)
	}
}

// A flag that is left out of the repeated command would pay for all lines once more.
func TestBatchWithOtherFlagsThanBeforeSendsNothing(t *testing.T) {
	t.Parallel()
	flags := []string{"-size", "16:9", "-n", "2", "-model", "m"}
	for _, left := range []int{0, 2, 4} {
		p := setup(t, imagegentest.Options{})
		file := prompts(t, p.dir, `{"prompt":"a"}`, `{"prompt":"b","size":"1:1","n":1,"model":"x"}`)
		run := func(flags ...string) (int, string, string) {
			return p.run(t, "", append([]string{"-batch", file, "-out", "DIR"}, flags...)...)
		}
		code, _, stderr := run(flags...)
		require.Equal(t, cli.ExitDone, code, stderr)
		code, _, stderr = run(slices.Delete(slices.Clone(flags), left, left+2)...)
		require.Equal(t, cli.ExitUsage, code)
		require.Contains(t, stderr, `line 1: it was sent with -size "16:9", -model "m" and -n 2: repeat these flags`)
		require.Len(t, p.fake.Counts().Posts, 2)
		prompts(t, p.dir, `{"prompt":"b","size":"1:1","n":1,"model":"x"}`, `{"prompt":"a","size":"1:1"}`)
		code, _, stderr = run()
		require.Equal(t, cli.ExitDone, code, stderr)
		require.Len(t, p.fake.Counts().Posts, 3, "another line")
	}
}

// What was refused without a charge may be sent with another flag.
func TestBatchWithAFlagThatWasRefusedIsSentWithAnother(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 404} {
		p := setup(t, imagegentest.Options{})
		p.fake.Script(imagegentest.Status(status, 0))
		args := []string{"-batch", prompts(t, p.dir, `{"prompt":"a"}`), "-out", "DIR", "-model"}
		code, _, _ := p.run(t, "", append(args, "wrong")...)
		require.Equal(t, cli.ExitFailed, code)
		code, _, stderr := p.run(t, "", append(args, "right")...)
		require.Equal(t, cli.ExitDone, code, stderr)
	}
}
