package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/internal/httpapi"
)

func TestTraceOfARequest(t *testing.T) {
	t.Parallel()
	type end struct {
		route  string
		status int
	}
	for name, c := range map[string]struct {
		handler func(http.ResponseWriter)
		path    string
		want    end
	}{
		"an answer":        {func(w http.ResponseWriter) { w.WriteHeader(201) }, "/7", end{"/{id}", 201}},
		"an empty answer":  {func(http.ResponseWriter) {}, "/7", end{"/{id}", 200}},
		"no such path":     {nil, "/a/b", end{"", 404}},
		"a query with a %": {nil, "/7?%", end{"", 400}},
		"a panic":          {func(http.ResponseWriter) { panic("early") }, "/7", end{"/{id}", 500}},
		"no answer":        {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "/7", end{"/{id}", 0}},
		"a panic half way": {func(w http.ResponseWriter) {
			w.WriteHeader(200)
			panic("half way")
		}, "/7", end{"/{id}", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			mux.HandleFunc("/{id}", func(w http.ResponseWriter, _ *http.Request) { c.handler(w) })
			var ends []end
			h := httpapi.Wrap(mux, httpapi.WrapOptions{Trace: func(r *http.Request) (
				context.Context, func(string, int),
			) {
				return r.Context(), func(route string, status int) { ends = append(ends, end{route, status}) }
			}})
			func() {
				defer func() { _ = recover() }() // as net/http does
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, c.path, nil))
			}()
			require.Equal(t, []end{c.want}, ends)
		})
	}
}

func TestTraceOfAStreamOfEventsEndsWhenItBegins(t *testing.T) {
	t.Parallel()
	ended := 0
	h := httpapi.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		require.Equal(t, 1, ended)
	}), httpapi.WrapOptions{Trace: func(r *http.Request) (context.Context, func(string, int)) {
		return r.Context(), func(_ string, status int) {
			require.Equal(t, http.StatusOK, status)
			ended++
		}
	}})
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, 1, ended)
}
