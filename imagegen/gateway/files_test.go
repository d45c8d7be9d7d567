package gateway_test

import (
	"bytes"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen/gateway"
)

// edit sends a request with a reference of the given size.
func edit(t *testing.T, h http.Handler, size int) answer {
	body, kind := form(t, func(w *multipart.Writer) {
		_ = w.WriteField("prompt", "x")
		file(w, "image[]", "image/png", strings.Repeat("x", size))
	})
	return send(t, h, "POST", edits, body, kind)
}

func TestOldImagesMakeRoomForNewOnes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		kept := openFiles(t, dir, 10_000)
		h := running(t, setup{Config: config(gateway.Sync), generator: fixed{size: 1000}, files: kept})
		for range 10 {
			require.Equal(t, 200, send(t, h, "POST", generations, `{"prompt":"x"}`, nil).Code)
		}
		oldest := files(t, dir)[0].Name()
		past := time.Now().Add(-20 * 365 * 24 * time.Hour) // of the clock of the files, which is the real one
		require.NoError(t, os.Chtimes(filepath.Join(dir, oldest), past, past))
		time.Sleep(time.Minute)
		require.Equal(t, 200, send(t, h, "POST", generations, `{"prompt":"x"}`, nil).Code)
		require.NoFileExists(t, filepath.Join(dir, oldest))
		require.LessOrEqual(t, len(files(t, dir)), 10)
	})
}

func TestImagesLargerThanTheStorageFailClearly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		kept := openFiles(t, dir, 1000)
		h := running(t, setup{Config: config(gateway.Sync), generator: fixed{size: 2000}, files: kept})
		a := send(t, h, "POST", generations, `{"prompt":"x"}`, nil)
		require.Equal(t, 507, a.Code)
		require.Equal(t, "storage_full", a.errorCode())
		require.Equal(t, "false", a.Header().Get("X-Should-Retry"), "it was generated, and perhaps charged")
		require.Empty(t, files(t, dir))
	})
}

func TestReferencesTakeALimitedNumberOfBytes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, setup{Config: config(gateway.Async), generator: fixed{size: 10, delay: time.Minute},
			files: openFiles(t, t.TempDir(), 100_000)})
		require.Equal(t, 200, edit(t, h, 25_000).Code)
		require.Equal(t, 200, edit(t, h, 25_000).Code)
		a := edit(t, h, 1000)
		require.Equal(t, 503, a.Code)
		require.Equal(t, "storage_full", a.errorCode())
		require.NotEmpty(t, a.Header().Get("Retry-After"))
		require.Empty(t, a.Header().Get("X-Should-Retry"))
		time.Sleep(5 * time.Minute)
		require.Equal(t, 200, edit(t, h, 25_000).Code, "what was refused or used up is not counted")
	})
}

// While images make room for others, too.
func TestReferencesThatAreArrivingCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, setup{generator: fixed{size: 30_000}, files: openFiles(t, t.TempDir(), 100_000)})
		body, kind := form(t, func(w *multipart.Writer) {
			file(w, "image[]", "image/png", strings.Repeat("x", 40_000))
		})
		arriving, upload := io.Pipe()
		r := httptest.NewRequest("POST", edits, arriving)
		r.Header.Set("Authorization", "Bearer "+key)
		kind(r)
		go h.ServeHTTP(httptest.NewRecorder(), r)
		_, err := io.WriteString(upload, body[:39_000])
		require.NoError(t, err)
		for range 4 {
			require.Equal(t, 200, send(t, h, "POST", generations, `{"prompt":"x"}`, nil).Code)
		}
		require.Equal(t, "storage_full", edit(t, h, 25_000).errorCode())
		require.NoError(t, upload.Close())
		synctest.Wait()
		require.Equal(t, 200, edit(t, h, 25_000).Code)
	})
}

func TestFilesOfACrashAreDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for _, name := range []string{".new-unfinished", "ref-of-no-task", "1-0.png"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
		}
		f := openFiles(t, dir, 0)
		require.Len(t, files(t, dir), 2, "files that are not complete")
		old := time.Now().Add(-20 * 365 * 24 * time.Hour)
		require.NoError(t, os.Chtimes(filepath.Join(dir, "ref-of-no-task"), old, old))
		require.NoError(t, f.DeleteBefore(old.Add(time.Hour)))
		left := files(t, dir)
		require.Len(t, left, 1)
		require.Equal(t, "1-0.png", left[0].Name())
	})
}

// A second process would delete the files that the first one is writing.
func TestFilesAreOpenOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := openFiles(t, dir, 0)
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".new-unfinished"), nil, 0o600))
	_, err := gateway.OpenFiles(dir, 0)
	require.ErrorContains(t, err, "another process uses "+dir)
	require.Len(t, files(t, dir), 1)
	require.NoError(t, first.DeleteBefore(time.Now().Add(time.Hour)))
	_, err = gateway.OpenFiles(dir, 0)
	require.Error(t, err)
}

func TestPanicOfTheGeneratorFailsItsTaskOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		dir := t.TempDir()
		h := running(t, setup{
			Config:    gateway.Config{Mode: gateway.Sync, Logger: slog.New(slog.NewTextHandler(&log, nil))},
			generator: panicking{}, files: openFiles(t, dir, 0), rerun: true,
		})
		a := send(t, h, "POST", generations, `{"prompt":"x"}`, nil)
		require.Equal(t, 500, a.Code)
		require.Equal(t, "internal", a.errorCode())
		require.NotContains(t, a.Body.String(), "secret")
		require.Contains(t, log.String(), "secret of the generator")
		require.Contains(t, log.String(), "perform_test.go", "the stack is logged")
		require.Equal(t, 200, send(t, h, "POST", generations, `{"prompt":"fine"}`, nil).Code)
		require.Len(t, files(t, dir), 1)
	})
}
