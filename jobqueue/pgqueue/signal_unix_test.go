//go:build unix

package pgqueue_test

import "syscall"

// Signals that suspend a process and let it run again.
const (
	suspend = syscall.SIGSTOP
	resume  = syscall.SIGCONT
)
