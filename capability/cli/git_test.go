package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A configuration that Git cannot read to its end does not keep it.
func TestGitEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if exec.Command("mkfifo", pipe).Run() != nil || exec.Command("git", "init", "-q", dir).Run() != nil {
		t.Skip("mkfifo or git is not installed")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".git/config"), []byte("[include]\npath = "+pipe+"\n"), 0o644))
	t.Chdir(dir)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("it takes too long"))
	defer cancel()
	_, _, err := openRevision(ctx, "main")
	require.ErrorContains(t, err, "it takes too long")
}
