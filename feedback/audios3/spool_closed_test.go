package audios3

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback/audiotype"
)

// A request that the storage has refused early may read its body later. It must not send what
// another upload has written to the same memory by then.
func TestAClosedSpoolCannotBeRead(t *testing.T) {
	t.Parallel()
	s, err := New(Config{URL: "s3://bucket", AccessKeyID: "key", SecretAccessKey: "secret", TempDir: t.TempDir()})
	require.NoError(t, err)
	for name, size := range map[string]int64{"in memory": 10, "in a file": memorySize + 1} {
		p, err := s.newSpool()
		require.NoError(t, err, name)
		_, err = p.Write(make([]byte, size))
		require.NoError(t, err, name)
		require.NoError(t, p.Close(), name)
		for range memories {
			next, err := s.newSpool()
			require.NoError(t, err, name)
			_, err = next.Write([]byte("another upload"))
			require.NoError(t, err, name)
			defer next.Close()
		}
		n, err := p.ReadAt(make([]byte, 5), audiotype.HeaderSize)
		require.ErrorIs(t, err, fs.ErrClosed, name)
		require.Zero(t, n, name)
		require.NoError(t, p.Close(), "repeated")
	}
}
