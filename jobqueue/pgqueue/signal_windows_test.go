package pgqueue_test

import "syscall"

// Windows has no such signals. Its tests have no PostgreSQL either.
const (
	suspend = syscall.Signal(0)
	resume  = syscall.Signal(0)
)
