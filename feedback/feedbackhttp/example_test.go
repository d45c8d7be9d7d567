package feedbackhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/google/uuid"

	"lessonkit.example/feedback/feedbackhttp"
)

// The interface mounts beside anything else. Here no database is configured
// yet, so there is no Service.
func ExampleHandler() {
	api := feedbackhttp.Handler(feedbackhttp.Config{
		Service: nil,
		Authenticate: func(context.Context, http.Header) (uuid.UUID, error) {
			return uuid.Nil, errors.New("not signed in")
		},
		BasePath: "/teach",
	})
	mux := http.NewServeMux()
	mux.Handle("/teach/", http.StripPrefix("/teach", api))
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })

	for _, path := range []string{"/hello", "/teach/openapi.json", "/teach/api/v1/profiles"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		fmt.Println(path, w.Code)
	}
	// Output:
	// /hello 200
	// /teach/openapi.json 200
	// /teach/api/v1/profiles 503
}
