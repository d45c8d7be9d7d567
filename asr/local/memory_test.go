package local_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/asr/asrtest"
	"lessonkit.example/asr/local"
)

// discard starts a server that discards recordings and answers with body.
func discard(t *testing.T, body string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// allocated returns how many bytes f allocates in total; its peak is lower.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Not parallel: it measures the allocations of the whole process.
func TestTwoHundredMegabytesAllocateUnderTwo(t *testing.T) {
	rec := connect(t, local.Config{URL: discard(t, `{"text":"long"}`) + "/v1/audio/transcriptions?model=m"})
	require.Less(t, allocated(func() {
		got, err := rec.Recognize(t.Context(), asrtest.Endless(200<<20))
		require.NoError(t, err)
		require.Equal(t, "long", got.Text)
	}), uint64(2<<20))
}
