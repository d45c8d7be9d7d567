//go:build unix

package command

import (
	"os/exec"
	"syscall"
	"time"
)

// runGroup runs the command as the leader of a new process group, and ends the whole group when the command or its context
// ends.
func runGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second // for output that a stray child keeps open
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	}
	return err
}
