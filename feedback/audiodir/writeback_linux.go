package audiodir

import (
	"os"
	"syscall"
)

// syncFileRangeWrite is SYNC_FILE_RANGE_WRITE of sync_file_range(2), which
// package syscall does not name.
const syncFileRangeWrite = 2

// startWriteback makes the kernel begin to write a part of f to disk, without
// waiting: the sync in the end finds little left to do. A kernel that does not
// want to leaves all of it to that sync.
func startWriteback(f *os.File, offset, length int64) {
	_ = syscall.SyncFileRange(int(f.Fd()), offset, length, syncFileRangeWrite)
}
