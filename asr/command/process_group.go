//go:build unix

package command

import (
	"os/exec"
	"syscall"
	"time"
)

// runGroup runs the command as the leader of a new process group, and kills the whole group when
// the command ends or its context is canceled.
func runGroup(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second // a child may keep the output open
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its children
	}
	return err
}
