//go:build !unix

package command

import (
	"os/exec"
	"time"
)

// runGroup runs the command. There are no process groups here: only the command itself is ended when its context ends.
func runGroup(cmd *exec.Cmd) error {
	cmd.WaitDelay = 5 * time.Second
	return cmd.Run()
}
