package service

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/uuid"
)

// childEnv is the environment variable with the spec of a child process.
const childEnv = "SERVICE_BENCH_CHILD"

// spec configures the server of a child process.
type spec struct {
	Side string // ours, pocketbase, bare
	Dir  string // of files, and of the embedded database
	URL  string // of the database
	Addr string // to listen on
	Full bool   // pocketbase: synchronous=FULL instead of its NORMAL
}

// world describes the contents of a server's database, which are equal on all sides.
type world struct {
	Tokens   []string   // of each teacher
	Owners   []string   // the teachers' identifiers, which requests to PocketBase contain
	Profiles [][]string // of each teacher
	Lessons  []string   // of each teacher, still recording
}

// The size of the database.
const (
	teachers    = 50
	profilesOf  = 20
	recordCount = 100_000
)

// child serves until its standard input is closed. It prints its world first.
func child(text string) error {
	var s spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	switch s.Side {
	case "ours":
		return serveOurs(ctx, s)
	case "pocketbase":
		return servePocketBase(ctx, s)
	case "bare":
		return serveBare(ctx, s)
	}
	return fmt.Errorf("unknown side %q", s.Side)
}

// ready reports to the parent process that the server is listening.
func ready(w world) error { return json.NewEncoder(os.Stdout).Encode(w) }

// process is a child process.
type process struct {
	world
	spec  spec
	cmd   *exec.Cmd
	stdin io.Closer
}

// start starts a server and waits until it is listening.
func start(s spec) (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.Addr = l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	c := &process{spec: s, cmd: exec.Command(os.Args[0], "service")}
	c.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	c.cmd.Stderr = os.Stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s did not start: %w", s.Side, err), c.stop())
		}
		if json.Unmarshal(line, &c.world) == nil {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return c, nil
		}
	}
}

func (c *process) stop() error {
	err := c.stdin.Close()
	_ = c.cmd.Wait() // its exit status does not matter
	return err
}

// memory returns a figure of the process in bytes: VmRSS now, VmHWM at its peak.
func (c *process) memory(name string) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name+":" {
			kib, err := strconv.ParseFloat(fields[1], 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc", name)
}

// resetPeak resets VmHWM.
func (c *process) resetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", c.cmd.Process.Pid), []byte("5"), 0)
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// content returns a text of 200 to 1400 bytes, different for each i.
func content(i int) string {
	const sentence = "Ming mixed her own greens today and took great care with the reflections on the water. "
	n := 200 + (i*7919)%1200
	text := fmt.Sprintf("%d. ", i) + strings.Repeat(sentence, n/len(sentence)+1)
	return text[:n]
}

// date returns a date within two years.
func date(i int) string { return fmt.Sprintf("%d-%02d-%02d", 2025+i%2, 1+i%12, 1+i%28) }
