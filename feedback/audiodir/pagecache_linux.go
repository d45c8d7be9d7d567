package audiodir

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriteback makes the kernel begin to write a part of f to disk, without
// waiting: the sync in the end finds little left to do. A kernel that does not
// want to leaves all of it to that sync.
func startWriteback(f *os.File, offset, length int64) {
	_ = unix.SyncFileRange(int(f.Fd()), offset, length, unix.SYNC_FILE_RANGE_WRITE)
}

// dropCache takes a file that is on disk out of the page cache. It is read
// once more, minutes later perhaps; until then it would push out pages of the
// database, and every upload would have to find fresh memory. A kernel that
// does not want to keeps the pages.
func dropCache(f *os.File) {
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
