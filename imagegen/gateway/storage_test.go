package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
)

// fixed is a Generator of one image with a fixed number of bytes.
type fixed struct {
	size  int
	delay time.Duration
}

func (f fixed) Generate(ctx context.Context, _ *imagegen.Request, sink imagegen.Sink) (*imagegen.Result, error) {
	time.Sleep(f.delay)
	b, err := sink.Open(ctx, imagegen.Info{Type: "image/png", Ext: ".png"})
	if err != nil {
		return nil, err
	}
	if _, err := b.Write(make([]byte, f.size)); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return &imagegen.Result{Images: []imagegen.Info{{}}}, b.Commit()
}

func as(who string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+who) }
}

// storesOf returns both stores, to be tested alike.
func storesOf(t *testing.T) map[string]gateway.Store {
	return map[string]gateway.Store{"memory": gateway.Memory(), "directory": openDir(t, t.TempDir())}
}

func TestOldImagesMakeRoomForNewOnes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"memory", "directory"} {
		bubble(t, name, func(t *testing.T) {
			h := running(t, gateway.Config{Generator: fixed{size: 1000}, Mode: gateway.Async, Store: storesOf(t)[name],
				Limits: gateway.Limits{StoredBytes: 10_000, Burst: 1000}})
			generate := func(who string) string {
				a := send(t, h, "POST", generations, `{"prompt":"x"}`, as(who))
				require.Equal(t, 200, a.Code)
				synctest.Wait()
				time.Sleep(time.Second)
				return a.data()["id"].(string)
			}
			status := func(id, who string) int { return send(t, h, "GET", "/v1/tasks/"+id, "", as(who)).Code }
			modest := []string{generate("other-key"), generate("other-key")}
			var many []string
			for range 30 {
				many = append(many, generate(key))
			}
			for _, id := range modest {
				require.Equal(t, 200, status(id, "other-key"), "the caller who stores most makes room")
			}
			for i, id := range many {
				require.Equal(t, i >= 30-8, status(id, key) == 200, "image %d of 30", i)
			}
			time.Sleep(26 * time.Hour)
			require.Equal(t, 404, status(many[29], key))
			for range 10 {
				last := generate(key)
				require.Equal(t, 200, status(last, key), "what was swept is no longer counted")
			}
		})
	}
}

func TestImagesLargerThanTheStorageFailClearly(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"memory", "directory"} {
		bubble(t, name, func(t *testing.T) {
			h := running(t, gateway.Config{Generator: fixed{size: 2000}, Mode: gateway.Sync, Store: storesOf(t)[name],
				Limits: gateway.Limits{StoredBytes: 1000}})
			a := send(t, h, "POST", generations, `{"prompt":"x"}`, nil)
			require.Equal(t, 507, a.Code)
			require.Equal(t, "storage_full", a.errorCode())
		})
	}
}

// edit sends a request with references of the given sizes.
func edit(t *testing.T, h http.Handler, who string, sizes ...int) answer {
	body, kind := form(t, func(w *multipart.Writer) {
		_ = w.WriteField("prompt", "x")
		for _, n := range sizes {
			file(w, "image[]", "image/png", strings.Repeat("x", n))
		}
	})
	return send(t, h, "POST", edits, body, func(r *http.Request) { kind(r); as(who)(r) })
}

func TestReferencesTakeALimitedNumberOfBytes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"memory", "directory"} {
		bubble(t, name, func(t *testing.T) {
			h := running(t, gateway.Config{Generator: fixed{size: 10, delay: time.Minute}, Mode: gateway.Async,
				Store: storesOf(t)[name], Limits: gateway.Limits{StoredBytes: 40_000, Burst: 1000}})
			require.Equal(t, 413, edit(t, h, key, 6000, 4001).Code, "one request is larger than the share of a caller")
			require.Equal(t, 200, edit(t, h, key, 4000, 4000).Code)
			a := edit(t, h, key, 2001)
			require.Equal(t, "too_many_bytes", a.errorCode())
			require.Equal(t, 429, a.Code)
			require.NotEmpty(t, a.Header().Get("Retry-After"))
			require.Equal(t, 200, edit(t, h, "other-key", 10_000).Code, "others have their own share")
			time.Sleep(5 * time.Minute)
			require.Equal(t, 200, edit(t, h, key, 10_000).Code, "what was refused or used up is not counted")
			time.Sleep(5 * time.Minute)
		})
	}
}

// After a restart, what is stored counts again.
func TestStoredBytesAreCountedAfterARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir()
		config := gateway.Config{Generator: fixed{size: 1000}, Mode: gateway.Async, Keys: gateway.Anyone,
			Limits: gateway.Limits{StoredBytes: 3000, Burst: 1000}}
		var ids []string
		for range 3 {
			config.Store = openDir(t, path)
			g, err := gateway.New(config)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- g.Run(ctx) }()
			synctest.Wait()
			for range 2 {
				a := send(t, g, "POST", "http://localhost"+generations, `{"prompt":"x"}`, nil)
				require.Equal(t, 200, a.Code)
				ids = append(ids, a.data()["id"].(string))
				synctest.Wait()
				time.Sleep(time.Second)
			}
			cancel()
			require.NoError(t, <-ended)
			require.LessOrEqual(t, len(files(t, path)), 3)
		}
		for i, id := range ids {
			_, err := config.Store.Task(t.Context(), id)
			require.Equal(t, i >= 3, err == nil, "task %d of 6", i)
		}
	})
}

// The default store takes little more memory than it counts, while an upload arrives, too.
func TestMemoryStoreTakesWhatItCounts(t *testing.T) {
	const size = 20 << 20
	b, err := gateway.Memory().CreateBlob(t.Context(), "x")
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = io.Copy(b, io.LimitReader(xs{}, size))
	require.NoError(t, err)
	require.NoError(t, b.Commit())
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size*3/2))
}

// A request that is refused because of its parameters holds nothing.
func TestRefusedEditsAreNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := running(t, gateway.Config{Limits: gateway.Limits{StoredBytes: 4000, Burst: 1000}})
		for range 20 {
			body, kind := form(t, func(w *multipart.Writer) {
				file(w, "image", "image/png", strings.Repeat("x", 900))
				_ = w.WriteField("size", "7:5")
			})
			require.Equal(t, "missing", send(t, h, "POST", edits, body, kind).errorCode())
			r := httptest.NewRequest("POST", edits, bytes.NewReader([]byte(body)[:500])) // breaks off
			kind(r)
			as(key)(r)
			cut := httptest.NewRecorder()
			h.ServeHTTP(cut, r)
			require.Equal(t, 400, cut.Code)
		}
	})
}
