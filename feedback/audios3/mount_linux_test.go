package audios3_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// mount mounts a small file system on dir. The test must run as root.
func mount(t *testing.T, dir, size string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
}
