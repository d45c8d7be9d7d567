package docsui_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"lessonkit.example/examples/internal/docsui"
)

func ExampleHandler() {
	reference := docsui.Handler(docsui.Config{Title: "Clock", Logger: slog.Default()})
	mux := http.NewServeMux()
	mux.Handle("GET /scalar", reference)
	mux.Handle("GET /scalar/", reference)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/scalar", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
