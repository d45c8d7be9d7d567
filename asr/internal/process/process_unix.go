//go:build unix

package process

import (
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Run runs the command as the leader of a new process group, and kills the whole group when the
// command ends or its context is canceled. On Linux the command is also killed when this process
// dies.
func Run(cmd *exec.Cmd) error {
	// The signal is sent when the thread ends that has started the command.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second // a child may keep the output open
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its children
	}
	return err
}
