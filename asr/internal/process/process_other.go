//go:build !unix

package process

import (
	"os/exec"
	"time"
)

// Run runs the command. Without process groups, only the command itself is killed when its
// context is canceled.
func Run(cmd *exec.Cmd) error {
	cmd.WaitDelay = 5 * time.Second
	return cmd.Run()
}
