//go:build unix

package effort

import (
	"syscall"
	"time"
)

// spent returns the processor time of the process, which does not depend on what else the machine
// does.
func spent() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
