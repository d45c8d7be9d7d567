//go:build linux

// Package e2e tests the built programs as processes: real databases, real
// speech, real signals, and real faults while phones upload.
//
// The plain run has the main job. LONG_TESTS=1 adds a few faults of each kind; more come with
//
//	go test ./internal/e2e -v -faults=ci
//	go test ./internal/e2e -v -faults=full -timeout=30m | grep ^faults
//
// A load ([startLoad]) is many phones that upload with retries, duplicates and
// cut connections. In the end [audit] proves that nothing was lost.
package e2e

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/feedbackclient"
	"lessonkit.example/internal/freeport"
	"lessonkit.example/internal/logtest"
	"lessonkit.example/internal/pgtest"
)

// waitLimit bounds every wait. It is generous, for busy machines, on which recognising the demo's
// speech takes minutes.
const waitLimit = 4 * time.Minute

// built is the directory of what programs has built.
var built string

// programs builds the example programs, once.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "lessonkit-e2e-")
	if err != nil {
		return "", err
	}
	built = dir
	cmd := exec.Command("go", "build", "-o", dir+"/", "lessonkit.example/examples/feedback-server",
		"lessonkit.example/examples/speech-server")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // the tests mostly wait for processes
		panic(err)
	}
	code := m.Run()
	printSummary()
	if !searchLogs() {
		code = 1
	}
	os.RemoveAll(built)
	os.Exit(code)
}

// process is a running program.
type process struct {
	cmd  *exec.Cmd
	log  *logtest.Buffer
	done chan struct{} // closed when it has ended
	err  error
}

// start starts a program in an empty directory with the given environment only. It is killed when
// the test ends.
func start(t *testing.T, name string, env []string, args ...string) *process {
	t.Helper()
	dir, err := programs()
	require.NoError(t, err)
	p := &process{cmd: exec.Command(filepath.Join(dir, name), args...), log: &logtest.Buffer{},
		done: make(chan struct{})}
	p.cmd.Dir = t.TempDir()
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}, env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	keepLog(name, p.log)
	require.NoError(t, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		if t.Failed() {
			p.cmd.Process.Signal(syscall.SIGQUIT) // prints its goroutines
			select {
			case <-p.done:
			case <-time.After(5 * time.Second):
			}
		}
		p.kill()
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, p.log)
		}
	})
	return p
}

// kill ends the process at once, as a crash would.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// stop sends SIGTERM and returns how the process ended.
func (p *process) stop(t *testing.T) error {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.done:
		return p.err
	case <-time.After(waitLimit):
		t.Fatal("the program did not stop")
		return nil
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	within(t, waitLimit, what, condition)
}

// within waits for a condition that may take long.
func within(t *testing.T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for !condition() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", limit, what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ports are the addresses handed out so far: their servers may not be listening yet.
var ports sync.Map

// freePort returns an address that nothing listens on, and never the same twice.
func freePort(t *testing.T) string {
	t.Helper()
	for {
		addr, err := freeport.Addr()
		require.NoError(t, err)
		if _, taken := ports.LoadOrStore(addr, true); !taken {
			return addr
		}
	}
}

// service is a feedback server with its data, which outlives the process.
type service struct {
	env     []string
	client  feedbackclient.Client
	process *process
	program string // "": feedback-server

	bucketDir string // of the recordings; "": AUDIO_STORAGE_DIR
}

// newService prepares a migrated service on a database.
func newService(t *testing.T, database, speechURL string) *service {
	t.Helper()
	addr := freePort(t)
	s := &service{
		env: []string{
			"DATABASE_URL=" + database, "HTTP_ADDR=" + addr, "AUDIO_STORAGE_DIR=" + t.TempDir(),
			"ALLOW_DEVELOPMENT_USER_HEADER=true", "LOCAL_ASR_URL=" + speechURL,
			"ASR_RETRY_SECONDS=1",
		},
		client: feedbackclient.Development("http://"+addr, "someone"),
	}
	if *audio == "bucket" {
		s.useBucket(t)
	}
	migrate := start(t, "feedback-server", append(slices.Clone(s.env), "HTTP_ADDR=:80"), "migrate") // does not serve
	<-migrate.done
	require.NoError(t, migrate.err, migrate.log)
	return s
}

// start starts the server and waits until it serves.
func (s *service) start(t *testing.T, env ...string) {
	t.Helper()
	s.process = start(t, cmp.Or(s.program, "feedback-server"), append(slices.Clone(s.env), env...), "serve")
	eventually(t, "the server serves", func() bool {
		select {
		case <-s.process.done:
			t.Fatalf("the server ended: %v\n%s", s.process.err, s.process.log)
		default:
		}
		_, err := s.client.Health(t.Context())
		return err == nil
	})
}

// shared reports whether several processes may serve the database.
func (s *service) shared() bool { return strings.HasPrefix(s.value("DATABASE_URL"), "postgres") }

// beside returns a second process on the same data.
func (s *service) beside(t *testing.T) *service {
	t.Helper()
	addr := freePort(t)
	client := s.client
	client.Base = "http://" + addr
	return &service{env: append(slices.Clone(s.env), "HTTP_ADDR="+addr), client: client}
}

// databases runs a test on both engines.
func databases(t *testing.T, test func(t *testing.T, url string)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, "sqlite:"+filepath.Join(t.TempDir(), "lessonkit.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, pgtest.URL(t))
	})
}

// startSpeech starts the speech server on an address. It skips the test where no recogniser is
// installed.
func startSpeech(t *testing.T, addr string) *process {
	t.Helper()
	needSpeech(t)
	return start(t, "speech-server", nil, "-addr", addr)
}

func needSpeech(t *testing.T) {
	t.Helper()
	for _, program := range []string{"pocketsphinx_continuous", "ffmpeg"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("no speech recogniser: apt-get install pocketsphinx pocketsphinx-en-us ffmpeg")
		}
	}
}

// sample returns a spoken segment of the demo.
func sample(t *testing.T, name string) []byte {
	t.Helper()
	audio, err := os.ReadFile("../../examples/internal/demo/speech/" + name + ".mp3")
	require.NoError(t, err)
	return audio
}
