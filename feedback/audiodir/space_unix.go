//go:build unix && !solaris && !illumos && !aix && !netbsd && !openbsd

package audiodir

import "syscall"

func diskSpace(dir string) (free, total int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	block := int64(s.Bsize)
	return int64(s.Bavail) * block, int64(s.Blocks) * block, nil
}
