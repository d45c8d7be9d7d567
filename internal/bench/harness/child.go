package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// childEnv is the environment variable with the spec of a child process, in JSON.
const childEnv = "BENCH_CHILD"

// Child is this program in another process, where it does one side's work and is measured alone.
// The parent starts it with a spec. The child sends reports, of which the first usually means that
// it is ready.
type Child struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  io.Reader
	reports *json.Decoder
}

// StartChild starts a child, whose [RunChild] receives the spec by way of JSON. It is stopped with
// the other resources of the subject or its part, unless [Child.Stop] has stopped it before.
func (h *Harness) StartChild(spec any) *Child {
	cmd := exec.Command(Must(os.Executable()), h.subject)
	cmd.Env = append(os.Environ(), childEnv+"="+string(Must(json.Marshal(spec))))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, stdout := Must(cmd.StdinPipe()), Must(cmd.StdoutPipe())
	Check(cmd.Start())
	c := &Child{cmd, stdin, stdout, json.NewDecoder(stdout)}
	h.TB.Cleanup(func() { _ = c.Stop() })
	return c
}

// Next reads the next report into v. After the last one it returns [io.EOF].
func (c *Child) Next(v any) error { return c.reports.Decode(v) }

// Send sends a line of text to the child's standard input.
func (c *Child) Send(line string) {
	_, err := io.WriteString(c.stdin, line+"\n")
	Check(err)
}

// Stop ends [UntilStopped] in the child, discards further reports, and waits until it has ended. A
// stopped child is not stopped again.
func (c *Child) Stop() error {
	if c.cmd.ProcessState != nil {
		return nil
	}
	_ = c.stdin.Close()
	_, _ = io.Copy(io.Discard, c.stdout)
	return c.cmd.Wait()
}

// Pid returns the process ID of the child.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// RunChild calls run with the spec in a process that [Harness.StartChild] started, and then ends
// it. In any other process it does nothing.
func RunChild[Spec any](run func(Spec)) {
	text, ok := os.LookupEnv(childEnv)
	if !ok {
		return
	}
	err := Try(func() {
		var spec Spec
		Check(json.Unmarshal([]byte(text), &spec))
		run(spec)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// UntilStopped returns a context that ends when the parent stops this process. It reads the
// standard input.
func UntilStopped() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ctx
}

// Report sends v to the parent, which receives it with [Child.Next]. It is safe for concurrent use.
func Report(v any) { Check(json.NewEncoder(os.Stdout).Encode(v)) }

// ProcessorTime returns the user and system time of this process.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // does not fail for the process itself
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TreeTime returns the processor time that a process and its children have used, with those that
// have ended.
func TreeTime(pid int) time.Duration {
	total := endedChildren(pid)
	children := Must(os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)))
	for _, p := range append(strings.Fields(string(children)), strconv.Itoa(pid)) {
		// The first number is of nanoseconds; those of proc(5) are of hundredths of a second.
		threads, _ := filepath.Glob("/proc/" + p + "/task/*/schedstat")
		for _, file := range threads {
			text, _ := os.ReadFile(file) // a process that has just ended is counted next time
			spent, _, _ := strings.Cut(string(text), " ")
			n, _ := strconv.ParseInt(spent, 10, 64)
			total += time.Duration(n)
		}
	}
	return total
}

func endedChildren(pid int) time.Duration {
	text := Must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after) // from the third field of proc(5) on
	user, system := Must(strconv.Atoi(fields[13])), Must(strconv.Atoi(fields[14]))
	return time.Duration(user+system) * time.Second / 100
}

// Memory returns the resident memory of a process in bytes: VmRSS is the current value, VmHWM the
// largest since [ResetPeak].
func Memory(pid int, name string) float64 {
	text := Must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))
	_, after, _ := strings.Cut(string(text), name+":")
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	return Must(strconv.ParseFloat(number, 64)) * 1024
}

// ResetPeak resets VmHWM of a process.
func ResetPeak(pid int) { Check(os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)) }
