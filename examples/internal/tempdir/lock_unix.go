//go:build unix

package tempdir

import (
	"os"
	"syscall"
)

// tryLock locks a file until it is closed or the process ends, or fails at once.
func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
