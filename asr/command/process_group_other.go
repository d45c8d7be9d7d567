//go:build !unix

package command

import (
	"os/exec"
	"time"
)

// runGroup runs the command. Without process groups, only the command itself is killed when its
// context is canceled.
func runGroup(cmd *exec.Cmd) error {
	cmd.WaitDelay = 5 * time.Second
	return cmd.Run()
}
