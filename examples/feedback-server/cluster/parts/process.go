//go:build linux

package parts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"lessonkit.example/examples/internal/program"
)

// process is a program that can be killed and started again with the same arguments.
type process struct {
	name string // of its directory, which holds its log and its temporary files
	node int    // on which it runs; 0: beside them
	dir  string
	env  []string
	args []string                    // the program, which is on PATH, and its arguments
	up   func(context.Context) error // nil once it does its work

	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start starts the process, as the first one of a PID namespace. It ends with this program at the
// latest.
func (p *process) start() error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := append([]string{"unshare", "--mount-proc"}, p.args...)
	if p.node > 0 {
		args = append([]string{"ip", "netns", "exec", fmt.Sprint("node", p.node)}, args...)
	}
	p.cmd = exec.Command(args[0], args[1:]...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.dir, log, log
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.dir, "LC_ALL=C"}, p.env...)
	// In a group of its own, so that a Ctrl-C at the terminal reaches this program only.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: syscall.CLONE_NEWPID,
	}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.done = make(chan struct{})
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	return nil
}

// running reports whether the process has been started and has not ended.
func (p *process) running() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// succeeded is the up of a process that does its work and ends.
func (p *process) succeeded(context.Context) error {
	if !p.running() && p.cmd.ProcessState.Success() {
		return nil
	}
	return errors.New("it has not ended")
}

func (p *process) awaitUp(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := await(ctx, func(ctx context.Context) error {
		ended := !p.running()
		err := p.up(ctx)
		if err != nil && ended {
			cancel()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s does not serve: %w\n%s", p.name, err, p.logEnd())
	}
	return nil
}

// await repeats a check until it passes. A busy machine may need minutes.
func await(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if !program.Pause(ctx, 50*time.Millisecond) {
			return err
		}
	}
}

// kill ends the process and all that it has started by SIGKILL, as the loss of their machine would.
func (p *process) kill() {
	if p.running() {
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// signalFirstChild signals the oldest child of a process that has one thread.
func (p *process) signalFirstChild(s syscall.Signal) error {
	pid := p.cmd.Process.Pid
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(list), " ")
	child, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	return syscall.Kill(child, s)
}

func (p *process) logFile() string { return filepath.Join(p.dir, p.name+".log") }

func (p *process) logEnd() string {
	text, _ := os.ReadFile(p.logFile())
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-20):], []byte("\n")))
}

// accepts returns a check of whether connections to an address are accepted.
func accepts(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
		}
		return err
	}
}
