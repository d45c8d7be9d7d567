//go:build unix

package tempdir

import (
	"os"
	"syscall"
)

// canSweep is whether tryLock fails for the files of living processes.
const canSweep = true

// tryLock locks a file until it is closed or the process ends, or fails at once.
func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
