package size_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/internal/size"
)

func TestText(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0 bytes", 1000: "1000 bytes", 1536: "1.5 kB", 128 << 20: "128 MB", 8 << 30: "8 GB", 1 << 62: "4194304 TB",
	} {
		require.Equal(t, want, size.Text(n))
	}
}
