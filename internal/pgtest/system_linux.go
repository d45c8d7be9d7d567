package pgtest

import "syscall"

// processAttributes makes a process run in a group of its own, and as another user if c is not nil.
func processAttributes(c *credential) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if c != nil {
		attributes.Credential = &syscall.Credential{Uid: uint32(c.uid), Gid: uint32(c.gid)}
	}
	return attributes
}

// freeBytes returns the free space of a directory's file system; 0 if it is unknown.
func freeBytes(dir string) uint64 {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return 0
	}
	return st.Bavail * uint64(st.Bsize)
}
