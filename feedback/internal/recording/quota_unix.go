//go:build unix

package recording

import "syscall"

// errQuota is the error of a write beyond the user's quota.
var errQuota error = syscall.EDQUOT
