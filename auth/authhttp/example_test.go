package authhttp_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/authtest"
	"lessonkit.example/auth/miniapp"
)

// A server with the sign-in below /api/v1/auth and a page for those who are signed in, asked
// without a token and for a token. A program serves it with http.ListenAndServe, and calls
// service.Run.
func Example() {
	store, remove := exampleStore()
	defer remove()
	platform := authtest.StartPlatform() // instead of the real one
	defer platform.Close()
	exchanger, err := miniapp.New(miniapp.Config{
		AppID: platform.AppID, Secret: platform.Secret, Endpoint: platform.Endpoint(),
	})
	if err != nil {
		panic(err)
	}
	service, err := auth.New(auth.Config{Store: store, Exchanger: exchanger})
	if err != nil {
		panic(err)
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _ := authhttp.UserID(r.Context())
		fmt.Fprintf(w, "Good morning, %s!\n", user)
	})
	server := http.NewServeMux()
	server.Handle("/api/v1/auth/", authhttp.Handler(authhttp.Config{Service: service}))
	server.Handle("/", authhttp.Middleware(service)(hello))

	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(answer.Code)

	code := platform.Code(authtest.User{OpenID: "o-1"})
	request := httptest.NewRequest(http.MethodPost, "/api/v1/auth/miniapp/login",
		strings.NewReader(`{"code":"`+code+`"}`))
	request.Header.Set("Content-Type", "application/json")
	answer = httptest.NewRecorder()
	server.ServeHTTP(answer, request)
	fmt.Println(answer.Code, bytes.Contains(answer.Body.Bytes(), []byte(`"token":"mps_`)))
	// Output:
	// 401
	// 200 true
}
