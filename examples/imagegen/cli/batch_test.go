package cli_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/examples/imagegen/cli"
	"lessonkit.example/imagegen/imagegentest"
)

// With this variable the test binary is the command, for tests that kill it.
const asCommand = "IMAGEGEN_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

var (
	pngImage    = []byte("\x89PNG\r\n\x1a\n and so on")
	imageAnswer = fmt.Sprintf(`{"data":[{"b64_json":%q}]}`, base64.StdEncoding.EncodeToString(pngImage))
)

// counting is a service that counts generations and may kill the command at a step of a request.
type counting struct {
	async, keys bool

	mu        sync.Mutex
	generated map[string]int    // by prompt
	byKey     map[string]string // prompts by idempotency key
	kill      func()
	at        string // step
}

func (s *counting) step(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == name && s.kill != nil {
		s.kill()
		s.kill = nil
	}
}

func (s *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	usage := `"usage":{"total_tokens":10,"input_tokens_details":{"image_tokens":3}}`
	id, isPoll := strings.CutPrefix(r.URL.Path, "/v1/tasks/")
	kind := "request"
	switch {
	case r.URL.Path == "/image":
		s.step("fetch received")
		_, _ = w.Write(pngImage)
		return
	case isPoll:
		kind = "poll"
	}
	s.step(kind + " received")
	answer := ""
	if isPoll {
		images := fmt.Sprintf(`[{"url":"http://%s/image"}]`, r.Host)
		answer = fmt.Sprintf(`{"data":{"id":%q,"status":"completed","result":{"images":%s}},%s}`, id, images, usage)
	} else {
		var body struct{ Prompt string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		key := r.Header.Get("Idempotency-Key")
		s.mu.Lock()
		if _, known := s.byKey[key]; !known || !s.keys {
			s.generated[body.Prompt]++
		}
		s.byKey[key] = body.Prompt
		s.mu.Unlock()
		answer = fmt.Sprintf(`{"data":[{"b64_json":%q}],%s}`, base64.StdEncoding.EncodeToString(pngImage), usage)
		if s.async {
			answer = fmt.Sprintf(`{"data":{"id":"task-of-%s"}}`, body.Prompt)
		}
		s.step("generated")
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
	half := len(answer) / 2
	_, _ = io.WriteString(w, answer[:half])
	_ = http.NewResponseController(w).Flush()
	s.step(kind + " half answered")
	_, _ = io.WriteString(w, answer[half:])
	_ = http.NewResponseController(w).Flush()
	s.step(kind + " answered")
}

// command runs the command in a process of its own and returns its exit status, -1 if it was
// killed: at a step, or if watched is the name of a ledger, when both entries are in it and one of
// them is a task, so that no test waits for the first poll.
func (s *counting) command(t *testing.T, killAt, watched string, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "IMAGE_API_KEY=k")
	var text strings.Builder
	cmd.Stdout, cmd.Stderr = &text, &text
	s.mu.Lock() // no step before it is known
	require.NoError(t, cmd.Start())
	s.at, s.kill = killAt, func() { _ = cmd.Process.Kill() }
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		for watched != "" {
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
			}
			text, _ := os.ReadFile(watched)
			last := map[string]string{}
			for line := range strings.Lines(string(text)) {
				var rec struct{ Entry, Event string }
				if json.Unmarshal([]byte(line), &rec) == nil {
					last[rec.Entry] = rec.Event
				}
			}
			events := fmt.Sprint(slices.Collect(maps.Values(last)))
			if len(last) == 2 && strings.Contains(events, "task") {
				_ = cmd.Process.Kill()
			}
		}
	}()
	_ = cmd.Wait()
	close(ended)
	return cmd.ProcessState.ExitCode(), text.String()
}

func prompts(t *testing.T, dir string, lines ...string) string {
	name := filepath.Join(dir, "prompts.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o600))
	return name
}

// The command is killed at each step, and run until it has nothing left to do.
func TestBatchThatIsKilledPaysNothingTwice(t *testing.T) {
	t.Parallel()
	sync, tasks := []string{"request received", "generated", "request half answered", "request answered"},
		[]string{"poll received", "poll half answered", "poll answered", "fetch received"}
	for name, s := range map[string]*counting{
		"images": {}, "images, keys": {keys: true}, "tasks": {async: true}, "tasks, keys": {async: true, keys: true},
	} {
		for _, step := range append(sync, tasks...) {
			if strings.HasPrefix(step, "poll") && !s.async || strings.HasPrefix(step, "fetch") && !s.async {
				continue
			}
			t.Run(name+": "+step, func(t *testing.T) {
				t.Parallel()
				s := &counting{async: s.async, keys: s.keys, generated: map[string]int{}, byKey: map[string]string{}}
				server := httptest.NewServer(s)
				t.Cleanup(server.Close)
				dir := t.TempDir()
				file := prompts(t, dir, `{"prompt":"a"}`, `{"prompt":"b"}`)
				args := []string{"-base-url", server.URL, "-batch", file, "-out", dir, "-json"}
				if s.keys {
					args = append(args, "-idempotent")
				}
				ledger := filepath.Join(dir, "ledger.jsonl")
				watched := "" // of images: they need no second run
				if s.async {
					watched = ledger
				}
				if slices.Contains(tasks, step) {
					code, _ := s.command(t, "", watched, args...)
					require.Equal(t, -1, code)
				}
				code, _ := s.command(t, step, "", args...)
				if !strings.HasSuffix(step, " answered") { // after the last byte it may be faster
					require.Equal(t, -1, code, "killed")
				}
				_, out := s.command(t, "", watched, args...)
				if s.async {
					_, out = s.command(t, "", "", args...)
				}
				for prompt, n := range s.generated {
					require.LessOrEqual(t, n, 1, prompt)
				}
				var sum struct{ Done, Charged, Left, Failed, Images int }
				require.NoError(t, json.Unmarshal([]byte(lastObject(out)), &sum), out)
				require.Zero(t, sum.Left+sum.Failed, out)
				require.Equal(t, 2, sum.Done+sum.Charged, out)
				if s.keys {
					require.Equal(t, 2, sum.Done, out)
				}
				require.Equal(t, sum.Done, sum.Images)
			})
		}
	}
}

func lastObject(out string) (last string) {
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "{") {
			last = lines.Text()
		}
	}
	return last
}

func TestBatch(t *testing.T) {
	t.Parallel()
	p := setup(t, imagegentest.Options{}, imagegentest.OK(), imagegentest.Status(500, 0),
		imagegentest.Raw(`{"error":{"code":"moderation_blocked","message":"no knives"}}`), imagegentest.ItemError(0))
	lines := []string{"\ufeff" + `{"prompt":"a","n":2}`, ``, `{"prompt":"b"}`, `{"prompt":"c","name":"cee"}`,
		`{"prompt":"d","n":2}`, `{"prompt":"a","n":2,"size":"16:9"}`, `{"prompt":"b"}`}
	file := prompts(t, p.dir, lines...)
	run := func(more ...string) (int, string, string) {
		return p.run(t, "", append([]string{"-batch", file, "-out", "DIR/out", "-parallel", "1"}, more...)...)
	}
	code, stdout, stderr := run("-max-images", "6")
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "-max-images 6 would be exceeded")
	require.Contains(t, stderr, "cee: generate: status 200: moderation_blocked: no knives")
	require.Equal(t, p.dir+"/out/0001-1.png\n"+p.dir+"/out/0001-2.png\n"+p.dir+"/out/0005-2.png\n", stdout)
	code, stdout, _ = run("-json")
	require.Equal(t, cli.ExitFailed, code)
	require.JSONEq(t, `{"entries":6,"done":3,"failed":2,"charged":1,"left":0,"images":6,"exit":1,"usage":{
		"input_tokens":44,"output_tokens":28,"total_tokens":72,
		"input_tokens_details":{"text_tokens":44,"image_tokens":0}}}`, stdout)
	posts := len(p.fake.Counts().Posts)
	code, _, stderr = run()
	require.Equal(t, cli.ExitFailed, code)
	require.Contains(t, stderr, "a changed line is sent again")
	require.Contains(t, stderr, "0003: not sent again: generate: status 500")
	require.Contains(t, stderr, "cee: not sent again: generate: status 200: moderation_blocked: no knives")
	require.Contains(t, stderr, "0005: not sent again: images are missing")
	ledger, err := os.ReadFile(filepath.Join(p.dir, "out", "ledger.jsonl"))
	require.NoError(t, err)
	require.Contains(t, string(ledger), `"name":"cee"`)
	require.Len(t, p.fake.Counts().Posts, posts, "nothing is sent again")
	prompts(t, p.dir, append(lines, `{"prompt":"b","name":"again"}`)...)
	_, stdout, _ = run("-json")
	require.Contains(t, stdout, `"entries":7,"done":4`)
	require.Len(t, p.fake.Counts().Posts, posts+1)
}

// What concerns all lines stops the batch, and is not the end of the line that met it.
func TestBatchStopsWhenTheServiceRefusesAll(t *testing.T) {
	t.Parallel()
	for status, exit := range map[int]int{
		307: 1, 400: 1, 401: 1, 402: 1, 403: 1, 404: 1, 405: 1, 407: 1, 429: cli.ExitResume,
	} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			posts := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if posts++; posts > 1 {
					_, _ = io.WriteString(w, imageAnswer)
					return
				}
				w.Header().Set("Retry-After", "3600") // longer than a batch waits
				w.WriteHeader(status)
				if status == 400 { // OpenAI's for an exceeded budget; some services begin with a byte order mark
					_, _ = io.WriteString(w, "\ufeff"+`{"error":{"code":"billing_hard_limit_reached"}}`)
				}
			}))
			defer server.Close()
			p := setup(t, imagegentest.Options{})
			file := prompts(t, p.dir, `{"prompt":"a"}`, `{"prompt":"b"}`)
			args := []string{"-base-url", server.URL, "-batch", file, "-out", "DIR", "-parallel", "1"}
			code, _, _ := p.run(t, "", args...)
			require.Equal(t, exit, code, "another run continues only where nothing has to be mended")
			require.Equal(t, 1, posts)
			code, _, stderr := p.run(t, "", args...)
			require.Equal(t, cli.ExitDone, code, stderr)
			require.Equal(t, 3, posts)
		})
	}
}

// A service that is down, or images that cannot be fetched, cost a few lines and not all of them.
func TestBatchStopsWhenNothingSucceeds(t *testing.T) {
	t.Parallel()
	for says, test := range map[string]struct {
		step       imagegentest.Step
		sent, exit int
	}{
		"2 requests in a row failed": {imagegentest.Status(502, 0), 2, cli.ExitResume},
		"address is not public": {imagegentest.Raw(`{"data":[{"url":"http://127.0.0.9:1/x.png"}]}`), 1,
			cli.ExitFailed},
	} {
		p := setup(t, imagegentest.Options{}, test.step, test.step, test.step)
		file := prompts(t, p.dir, `{"prompt":"a"}`, `{"prompt":"b"}`, `{"prompt":"c"}`)
		code, _, stderr := p.run(t, "", "-batch", file, "-out", "DIR", "-parallel", "1")
		require.Equal(t, test.exit, code)
		require.Contains(t, stderr, says)
		require.Len(t, p.fake.Counts().Posts, test.sent)
	}
}

// A line that is to be sent again in 30 s does not delay the end.
func TestBatchThatHasStoppedDoesNotPause(t *testing.T) {
	t.Parallel()
	p := setup(t, imagegentest.Options{}, imagegentest.Status(429, 0), imagegentest.Status(401, 0))
	file, began := prompts(t, p.dir, `{"prompt":"a"}`, `{"prompt":"b"}`), time.Now()
	code, _, _ := p.run(t, "", "-batch", file, "-out", "DIR", "-parallel", "2")
	require.Equal(t, cli.ExitFailed, code)
	require.Less(t, time.Since(began), 30*time.Second)
}

// The last line is one with which another run continues, as all others are.
func TestBatchOfOneLineContinues(t *testing.T) {
	t.Parallel()
	for status, again := range map[int]bool{429: true, 408: true, 400: false} {
		p := setup(t, imagegentest.Options{}, imagegentest.Status(status, time.Hour), imagegentest.OK())
		args := []string{"-batch", prompts(t, p.dir, `{"prompt":"a"}`), "-out", "DIR", "-json"}
		code, stdout, _ := p.run(t, "", args...)
		require.Equal(t, again, code == cli.ExitResume, stdout)
		require.Equal(t, again, strings.Contains(stdout, `"failed":0,"charged":0,"left":1`), stdout)
		code, _, _ = p.run(t, "", args...)
		require.Equal(t, again, code == cli.ExitDone)
	}
}

// What concerns one line stops no other: a content filter, and a reference that is not there.
func TestBatchGoesOnAfterALineThatIsRefused(t *testing.T) {
	t.Parallel()
	posts := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		switch posts++; {
		case r.URL.Path == "/reference":
			w.WriteHeader(http.StatusNotFound)
		case strings.Contains(string(text), "knife"):
			w.Header().Set("Retry-After", "3600") // as some proxies add
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"error":{"code":"content_policy_violation","message":"no knives"}}`)
		default:
			_, _ = io.WriteString(w, imageAnswer)
		}
	}))
	defer server.Close()
	p := setup(t, imagegentest.Options{})
	file := prompts(t, p.dir, `{"prompt":"knife"}`, `{"prompt":"b","references":["`+server.URL+`/reference"]}`,
		`{"prompt":"c"}`)
	args := []string{"-base-url", server.URL, "-batch", file, "-out", "DIR", "-parallel", "1", "-json"}
	for _, want := range []int{3, 4} { // the reference may be there the second time
		code, stdout, stderr := p.run(t, "", args...)
		require.Equal(t, cli.ExitFailed, code, stderr)
		require.Contains(t, stdout, `"done":1,"failed":2`)
		require.Equal(t, want, posts)
	}
}

// A task is paid: it is not given up because a wrong address does not know it, or because the
// command is stopped, or cannot store any more, when it has some of the images. What came with the
// response itself is not fetched again.
func TestBatchKeepsATask(t *testing.T) {
	t.Parallel()
	posts, second := 0, func(http.ResponseWriter, *http.Request) {} // what happens when the second image is fetched
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		images := `{"url":"/1"},{"url":"/2"},{"url":"/3"}`
		switch r.URL.Path {
		case "/v1/images/generations":
			posts++
			images = []string{`{"url":"ftp://x"}`, `{"url":"/2"},{"url":"ftp://x"}`}[posts-1]
		case "/2":
			second(w, r)
			fallthrough
		case "/1", "/3":
			_, _ = w.Write(pngImage)
			return
		}
		_, _ = fmt.Fprintf(w, `{"data":{"id":"t","status":"completed","result":{"images":[%s]}}}`, images)
	}))
	defer server.Close()
	wrong := httptest.NewServer(http.NotFoundHandler())
	defer wrong.Close()
	p := setup(t, imagegentest.Options{})
	dir := filepath.Join(p.dir, "out")
	for run, code := range []int{cli.ExitResume, cli.ExitResume, cli.ExitResume, cli.ExitFailed, cli.ExitDone,
		cli.ExitFailed} {
		file := prompts(t, p.dir, fmt.Sprintf(`{"prompt":"%d"}`, run/5))
		ctx, cancel := context.WithCancel(t.Context())
		second = func(w http.ResponseWriter, r *http.Request) {
			switch run {
			case 2:
				cancel()
				<-r.Context().Done()
			case 3:
				require.NoError(t, os.Rename(dir, dir+"-away"))
				w.WriteHeader(http.StatusConflict) // which alone would let another run continue
			case 5:
				cancel()
			}
		}
		var stderr strings.Builder
		address := map[bool]string{true: wrong.URL, false: server.URL}[run == 1]
		args := []string{"-base-url", address, "-batch", file, "-out", dir}
		got := cli.Run(ctx, args, os.Getenv, nil, io.Discard, &stderr)
		cancel()
		require.Equal(t, code, got, stderr.String())
		_ = os.Rename(dir+"-away", dir)
	}
	require.Equal(t, 2, posts)
}

// Nothing more is paid for when images cannot be stored, and nothing when there is hardly any room.
func TestBatchStopsWhenImagesCannotBeStored(t *testing.T) {
	t.Parallel()
	for limit, paid := range map[string]int{"64": 0, "4096": 1} { // of a file, in half kilobytes
		p := setup(t, imagegentest.Options{Image: func(imagegentest.Post, int) []byte {
			return slices.Concat(pngImage, make([]byte, 3<<20))
		}})
		file := prompts(t, p.dir, `{"prompt":"a"}`, `{"prompt":"b"}`, `{"prompt":"c"}`)
		cmd := exec.Command("sh", "-c", `trap "" XFSZ; ulimit -f `+limit+`; exec "$0" "$@"`, os.Args[0],
			"-batch", file, "-out", p.dir, "-parallel", "1")
		cmd.Env = append(os.Environ(), asCommand+"=1", "IMAGE_BASE_URL="+p.env["IMAGE_BASE_URL"],
			"IMAGE_API_KEY="+imagegentest.APIKey)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "could not be stored")
		require.Equal(t, paid, p.fake.Counts().Generations)
	}
}

// A full disk takes half of a line of the ledger; when it has room again, the next one follows.
func TestBatchContinuesAfterHalfALineOfTheLedger(t *testing.T) {
	t.Parallel()
	var p *program
	p = setup(t, imagegentest.Options{Image: func(imagegentest.Post, int) []byte {
		ledger, err := os.OpenFile(filepath.Join(p.dir, "ledger.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		defer ledger.Close()
		_, err = ledger.WriteString(`{"time":"2026-11-29T`)
		require.NoError(t, err)
		return pngImage
	}})
	file := prompts(t, p.dir, `{"prompt":"a"}`, `{"prompt":"b"}`)
	for range 2 {
		code, _, stderr := p.run(t, "", "-batch", file, "-out", "DIR", "-parallel", "1")
		require.Equal(t, cli.ExitDone, code, stderr)
	}
	require.Equal(t, 2, p.fake.Counts().Generations)
}

// What may have been charged is sent again with the key that it was sent with, or not at all.
func TestBatchSendsAgainWithTheKeyOfBefore(t *testing.T) {
	t.Parallel()
	var keys []string
	statuses := []int{500, 500, 429, 200}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(statuses[len(keys)-1])
		_, _ = io.WriteString(w, imageAnswer)
	}))
	defer server.Close()
	p := setup(t, imagegentest.Options{})
	run := func(out string, more ...string) int {
		args := []string{"-base-url", server.URL, "-batch", prompts(t, p.dir, `{"prompt":"a"}`), "-out", "DIR/" + out}
		code, _, _ := p.run(t, "", append(args, more...)...)
		return code
	}
	require.Equal(t, cli.ExitFailed, run("without"))
	run("without", "-idempotent", "-max-images", "1")
	require.Equal(t, []string{""}, keys)
	for range 2 {
		require.Equal(t, cli.ExitResume, run("with", "-idempotent", "-max-images", "1"))
	}
	require.Equal(t, cli.ExitDone, run("with", "-idempotent", "-max-images", "1"))
	require.Equal(t, cli.ExitDone, run("with", "-idempotent", "-max-images", "1"))
	require.Len(t, keys, 4)
	require.NotEmpty(t, keys[1])
	require.Equal(t, []string{keys[1], keys[1]}, keys[2:])
}
