//go:build linux

package parts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that can be killed and started again with the same arguments.
type process struct {
	name string // of its directory, which holds its log and its temporary files
	dir  string
	env  []string
	args []string                    // the program, which is on PATH, and its arguments
	up   func(context.Context) error // nil once it does its work

	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// start starts the process and waits until it is up. It ends with this program at the latest.
func (p *process) start(ctx context.Context) error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.dir, log, log
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + p.dir, "LC_ALL=C"}, p.env...)
	// In a group of its own, so that a Ctrl-C at the terminal reaches this program only.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.done = make(chan struct{})
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	return p.awaitUp(ctx)
}

// succeeded is the up of a process that does its work and ends.
func (p *process) succeeded(context.Context) error {
	select {
	case <-p.done:
		if p.cmd.ProcessState.Success() {
			return nil
		}
	default:
	}
	return errors.New("it has not ended")
}

func (p *process) awaitUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := p.up(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			if p.up(ctx) == nil {
				return nil
			}
			return fmt.Errorf("%s ended:\n%s", p.name, p.logEnd())
		case <-ctx.Done():
			return fmt.Errorf("%s does not serve: %w\n%s", p.name, err, p.logEnd())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// kill ends the process and its children by SIGKILL, as the loss of their machine would.
func (p *process) kill() {
	if p.done == nil {
		return // it was never started
	}
	select {
	case <-p.done: // its number may be another's by now
		return
	default:
	}
	pid := p.cmd.Process.Pid
	_ = syscall.Kill(pid, syscall.SIGSTOP) // it then has no more children
	children := childrenOf(pid)
	_ = p.cmd.Process.Kill()
	for _, child := range children {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
	<-p.done
}

// childrenOf returns the child processes of a process that has one thread.
func childrenOf(pid int) (children []int) {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	for _, field := range strings.Fields(string(list)) {
		if child, err := strconv.Atoi(field); err == nil {
			children = append(children, child)
		}
	}
	return children
}

func (p *process) logFile() string { return filepath.Join(p.dir, p.name+".log") }

// logEnd returns the last lines of the log.
func (p *process) logEnd() string {
	text, _ := os.ReadFile(p.logFile())
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-20):], []byte("\n")))
}

// freeAddresses returns addresses of the loopback interface that nobody listens on. They are
// outside the range of ephemeral ports, so that they stay free while a process is down.
func freeAddresses(n int) ([]string, error) {
	var found []string
	for range 1000 {
		if len(found) == n {
			return found, nil
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000)))
		if err != nil {
			continue
		}
		defer l.Close() // not before the others are chosen
		found = append(found, l.Addr().String())
	}
	return nil, fmt.Errorf("found %d of %d free ports", len(found), n)
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
