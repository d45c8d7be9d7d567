//go:build !unix || solaris || illumos || aix || netbsd || openbsd

package audiodir

func diskSpace(string) (free, total int64, err error) { return 0, 0, nil }
