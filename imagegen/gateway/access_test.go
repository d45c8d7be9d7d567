package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway"
	"lessonkit.example/imagegen/gateway/draw"
	"lessonkit.example/imagegen/imagegentest"
)

func TestKeysAndCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		h := running(t, setup{Config: gateway.Config{Mode: gateway.Async, Logger: logger}})
		for _, value := range []string{"", "Bearer", "Bearer ", "Bearer wrong", "Basic " + key, key,
			"Bearer " + key + "x", "Bearer " + key[1:]} {
			a := send(t, h, "POST", generations, `{"prompt":"x"}`, header("Authorization", value))
			require.Equal(t, 401, a.Code, value)
			require.Equal(t, "Bearer", a.Header().Get("WWW-Authenticate"))
		}
		id := send(t, h, "POST", generations, `{"prompt":"a secret prompt"}`, nil).data()["id"].(string)
		synctest.Wait()
		require.Equal(t, "completed", send(t, h, "GET", "/v1/tasks/"+id, "",
			header("Authorization", "bearer "+key)).data()["status"])
		require.Equal(t, 404, send(t, h, "GET", "/v1/tasks/"+id, "", header("Authorization", "Bearer other-key")).Code)
		require.Equal(t, 404, send(t, h, "GET", "/v1/tasks/..%2F"+id, "", nil).Code)
		require.NotContains(t, log.String(), key)
		require.NotContains(t, log.String(), "secret prompt")
		require.Contains(t, log.String(), "caller=me")
	})
	tasks := gateway.NewMemoryTasks(gateway.Performer{}, 1)
	_, err := gateway.New(gateway.Config{Tasks: tasks, Files: &gateway.Files{}})
	require.ErrorContains(t, err, "Anyone")
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	keys, err := gateway.ParseKeys("alice:one, bob:two:with:colons")
	require.NoError(t, err)
	for key, caller := range map[string]string{"one": "alice", "two:with:colons": "bob", "three": "", "": ""} {
		got, ok := keys(key)
		require.Equal(t, caller, got)
		require.Equal(t, caller != "", ok)
	}
	for _, bad := range []string{"", "alice", "alice:", ":secret", "a:secret,a:secret2", "a:secret,b:secret",
		"a:secret,"} {
		_, err := gateway.ParseKeys(bad)
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "secret")
	}
}

// What is never sent or read holds a connection for a minute, also without a key.
func TestStalledConnectionsEnd(t *testing.T) {
	t.Parallel()
	refused := "POST /v1/images/edits HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key +
		"\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 999\r\n\r\n" +
		"--x\r\nContent-Disposition: form-data; name=mask; filename=x\r\n\r\n" // and then nothing
	for request, answer := range map[string]string{
		refused: "HTTP/1.1 400",
		"POST /v1/images/edits HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n": "HTTP/1.1 401",
		"GET /v1/tasks/x HTTP/1.1\r\nHost: x\r\n\r\n":                            "", // which is not read in time
	} {
		bubble(t, request[:4], func(t *testing.T) {
			dial := imagegentest.Serve(t, running(t, setup{})).Transport.(*http.Transport).DialContext
			conn, err := dial(t.Context(), "", "")
			require.NoError(t, err)
			_, err = io.WriteString(conn, request)
			require.NoError(t, err)
			if answer == "" {
				time.Sleep(2 * time.Minute)
			}
			got, err := io.ReadAll(conn)
			require.NoError(t, err)
			require.Equal(t, answer, string(got[:min(len(got), 12)]))
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	post := func(t *testing.T, h http.Handler, who string) answer {
		return send(t, h, "POST", generations, `{"prompt":"x"}`, header("Authorization", "Bearer "+who))
	}
	slow := draw.Generator{LongEdge: 32, Delay: time.Minute}
	bubble(t, "requests of one caller", func(t *testing.T) {
		h := running(t, setup{Config: gateway.Config{PerMinute: 6}})
		for range 10 {
			require.Equal(t, 200, post(t, h, key).Code)
		}
		a := post(t, h, key)
		require.Equal(t, 429, a.Code)
		require.Equal(t, "10", a.Header().Get("Retry-After"))
		require.Equal(t, 200, post(t, h, "other-key").Code)
		time.Sleep(10 * time.Second)
		require.Equal(t, 200, post(t, h, key).Code)
	})
	bubble(t, "unfinished tasks of one caller", func(t *testing.T) {
		h := running(t, setup{Config: gateway.Config{Mode: gateway.Async, PerMinute: 1e6}, generator: slow})
		for range 16 {
			require.Equal(t, 200, post(t, h, key).Code)
		}
		a := post(t, h, key)
		require.Equal(t, 429, a.Code)
		require.Equal(t, "too_many_tasks", a.errorCode())
		require.NotEmpty(t, a.Header().Get("Retry-After"))
		require.Equal(t, 200, post(t, h, "other-key").Code)
		time.Sleep(2 * time.Minute)
		require.Equal(t, 200, post(t, h, key).Code)
	})
	bubble(t, "tasks of all", func(t *testing.T) {
		named := func(key string) (string, bool) { return key, key != "" }
		h := running(t, setup{Config: gateway.Config{Mode: gateway.Async, Keys: named}, generator: slow})
		for i := range 256 {
			require.Equal(t, 200, post(t, h, fmt.Sprint("caller-", i)).Code)
		}
		synctest.Wait() // two of them are being performed, and count
		a := post(t, h, "last")
		require.Equal(t, 503, a.Code)
		require.Equal(t, "queue_full", a.errorCode())
	})
}

// counting counts generations.
type counting struct {
	gateway.Generator
	n atomic.Int32
}

func (c *counting) Generate(ctx context.Context, r *imagegen.Request, s imagegen.Sink) (*imagegen.Result, error) {
	c.n.Add(1)
	return c.Generator.Generate(ctx, r, s)
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &counting{Generator: draw.Generator{LongEdge: 32, Delay: time.Second}}
		path := t.TempDir()
		h := running(t, setup{Config: config(gateway.Sync), generator: g, files: openFiles(t, path, 0)})
		post := func(prompt, idempotency, who string) answer {
			body, kind := form(t, func(w *multipart.Writer) {
				_ = w.WriteField("prompt", prompt)
				file(w, "image[]", "image/png", string(pngHead))
			})
			return send(t, h, "POST", edits, body, func(r *http.Request) {
				kind(r)
				r.Header.Set("Authorization", "Bearer "+who)
				r.Header.Set("Idempotency-Key", idempotency)
			})
		}
		both := make(chan answer)
		for range 2 {
			go func() { both <- post("x", "one", key) }()
		}
		a, b := <-both, <-both
		require.Equal(t, 200, a.Code)
		require.Equal(t, a.body, b.body)
		time.Sleep(time.Minute)
		require.Equal(t, a.body, post("x", "one", key).body)
		require.EqualValues(t, 1, g.n.Load())
		require.Equal(t, 200, post("x", "one", "other-key").Code, "another caller")
		require.Equal(t, 200, post("y", "one", key).Code, "another request")
		require.Equal(t, 200, post("x", "two", key).Code)
		require.EqualValues(t, 4, g.n.Load())
		require.Len(t, files(t, path), 4, "four images and no references")
	})
}

// A caller that disconnects before the response receives it later with the same key.
func TestLostResponseIsFoundByItsKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &counting{Generator: draw.Generator{LongEdge: 32, Delay: time.Minute}}
		h := running(t, setup{Config: config(gateway.Sync), generator: g})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		named := header("Idempotency-Key", "k")
		send(t, h, "POST", generations, `{"prompt":"x"}`, func(r *http.Request) { named(r); *r = *r.WithContext(ctx) })
		time.Sleep(2 * time.Minute)
		began := time.Now()
		a := send(t, h, "POST", generations, `{"prompt":"x"}`, named)
		require.Len(t, a.body["data"], 1)
		require.Zero(t, time.Since(began))
		require.EqualValues(t, 1, g.n.Load())
	})
}

// Where no key is needed, the browser of a visitor must not be a way in.
func TestWebPagesAreKeptOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		keyed := running(t, setup{})
		g := running(t, setup{Config: gateway.Config{Keys: gateway.Anyone, PublicURL: "https://images.example/below"}})
		for name, test := range map[string]struct {
			host, header, value, code string
		}{
			"program":                   {"127.0.0.1:8085", "User-Agent", "curl", ""},
			"IPv6":                      {"[::1]:8085", "User-Agent", "curl", ""},
			"IPv6 without a port":       {"[::1]", "User-Agent", "curl", ""},
			"name":                      {"localhost", "User-Agent", "curl", ""},
			"public name":               {"Images.example", "Sec-Fetch-Site", "same-origin", ""},
			"browser on another site":   {"127.0.0.1:8085", "Sec-Fetch-Site", "cross-site", "cross_origin"},
			"older browser":             {"127.0.0.1:8085", "Origin", "https://elsewhere.example", "cross_origin"},
			"name of another site":      {"elsewhere.example:8085", "Sec-Fetch-Site", "same-origin", "unknown_host"},
			"name of another, with key": {"elsewhere.example", "Authorization", "Bearer any", "unknown_host"},
			"no name":                   {"", "User-Agent", "curl", "unknown_host"},
		} {
			edit := func(r *http.Request) {
				r.Header.Del("Authorization")
				r.Host = test.host
				r.Header.Set(test.header, test.value)
			}
			a := send(t, g, "POST", generations, `{"prompt":"x"}`, edit)
			require.Equal(t, test.code, a.errorCode(), name)
			require.Equal(t, test.code == "", a.Code == 200, name)
			withKey := func(r *http.Request) { edit(r); r.Header.Set("Authorization", "Bearer "+key) }
			require.Equal(t, 200, send(t, keyed, "POST", generations, `{"prompt":"x"}`, withKey).Code, name)
		}
		poll := send(t, g, "GET", "/v1/tasks/x", "", func(r *http.Request) { r.Host = "elsewhere.example" })
		require.Equal(t, "unknown_host", poll.errorCode(), "what a page may read is protected, too")
		read := send(t, g, "GET", "/v1/models", "", func(r *http.Request) {
			r.Host = "127.0.0.1:8085"
			r.Header.Set("Origin", "https://elsewhere.example")
		})
		require.Equal(t, 200, read.Code)
		require.Empty(t, read.Header().Values("Access-Control-Allow-Origin"), "browsers keep it from the page")
	})
}
