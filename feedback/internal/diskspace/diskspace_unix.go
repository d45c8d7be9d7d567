//go:build unix && !solaris && !illumos && !aix && !netbsd && !openbsd

// Package diskspace measures file systems.
package diskspace

import "syscall"

// Of returns the space of the file system of a directory, in bytes: free for this process's user,
// and in all, which is 0 if unknown.
func Of(dir string) (free, total int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	block := int64(s.Bsize)
	return int64(s.Bavail) * block, int64(s.Blocks) * block, nil
}

// CheckWritable fails if this process may not create files in a directory, as after a disk error,
// for which systems make a file system read-only.
func CheckWritable(dir string) error { return syscall.Access(dir, 2) } // W_OK
