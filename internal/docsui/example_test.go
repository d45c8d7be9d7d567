package docsui_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"lessonkit.example/internal/docsui"
)

func ExampleHandler() {
	reference := docsui.Handler(docsui.Config{Document: func() ([]byte, error) {
		return []byte(`{"info":{"title":"Clock"},"paths":{"/time":{"get":{"summary":"What time it is"}}}}`), nil
	}})
	mux := http.NewServeMux()
	mux.Handle("GET /scalar", reference)
	mux.Handle("GET /scalar/", reference)

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "http://clock.test/scalar?plain", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "What time it is"))
	fmt.Println(strings.Contains(w.Body.String(), "http://clock.test/time"))
	// Output:
	// 200 true
	// true
}
